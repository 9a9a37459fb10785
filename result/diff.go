package result

import (
	"cmp"
	"fmt"
	"slices"
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
	sides, err := sums([]*Table{before, after}, texts, columns)
	if err != nil {
		return nil, err
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
	for _, pair := range aligned(sides, keys) {
		out.Rows = append(out.Rows, pairRow(a.Columns, pair, keys, values, noted))
	}
	if len(values) > 0 {
		out.SortedBy = out.Columns[2].Name // the first change
	}
	out.sort()
	return out, nil
}

// sums returns the named columns of each table, summed by texts.
func sums(tables []*Table, texts, columns []string) ([]*Table, error) {
	out := make([]*Table, len(tables))
	for i, t := range tables {
		by, err := t.By(texts...)
		if err == nil {
			out[i], err = by.Pick(columns...)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// aligned returns, for each combination of keys, the row of each table, or nil.
func aligned(tables []*Table, keys []int) (rows [][][]Value) {
	at := map[string]int{}
	for i, t := range tables {
		for _, row := range t.Rows {
			key := keyOf(row, keys)
			n, known := at[key]
			if !known {
				n = len(rows)
				at[key] = n
				rows = append(rows, make([][]Value, len(tables)))
			}
			rows[n][i] = row
		}
	}
	return rows
}

// pairRow returns a row of a diff.
func pairRow(columns []Head, pair [][]Value, keys, values, noted []int) (row []Value) {
	is, there := Value{}, pair[0]
	switch {
	case pair[0] == nil:
		is, there = known(Str(Added), true), pair[1]
	case pair[1] == nil:
		is = known(Str(Gone), true)
	}
	for _, k := range values {
		none := Value{Known: columns[k].Unit.Whole()}
		before, after := none, none
		if pair[0] != nil {
			before = pair[0][k]
		}
		if pair[1] != nil {
			after = pair[1][k]
		}
		row = append(row, before, after, Value{Int: after.Int - before.Int, Float: after.Float - before.Float, Known: before.Known && after.Known})
	}
	row = append(row, is)
	for _, k := range keys {
		row = append(row, there[k])
	}
	for _, k := range noted {
		for _, side := range pair {
			if side == nil {
				row = append(row, Value{})
			} else {
				row = append(row, side[k])
			}
		}
	}
	return row
}

// Beside compares tables with the same columns. Of the named column of numbers, the result has a
// column for each table, titled by its name, with the sums for each combination of the key texts. A
// value without rows is 0 or, for means, unknown. Rows are sorted by their largest value.
func Beside(names []string, tables []*Table, column string, keys ...string) (*Table, error) {
	sides, err := sums(tables, keys, append(keys[:len(keys):len(keys)], column))
	if err != nil {
		return nil, err
	}
	texts := make([]int, len(keys))
	for k := range texts {
		texts[k] = k
	}
	out := &Table{Columns: slices.Insert(sides[0].Columns[:len(keys):len(keys)], 1, make([]Head, len(tables))...)}
	for i, t := range sides {
		h := t.Columns[len(keys)]
		h.Name, h.Title = fmt.Sprintf("%s_%d", column, i+1), names[i]
		out.Columns[1+i] = h
	}
	for _, of := range aligned(sides, texts) {
		there := of[slices.IndexFunc(of, func(row []Value) bool { return row != nil })]
		row := slices.Insert(slices.Clone(there[:len(keys)]), 1, slices.Repeat([]Value{{Known: out.Columns[1].Unit.Whole()}}, len(tables))...)
		for i, from := range of {
			if from != nil {
				row[1+i] = from[len(keys)]
			}
		}
		out.Rows = append(out.Rows, row)
	}
	largest := func(row []Value) (most float64) {
		for i := range tables {
			most = max(most, out.Columns[1+i].Unit.Number(row[1+i]))
		}
		return most
	}
	out.sort()
	slices.SortStableFunc(out.Rows, func(a, b []Value) int { return cmp.Compare(largest(b), largest(a)) })
	return out, nil
}

// Changes is [Diff] for tables that are known to have these columns.
func Changes(before, after *Table, columns ...string) *Table {
	t, err := Diff(before, after, columns...)
	if err != nil {
		panic(err)
	}
	return t
}
