package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// Table holds the values of a result's columns. Code that draws tables needs no other type.
type Table struct {
	// Title is the caption.
	Title   string
	Columns []Head
	Rows    [][]Value
	// SortedBy is the name of the column of numbers by which the rows are sorted, largest
	// magnitude first; "" means the first one.
	SortedBy string
}

// Head is a [Column] without its values.
type Head struct {
	Name, Title string
	Unit        Unit
	Help        string
	Part        bool
	// Whole is the value that the column's values are parts of, in the same unit; 0 if it is
	// unknown or they are not parts.
	Whole int64
	// Signed is set if the values are changes. Positive ones then have a sign.
	Signed bool
	// Of is the name of the column whose values before and after, or changes, these are.
	Of string
	// Note and Quotient are those of the [Column].
	Note     bool
	Quotient [2]string
}

// isKey reports whether the texts of the column identify rows.
func (h *Head) isKey() bool { return h.Unit.IsText() && !h.Note }

// Format formats a value for people; "" if it is unknown.
func (h *Head) Format(c *Value) string {
	if !c.Known {
		return ""
	}
	s := h.Unit.Format(*c)
	if h.Signed && h.Unit.Number(*c) > 0 {
		s = "+" + s
	}
	return s
}

// Label returns the index of the column of texts that holds the label of combined rows, such as
// "all"; −1 if there is none.
func (t *Table) Label() int {
	return slices.IndexFunc(t.Columns, func(h Head) bool { return h.isKey() })
}

// Percent formats a value as a part of the whole of its column; "" if that is unknown.
func (h *Head) Percent(c *Value) string {
	if !c.Known || h.Whole <= 0 {
		return ""
	}
	return format.Percent(time.Duration(c.Int), time.Duration(h.Whole))
}

// New returns the table of rows. The values of columns with Part are parts of whole.
func New[Row any, N ~int | ~int64](columns []Column[Row], rows []Row, whole N) *Table {
	t := &Table{Columns: Heads(columns), Rows: make([][]Value, len(rows))}
	for k := range t.Columns {
		if t.Columns[k].Part {
			t.Columns[k].Whole = int64(whole)
		}
	}
	for i := range rows {
		t.Rows[i] = make([]Value, len(columns))
		for k := range columns {
			t.Rows[i][k] = known(columns[k].Value(&rows[i]))
		}
	}
	return t
}

// known returns a value of a table.
func known(v Value, known bool) Value {
	v.Known = known
	return v
}

// Heads returns the columns without their values.
func Heads[Row any](columns []Column[Row]) []Head {
	heads := make([]Head, len(columns))
	for i := range columns {
		c := &columns[i]
		heads[i] = Head{Name: c.Name, Title: c.Title, Unit: c.Unit, Help: c.Help, Part: c.Part, Note: c.Note, Quotient: c.Quotient}
	}
	return heads
}

// index returns the index of the column with a name.
func index(columns []Head, name string) (int, error) {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	if i := slices.Index(names, name); i >= 0 {
		return i, nil
	}
	return -1, Unknown(name, names)
}

type unknownName string

func (e unknownName) Error() string { return string(e) }

// Unknown returns the error for an unknown name, such as that of a missing column, with a suggestion.
func Unknown(name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return unknownName(fmt.Sprintf("unknown name %q; did you mean %s?", name, near))
	}
	return unknownName(fmt.Sprintf("unknown name %q: want one of %s", name, strings.Join(known, ", ")))
}

// IsUnknown reports whether an error is one of [Unknown] itself, not one that wraps it.
func IsUnknown(err error) bool {
	_, is := err.(unknownName)
	return is
}

// Total returns the sums or means of the columns, depending on the unit. It is unknown for texts,
// and if some values are unknown.
func (t *Table) Total() []Value { return total(t.Columns, t.Rows) }

// Footer returns the row of Total, or no row if no column has a sum or a mean.
func (t *Table) Footer() [][]Value {
	sums := t.Total()
	for k := range sums {
		if sums[k].Known && t.Columns[k].Quotient != Single {
			return [][]Value{sums}
		}
	}
	return nil
}

func total(columns []Head, rows [][]Value) []Value {
	sums := make([]Value, len(columns))
	for k := range columns {
		u := columns[k].Unit
		if u.IsText() || !u.Whole() && len(rows) == 0 || columns[k].Quotient[0] != "" {
			continue
		}
		sum := Value{Known: true}
		for _, row := range rows {
			c := &row[k]
			sum.Known = sum.Known && c.Known
			sum.Int += c.Int
			sum.Float += c.Float
		}
		if !u.Whole() {
			sum.Float /= float64(len(rows))
		}
		if sum.Known {
			sums[k] = sum
		}
	}
	for k := range columns {
		if columns[k].Quotient[0] != "" {
			sums[k] = quotient(columns, sums, rows, k)
		}
	}
	return sums
}

// quotient returns the value of column k for several rows; for a single row it is the row's value.
func quotient(columns []Head, sums []Value, rows [][]Value, k int) Value {
	if len(rows) == 1 {
		return rows[0][k]
	}
	var of [2]float64
	for i, name := range columns[k].Quotient {
		at := slices.IndexFunc(columns, func(h Head) bool { return h.Name == name })
		if at < 0 || !sums[at].Known {
			return Value{}
		}
		of[i] = columns[at].Unit.Number(sums[at])
	}
	return known(Float(of[0]/of[1]), of[1] != 0)
}

