package quanta

import (
	"slices"
	"testing"
)

// Totals of counters stay correct when rows are left out: the remainder has the rest.
func TestOnlyKeepsTotals(t *testing.T) {
	rec := &Recording{Begin: []int64{0, 1, 2}, Duration: []int64{1, 1, 1}, Goroutine: []int64{1, 1, 1}, Group: make([]int32, 3), Thread: make([]int64, 3), Proc: make([]int32, 3), Func: make([]int32, 3),
		Ending: make([]Ending, 3), Groups: []Group{{Name: "g"}}, Funcs: []string{""},
		Counters: []Counter{{Name: "faults", Values: []int64{5, Unknown, 7}, Total: 13, Remainder: 1}}}
	rec.Wait = append(rec.Wait, 0, 0, 0)
	got := rec.Only(slices.Values([]int{1, 2}))
	if c := got.Counters[0]; c.Total != 13 || c.Remainder != 6 || len(c.Values) != 2 || c.Values[1] != 7 {
		t.Errorf("counter: %+v", c)
	}
	if rec.Counters[0].Remainder != 1 || got.Len() != 2 {
		t.Error("the recording was changed")
	}
}
