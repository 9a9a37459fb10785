package text

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// WriteTable writes the table of any result: a heading, the rows, their sums, and the names of
// columns that did not fit. It omits empty columns, then columns on the right that do not fit; rows
// that look the same without them are added up. The error is that of w.
func WriteTable(w io.Writer, t *result.Table, opt Options) error {
	opt, st := opt.withDefaults()
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(st.paint(bold, fit(clean(t.Title), opt.Width)) + "\n\n")
	}
	if len(t.Rows) == 0 {
		b.WriteString("No rows.\n")
	} else {
		writeRows(&b, t, opt.Top, opt.Width, st)
	}
	return emit(w, b.String())
}

func writeRows(b *strings.Builder, t *result.Table, top, width int, st style) {
	shown, hidden := newRows(t, top).fit(width)
	texts := func(columns []*columnText) (names []string) {
		for _, c := range columns {
			if c.key {
				names = append(names, c.name)
			}
		}
		return names
	}
	if texts(hidden) != nil {
		if same, err := t.By(texts(shown)...); err == nil {
			more := []*columnText(nil)
			shown, more = newRows(same, top).fit(width)
			hidden = append(slices.DeleteFunc(hidden, func(c *columnText) bool { return !c.key }), more...)
		}
	}
	writeShown(b, shown, hidden, width, st)
}

