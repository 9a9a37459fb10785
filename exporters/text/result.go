package text

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/result"
)

// WriteTable writes the table of any result: a heading, the rows, their sums, and which columns
// there was no room for. Columns that hold nothing are left out, then those on the right for which
// there is no room; rows that look the same without these are added up. The error is that of w.
func WriteTable(w io.Writer, t *result.Table, opt Options) error {
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(st.paint(bold, st.fit(st.clean(t.Title), opt.Width)) + "\n\n")
	}
	if len(t.Rows) == 0 {
		b.WriteString("No rows.\n")
	} else {
		writeRows(&b, t, opt.Top, opt.Width, st)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

func writeRows(b *strings.Builder, t *result.Table, top, width int, st style) {
	shown, hidden := newRows(t, top, st).fit(width)
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
			shown, more = newRows(same, top, st).fit(width)
			hidden = append(slices.DeleteFunc(hidden, func(c *columnText) bool { return !c.key }), more...)
		}
	}
	writeColumns(b, shown, st)
	var names []string
	for _, c := range hidden {
		if !c.more {
			names = append(names, c.name)
		}
	}
	if names != nil {
		b.WriteString(st.paintLines(dim, wrap("No room for: "+strings.Join(names, ", ")+".", width, 0)) + "\n")
	}
}

// rowsText are the columns of a table as they are shown.
type rowsText []*columnText

// columnText is a column. The first cell is the heading, and the last one the sum.
type columnText struct {
	name  string
	cells []string
	left  bool // aligned so, and may be shortened
	key   bool // tells rows apart
	more  bool // is shown only with the column before it
	wish  int  // the width of the widest cell
	width int
}

// minText is the width that a column of texts is worth having with.
const minText = 18

func newRows(t *result.Table, top int, st style) (r rowsText) {
	shown := t.Top(top)
	sums := t.Total()
	for k := range t.Columns {
		h := &t.Columns[k]
		c := &columnText{name: h.Name, cells: []string{st.clean(h.Title)}, left: h.Unit.IsText(), key: h.Unit.IsText() && !h.Note}
		percents := &columnText{more: true, cells: []string{"%"}}
		empty := true
		for _, row := range append(slices.Clip(shown.Rows), sums) {
			cell := &row[k]
			empty = empty && (!cell.Known || h.Unit.Whole() && cell.Int == 0)
			c.cells = append(c.cells, formatCell(h, cell, st))
			percents.cells = append(percents.cells, st.plain(h.Percent(cell)))
		}
		if empty && k > 0 {
			continue
		}
		if k == t.Label() {
			c.cells[len(c.cells)-1] = "all"
		}
		r = append(r, c)
		if h.Whole > 0 {
			r = append(r, percents)
		}
	}
	return r
}

func formatCell(h *result.Head, c *result.Cell, st style) string {
	if h.Unit.IsText() {
		return st.clean(h.Format(c))
	}
	return st.plain(h.Format(c))
}

// fit decides which columns are shown, and how wide they are.
func (r rowsText) fit(width int) (shown, hidden []*columnText) {
	used := 0
	for i, c := range r {
		for _, s := range c.cells {
			c.wish = max(c.wish, columns(s))
		}
		if c.width = c.wish; c.left {
			c.width = min(c.wish, minText)
		}
		gap := 2
		if i == 0 {
			gap = 0
		}
		fits := used+gap+c.width <= width
		switch {
		case c.more: // goes with the column before it
			fits = fits && !slices.Contains(hidden, r[i-1])
		case c.key: // matters less than those before it
			fits = fits && !slices.ContainsFunc(hidden, func(h *columnText) bool { return h.key })
		}
		if !fits && i > 0 {
			hidden = append(hidden, c)
			continue
		}
		used += gap + c.width
		shown = append(shown, c)
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

func writeColumns(b *strings.Builder, shown []*columnText, st style) {
	n := len(shown[0].cells)
	for i := range n {
		var line strings.Builder
		for k, c := range shown {
			if k > 0 {
				line.WriteString("  ")
			}
			cell := st.fit(c.cells[i], c.width)
			if c.left {
				line.WriteString(left(cell, c.width))
			} else {
				line.WriteString(right(cell, c.width))
			}
		}
		attribute := ""
		if i == 0 || i == n-1 {
			attribute = dim
		}
		b.WriteString(st.paint(attribute, strings.TrimRight(line.String(), " ")) + "\n")
	}
}

// TableCSV writes the table of any result as comma-separated values (RFC 4180, lines end in LF): a
// header with the names of the columns, and the rows. Numbers have all digits and no unit: times
// are in nanoseconds. What is not known is empty. Texts are as harmless as those of [CSV]. The
// error is that of w.
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
				record[k] = harmless(u.Machine(c.Value))
			case c.Known:
				record[k] = u.Machine(c.Value)
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
