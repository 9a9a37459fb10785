package query

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Equal reports whether s and t are sets of the same number of rows and contain the same ones.
func (s *Set) Equal(t *Set) bool { return s.n == t.n && slices.Equal(s.words, t.words) }

// Every operation against a map of rows.
func TestSetOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129, 1000} {
		in := func(m map[int]bool) *Set { return RowsWhere(n, func(row int) bool { return m[row] }) }
		a, b := map[int]bool{}, map[int]bool{}
		for row := range n {
			if r.IntN(3) == 0 {
				a[row] = true
			}
			if r.IntN(2) == 0 {
				b[row] = true
			}
		}
		x, y := in(a), in(b)
		for name, c := range map[string]struct {
			got  *Set
			want func(row int) bool
		}{
			"union":        {x.Union(y), func(row int) bool { return a[row] || b[row] }},
			"intersection": {x.Intersect(y), func(row int) bool { return a[row] && b[row] }},
			"difference":   {x.Difference(y), func(row int) bool { return a[row] && !b[row] }},
			"complement":   {x.Complement(), func(row int) bool { return !a[row] }},
			"all":          {AllRows(n), func(int) bool { return true }},
			"none":         {NoRows(n), func(int) bool { return false }},
		} {
			count := 0
			var rows []int
			for row := range n {
				if c.want(row) {
					count++
					rows = append(rows, row)
				}
			}
			if c.got.Count() != count || c.got.Len() != n || !slices.Equal(slices.Collect(c.got.Rows()), rows) {
				t.Errorf("%s of %d: %d rows %v", name, n, c.got.Count(), slices.Collect(c.got.Rows()))
			}
		}
	}
	if AllRows(70).Equal(AllRows(71)) {
		t.Error("sets of different lengths are equal")
	}
}

// Quanta are selected and grouped by the callers of the function on top.
func TestCallers(t *testing.T) {
	rec := made(3, 200)
	rec.Funcs = append(rec.Funcs, "main.caller")
	index := int32(len(rec.Funcs) - 1)
	rec.Caller = make([]int32, rec.Len())
	for row := 0; row < rec.Len(); row += 4 {
		rec.Caller[row] = index
	}
	e := explorer(t, rec)
	want := RowsWhere(rec.Len(), func(row int) bool { return row%4 == 0 })
	for _, filter := range []string{"caller = main.caller", `caller =~ "caller$"`, "known(caller)"} {
		if got := chosen(t, e, filter); !got.Equal(want) {
			t.Errorf("%s: %d rows, want %d", filter, got.Count(), want.Count())
		}
	}
	table := answer(t, e, Query{Table: &Table{By: "caller"}}).Table
	counts := map[string]int{}
	for _, row := range table.Rows {
		counts[row.Key] = row.Count
	}
	if len(counts) != 2 || counts["main.caller"] != 50 || counts["(not known)"] != 150 {
		t.Errorf("by caller: %v", counts)
	}
}