// SetWhole sets the value that the values of a column are parts of.
func (t *Table) SetWhole(column string, whole time.Duration) {
	if k, err := index(t.Columns, column); err == nil {
		t.Columns[k].Whole = int64(whole)
	}
}

// By returns a table whose rows are grouped by the columns of texts with these names. Other texts
// are dropped, and numbers are combined as by [Table.Total]. Rows are sorted by the first column of
// numbers, largest first.
func (t *Table) By(names ...string) (*Table, error) {
	for _, name := range names {
		k, err := index(t.Columns, name)
		if err != nil {
			return nil, err
		}
		if !t.Columns[k].isKey() {
			return nil, fmt.Errorf("rows cannot be summed by %s: want a column of text", name)
		}
	}
	out := &Table{Title: t.Title, SortedBy: t.SortedBy}
	var columns, keys []int // of t
	for k, h := range t.Columns {
		switch {
		case slices.Contains(names, h.Name):
			keys = append(keys, k)
		case h.isKey():
			continue
		}
		columns = append(columns, k)
		out.Columns = append(out.Columns, h)
	}
	at := map[string]int{}
	var groups [][][]Value
	for _, row := range t.Rows {
		key := keyOf(row, keys)
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	for _, rows := range groups {
		sums := total(t.Columns, rows)
		row := make([]Value, len(columns))
		for i, k := range columns {
			switch h := &t.Columns[k]; {
			case h.isKey() || h.Note && same(rows, k):
				row[i] = rows[0][k]
			default:
				row[i] = sums[k]
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.sort()
	return out, nil
}

// Pick returns a table with only the named columns, in this order.
func (t *Table) Pick(names ...string) (*Table, error) {
	out := &Table{Title: t.Title, SortedBy: t.SortedBy, Rows: make([][]Value, len(t.Rows))}
	for _, name := range names {
		k, err := index(t.Columns, name)
		if err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, t.Columns[k])
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[k])
		}
	}
	return out, nil
}

// same reports whether all rows have the same text in a column.
func same(rows [][]Value, k int) bool {
	return !slices.ContainsFunc(rows, func(row []Value) bool { return row[k].Text != rows[0][k].Text })
}

// keyOf returns the texts of some columns of a row as one string.
func keyOf(row []Value, columns []int) string {
	var b strings.Builder
	for _, k := range columns {
		b.WriteString(row[k].Text)
		b.WriteByte(0)
		for _, s := range row[k].More {
			b.WriteString(s)
			b.WriteByte(1)
		}
	}
	return b.String()
}

// sort sorts rows by SortedBy, then by their texts.
func (t *Table) sort() {
	by := slices.IndexFunc(t.Columns, func(h Head) bool { return !h.Unit.IsText() && (t.SortedBy == "" || h.Name == t.SortedBy) })
	size := func(c *Value) float64 { return math.Abs(t.Columns[by].Unit.Number(*c)) }
	order.Stable(t.Rows, func(a, b []Value) int {
		if by >= 0 {
			if c := cmp.Compare(size(&b[by]), size(&a[by])); c != 0 {
				return c
			}
		}
		return slices.CompareFunc(a, b, func(x, y Value) int { return strings.Compare(x.Text, y.Text) })
	})
}

// Top returns the table with its first n rows and one that sums the others; the first text of that
// row is their number. It returns t if there are at most n+1 rows, or n is 0.
func (t *Table) Top(n int) *Table {
	if n <= 0 || len(t.Rows) <= n+1 {
		return t
	}
	out := *t
	rest := total(t.Columns, t.Rows[n:])
	if k := t.Label(); k >= 0 {
		rest[k] = known(Str(fmt.Sprintf("%s others", format.Count(len(t.Rows)-n))), true)
	}
	out.Rows = append(slices.Clone(t.Rows[:n]), rest)
	return &out
}

// MarshalJSON writes the rows as an array of objects keyed by column name. Values are integers in
// nanoseconds, bytes and so on, other numbers, or strings (an array for lists). Unknown values are
// null.
func (t *Table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('{')
		for k, c := range row {
			if k > 0 {
				b.WriteByte(',')
			}
			for i, v := range []any{t.Columns[k].Name, t.Columns[k].Unit.json(c)} {
				text, err := json.Marshal(v)
				if err != nil {
					return nil, err
				}
				b.Write([]byte(":")[:i])
				b.Write(text)
			}
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return format.EscapeJSON(b.Bytes()), nil
}

// json returns the Go value that encoding/json writes for a value of a table.
func (u Unit) json(c Value) any {
	switch {
	case !c.Known:
		return nil
	case u.IsText() && len(c.More) > 0:
		return append([]string{c.Text}, c.More...)
	case u.IsText():
		return c.Text
	case u.Whole():
		return c.Int
	case math.IsNaN(c.Float) || math.IsInf(c.Float, 0):
		return nil
	}
	return c.Float
}