// writeShown writes a table, and the names of the columns that did not fit.
func writeShown(b *strings.Builder, shown, hidden []*columnText, width int, st style) {
	writeColumns(b, shown, st)
	var names []string
	for _, c := range hidden {
		if name := cmp.Or(c.of, c.name); !c.more && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names != nil {
		b.WriteString(st.paintLines(dim, wrap("No room for: "+strings.Join(names, ", ")+".", width, 0)) + "\n")
	}
}

// rowsText holds the columns of a table as they are shown.
type rowsText []*columnText

// columnText is a column. The first cell is the heading, and the last one the sum.
type columnText struct {
	name  string
	of    string // see result.Head: columns with the same value are shown together
	cells []string
	left  bool // aligned left, and may be shortened
	key   bool // distinguishes rows
	more  bool // shown only with the previous column
	fits  bool // shown
	spare int  // see boxColumn
	wish  int  // the width of the widest cell
	least int  // of a text, if more than minText
	width int
	// If not nil, paint paints a padded cell. Of the cells below the heading, before returns what
	// stands before them, and short shortens one that does not fit.
	before func(i int) string
	paint  func(i int, cell string) string
	short  func(i, width int) string
}

// newColumns returns columns with these headings, all but the first aligned right.
func newColumns(headings ...string) (columns []*columnText) {
	for i, h := range headings {
		c := &columnText{left: i == 0}
		c.add(h)
		columns = append(columns, c)
	}
	return columns
}

func (c *columnText) add(cell string) {
	c.cells = append(c.cells, cell)
	c.width = max(c.width, columns(cell))
}

// minText is the minimum useful width of a text column.
const minText = 18

func newRows(t *result.Table, top int) (r rowsText) {
	footer := t.Footer()
	rows := slices.Concat(t.Top(top).Rows, footer)
	full := map[string]bool{} // columns that are not empty
	var of []string
	for k := range t.Columns {
		h := &t.Columns[k]
		if h.Of != "" && !h.Unit.IsText() && !slices.Contains(of, h.Of) {
			of = append(of, h.Of)
		}
		for _, row := range rows {
			if row[k].Known && (!h.Unit.Whole() || row[k].Int != 0) {
				full[cmp.Or(h.Of, h.Name)] = true
			}
		}
	}
	for k := range t.Columns {
		h := &t.Columns[k]
		if k > 0 && !full[cmp.Or(h.Of, h.Name)] {
			continue
		}
		c := &columnText{name: h.Name, of: h.Of, cells: []string{clean(h.Title)}, left: h.Unit.IsText(), key: h.Unit.IsText() && !h.Note}
		percents := &columnText{of: h.Of, more: true, cells: []string{"%"}}
		for _, row := range rows {
			cell := &row[k]
			c.cells = append(c.cells, formatCell(h, cell))
			percents.cells = append(percents.cells, h.Percent(cell))
		}
		if k == t.Label() && footer != nil {
			c.cells[len(c.cells)-1] = "all"
		}
		r = append(r, c)
		// Percentages of several would not fit.
		if h.Whole > 0 && (h.Of == "" || slices.Equal(of, []string{h.Of})) {
			r = append(r, percents)
		}
	}
	return r
}

func formatCell(h *result.Head, c *result.Value) string {
	if h.Unit.IsText() {
		return clean(h.Format(c))
	}
	return h.Format(c)
}

// fit decides which columns are shown, and their widths. The first column, the label and short
// notes have priority, and in tables of changes texts that distinguish rows over more numbers.
func (r rowsText) fit(width int) (shown, hidden []*columnText) {
	var parts [3][][]*columnText // groups of columns, by priority
	labelled := false
	for i, c := range r {
		for _, s := range c.cells {
			c.wish = max(c.wish, columns(s))
		}
		if c.width = c.wish; c.left {
			c.width = min(c.wish, cmp.Or(c.least, minText))
		}
		part := 1
		switch {
		case i == 0 || c.of != "" && c.of == r[0].of || c.key && !labelled || c.left && !c.key && c.wish <= minText:
			part = 0
		case c.of != "":
			part = 2
		}
		labelled = labelled || c.key
		if p := parts[part]; i > 0 && len(p) > 0 && (c.more || c.of != "" && c.of == r[i-1].of) {
			p[len(p)-1] = append(p[len(p)-1], c)
		} else {
			parts[part] = append(p, []*columnText{c})
		}
	}
	used, left := -2, false // whether a column that distinguishes rows is omitted
	for i, part := range parts {
		for _, together := range part {
			need := 0
			for _, c := range together {
				need += 2 + c.width
			}
			// Of the columns that distinguish rows, the first ones have priority.
			fits := i == 0 || used+need <= width && !(together[0].key && left)
			left = left || together[0].key && !fits
			for _, c := range together {
				c.fits = fits
			}
			if fits {
				used += need
			}
		}
	}
	for _, c := range r {
		if c.fits {
			shown = append(shown, c)
		} else {
			hidden = append(hidden, c)
		}
	}
	for grown := true; grown && used < width; {
		grown = false
		for _, c := range shown {
			if c.width < c.wish && used < width {
				c.width++
				used++
				grown = true
			}
		}
	}
	return shown, hidden
}

// linesOf returns the lines of a table, the heading first. The heading of a column of numbers may
// extend into the blanks before it.
func linesOf(shown []*columnText) []string {
	lines := make([]string, len(shown[0].cells))
	for i := range lines {
		line, end := "", 0
		for k, c := range shown {
			cell, gap := c.cells[i], "  "
			if k == 0 {
				gap = ""
			}
			end += len(gap) + c.width
			if i == 0 && k == 0 && c.before != nil {
				end += columns(cell) - columns(strings.TrimLeft(cell, " ")) // below the marks
				line = left(cell, end)
				continue
			}
			if i == 0 && !c.left && columns(cell) > c.width {
				line = head(line, end-columns(cell))
				line += spaces(end-columns(cell)-columns(line)) + cell
				continue
			}
			if columns(cell) > c.width {
				if c.short != nil && i > 0 {
					cell = c.short(i, c.width)
				} else {
					cell = fit(cell, c.width)
				}
			}
			switch {
			case !c.left:
				cell = right(cell, c.width)
			case k < len(shown)-1 || c.paint == nil:
				cell = left(cell, c.width)
			}
			if c.before != nil && i > 0 {
				gap += c.before(i)
			}
			if c.paint != nil {
				cell = c.paint(i, cell)
			}
			line += gap + cell
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// writeColumns writes a table with a dim heading and a dim line of sums.
func writeColumns(b *strings.Builder, shown []*columnText, st style) {
	lines := linesOf(shown)
	for i, line := range lines {
		attribute := ""
		if i == 0 || i == len(lines)-1 && slices.ContainsFunc(shown, func(c *columnText) bool { return c.cells[i] == "all" }) {
			attribute = dim
		}
		b.WriteString(st.paint(attribute, line) + "\n")
	}
}

// TableCSV writes the table of any result as comma-separated values (RFC 4180, with LF line ends):
// a header with the names of the columns, and the rows. Numbers have all digits and no unit; times
// are in nanoseconds. Unknown values are empty. Control characters in texts become U+FFFD, and
// texts that a spreadsheet would interpret as a formula get a leading apostrophe. The error is that
// of w.
func TableCSV(w io.Writer, t *result.Table) error {
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for k := range t.Columns {
		record[k] = t.Columns[k].Name
	}
	_ = out.Write(record) // csv.Writer keeps the first error
	for _, row := range t.Rows {
		for k, c := range row {
			record[k] = ""
			switch u := t.Columns[k].Unit; {
			case c.Known && u.IsText():
				record[k] = harmless(u.Machine(c))
			case c.Known:
				record[k] = u.Machine(c)
			}
		}
		_ = out.Write(record)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("text: writing CSV: %w", err)
	}
	return nil
}

// harmless makes a text safe for terminals and spreadsheets. A spreadsheet interprets text that
// begins with one of a few signs, of normal or full width, as a formula.
func harmless(name string) string {
	name = format.Clean(name)
	if strings.IndexFunc(strings.TrimLeft(name, " "), func(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }) == 0 {
		return "'" + name
	}
	return name
}
