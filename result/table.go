package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// Table is what the columns of a result say of its rows. What draws tables needs no other type of a result.
type Table struct {
	// Title is the caption.
	Title   string
	Columns []Head
	Rows    [][]Cell
	// Whole is what the values of the columns with Part are parts of; 0 if it is not known.
	Whole int64
}

// Head is a [Column] without its values.
type Head struct {
	Name, Title string
	Unit        Unit
	Help        string
	Part        bool
}

// Cell is a value that may not be known.
type Cell struct {
	Value
	Known bool
}

// New returns the table of rows. Whole is what the values of the columns with Part are parts of.
func New[Row any, N ~int | ~int64](columns []Column[Row], rows []Row, whole N) *Table {
	t := &Table{Columns: Heads(columns), Rows: make([][]Cell, len(rows)), Whole: int64(whole)}
	for i := range rows {
		t.Rows[i] = make([]Cell, len(columns))
		for k := range columns {
			v, known := columns[k].Value(&rows[i])
			t.Rows[i][k] = Cell{v, known}
		}
	}
	return t
}

// Heads returns the columns without their values.
func Heads[Row any](columns []Column[Row]) []Head {
	heads := make([]Head, len(columns))
	for i := range columns {
		c := &columns[i]
		heads[i] = Head{c.Name, c.Title, c.Unit, c.Help, c.Part}
	}
	return heads
}

// index returns where the column with a name is.
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

// UnknownName is the error for a name that means nothing, such as that of no column.
type UnknownName struct{ msg string }

func (e *UnknownName) Error() string { return e.msg }

// Unknown returns an [*UnknownName] that says what may have been meant.
func Unknown(name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return &UnknownName{fmt.Sprintf("unknown name %q; did you mean %s?", name, near)}
	}
	return &UnknownName{fmt.Sprintf("unknown name %q: want one of %s", name, strings.Join(known, ", "))}
}

// Total returns the sums of the columns, or their means where the unit says so. A sum or mean of values that are
// not all known is not known; texts are not.
func (t *Table) Total() []Cell { return total(t.Columns, t.Rows) }

func total(columns []Head, rows [][]Cell) []Cell {
	sums := make([]Cell, len(columns))
	for k := range columns {
		u := columns[k].Unit
		if u.IsText() || !u.Whole() && len(rows) == 0 {
			continue
		}
		sum := Cell{Known: true}
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
	return sums
}

// By returns the table whose rows are told apart by the columns of texts with these names only. The other texts
// are left out, and numbers are those of [Table.Total]. Rows are sorted by the first column of numbers, largest first.
func (t *Table) By(names ...string) (*Table, error) {
	for _, name := range names {
		k, err := index(t.Columns, name)
		if err != nil {
			return nil, err
		}
		if !t.Columns[k].Unit.IsText() {
			return nil, fmt.Errorf("rows cannot be told apart by %s: it is a number", name)
		}
	}
	out := &Table{Title: t.Title, Whole: t.Whole}
	var columns, keys []int // of t
	for k, h := range t.Columns {
		switch {
		case slices.Contains(names, h.Name):
			keys = append(keys, k)
		case h.Unit.IsText():
			continue
		}
		columns = append(columns, k)
		out.Columns = append(out.Columns, h)
	}
	at := map[string]int{}
	var groups [][][]Cell
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
		row := make([]Cell, len(columns))
		for i, k := range columns {
			if row[i] = sums[k]; t.Columns[k].Unit.IsText() {
				row[i] = rows[0][k]
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.sort()
	return out, nil
}

// keyOf returns the texts of some columns of a row, as one.
func keyOf(row []Cell, columns []int) string {
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

// sort sorts rows by the first column of numbers, largest first, then by their texts.
func (t *Table) sort() {
	first := slices.IndexFunc(t.Columns, func(h Head) bool { return !h.Unit.IsText() })
	slices.SortStableFunc(t.Rows, func(a, b []Cell) int {
		if first >= 0 {
			u := t.Columns[first].Unit
			if c := cmp.Or(cmp.Compare(b[first].Int, a[first].Int), cmp.Compare(u.Number(b[first].Value), u.Number(a[first].Value))); c != 0 {
				return c
			}
		}
		for k := range t.Columns {
			if c := strings.Compare(a[k].Text, b[k].Text); c != 0 {
				return c
			}
		}
		return 0
	})
}

// Top returns the table with its first n rows and one that sums up the others, whose first text says how many
// they are. It returns t if there are no more than n+1, or n is 0.
func (t *Table) Top(n int) *Table {
	if n <= 0 || len(t.Rows) <= n+1 {
		return t
	}
	out := *t
	rest := total(t.Columns, t.Rows[n:])
	if k := slices.IndexFunc(t.Columns, func(h Head) bool { return h.Unit.IsText() }); k >= 0 {
		rest[k] = Cell{Str(fmt.Sprintf("%s others", format.Count(len(t.Rows)-n))), true}
	}
	out.Rows = append(slices.Clone(t.Rows[:n]), rest)
	return &out
}

// MarshalJSON writes the rows as an array of objects, by the names of the columns. Values are whole numbers in
// nanoseconds, bytes and so on, other numbers, or strings (an array of them where there are several); null if they
// are not known.
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
			name, err := json.Marshal(t.Columns[k].Name)
			if err != nil {
				return nil, err
			}
			v, err := json.Marshal(t.Columns[k].Unit.json(c))
			if err != nil {
				return nil, err
			}
			b.Write(name)
			b.WriteByte(':')
			b.Write(v)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return format.EscapeJSON(b.Bytes()), nil
}

// json returns what encoding/json makes the value of.
func (u Unit) json(c Cell) any {
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
