package result

import (
	"fmt"
)

// Values of the column "row" of a [Diff].
const (
	Added = "added" // the row is in the second table only
	Gone  = "gone"  // it is in the first table only
)

// Diff compares two tables with the same columns. It sums the rows of each table that agree in the
// named columns of texts, and pairs the sums. The result has three columns for each named column of
// numbers: its values before and after, and the change ("time_before", "time_after" and
// "time_change"). It also has "row", which is [Added], [Gone] or, for a row in both tables,
// unknown; and the texts, with notes before and after. A sum without rows is 0; a mean without rows
// is unknown. Rows are sorted by the change of the first number, largest first.
func Diff(before, after *Table, columns ...string) (*Table, error) {
	var texts []string
	for _, name := range columns {
		k, err := index(before.Columns, name)
		if err != nil {
			return nil, err
		}
		if before.Columns[k].isKey() {
			texts = append(texts, name)
		}
	}
	var sides [2]*Table
	for i, t := range []*Table{before, after} {
		sums, err := t.By(texts...)
		if err == nil {
			sides[i], err = sums.Pick(columns...)
		}
		if err != nil {
			return nil, err
		}
	}
	a, b := sides[0], sides[1]
	out := &Table{Title: after.Title}
	var keys, values, noted []int // of a and b
	var texted, notes []Head
	for k, h := range a.Columns {
		g, change := b.Columns[k], h
		switch {
		case g.Unit != h.Unit:
			return nil, fmt.Errorf("the tables have other columns")
		case h.isKey():
			keys = append(keys, k)
			texted = append(texted, h)
			continue
		}
		h.Of, g.Of, change.Of = h.Name, h.Name, h.Name
		h.Name, h.Title = h.Name+"_before", h.Title+" before"
		g.Name, g.Title = g.Name+"_after", "after"
		if h.Unit.IsText() {
			noted = append(noted, k)
			notes = append(notes, h, g)
			continue
		}
		values = append(values, k)
		change.Name, change.Title, change.Part, change.Whole, change.Signed = change.Name+"_change", "change", false, 0, true
		if h.Quotient[0] != "" {
			change.Quotient = Single
			for i, name := range h.Quotient {
				h.Quotient[i], g.Quotient[i] = name+"_before", name+"_after"
			}
		}
		out.Columns = append(out.Columns, h, g, change)
	}
	out.Columns = append(out.Columns, Head{Name: "row", Note: true, Help: "whether it is only there after, or was only there before"})
	out.Columns = append(append(out.Columns, texted...), notes...)
	paired := map[string][2][]Cell{}
	var order []string
	for side, t := range []*Table{a, b} {
		for _, row := range t.Rows {
			key := keyOf(row, keys)
			pair, known := paired[key]
			if !known {
				order = append(order, key)
			}
			pair[side] = row
			paired[key] = pair
		}
	}
	for _, key := range order {
		out.Rows = append(out.Rows, pairRow(a.Columns, paired[key], keys, values, noted))
	}
	if len(values) > 0 {
		out.SortedBy = out.Columns[2].Name // the first change
	}
	out.sort()
	return out, nil
}

// pairRow returns a row of a diff.
func pairRow(columns []Head, pair [2][]Cell, keys, values, noted []int) (row []Cell) {
	is, there := Cell{}, pair[0]
	switch {
	case pair[0] == nil:
		is, there = Cell{Str(Added), true}, pair[1]
	case pair[1] == nil:
		is = Cell{Str(Gone), true}
	}
	for _, k := range values {
		none := Cell{Known: columns[k].Unit.Whole()}
		before, after := none, none
		if pair[0] != nil {
			before = pair[0][k]
		}
		if pair[1] != nil {
			after = pair[1][k]
		}
		row = append(row, before, after, Cell{Value{Int: after.Int - before.Int, Float: after.Float - before.Float}, before.Known && after.Known})
	}
	row = append(row, is)
	for _, k := range keys {
		row = append(row, there[k])
	}
	for _, k := range noted {
		for _, side := range pair {
			if side == nil {
				row = append(row, Cell{})
			} else {
				row = append(row, side[k])
			}
		}
	}
	return row
}

// Changes is [Diff] for tables that are known to have these columns.
func Changes(before, after *Table, columns ...string) *Table {
	t, err := Diff(before, after, columns...)
	if err != nil {
		panic(err)
	}
	return t
}
