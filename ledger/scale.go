package ledger

import (
	"slices"
	"time"
)

// Scale returns a copy of the ledger with every time and count multiplied by n. It estimates a
// period from a random sample of 1/n of it. Because n is an integer, sums remain exact. Procs and
// the heap sizes are unchanged. Stacks and Verdict are omitted. n must be positive.
func (l *Ledger) Scale(n int) *Ledger {
	out := *l
	k := time.Duration(n)
	out.Stacks, out.Verdict = nil, nil
	for _, d := range []*time.Duration{&out.Wall, &out.Capacity, &out.Queue, &out.Queued} {
		*d *= k
	}
	for _, c := range []*int64{&out.Born, &out.BornLate, &out.Ended, &out.Slices} {
		*c *= int64(n)
	}
	out.Offered = slices.Clone(l.Offered)
	for i := range out.Offered {
		out.Offered[i] *= k
	}
	if l.Heap != nil {
		heap := *l.Heap
		heap.Collections *= int64(n)
		heap.Allocated *= int64(n)
		out.Heap = &heap
	}
	out.Rows = slices.Clone(l.Rows)
	for i := range out.Rows {
		r := &out.Rows[i]
		r.Time, r.Count, r.Queue, r.Shared = r.Time*k, r.Count*int64(n), r.Queue*k, r.Shared*k
	}
	return &out
}

// Top returns the ledger with its n largest rows; the others are added up into one row per
// category. Stacks and Verdict are omitted. If n is 0, all rows are kept.
func (l *Ledger) Top(n int) *Ledger {
	if n <= 0 || len(l.Rows) <= n {
		return l
	}
	out := *l
	out.Stacks, out.Verdict = nil, nil
	out.Rows = slices.Clone(l.Rows[:n])
	for i := n; i < len(l.Rows); i++ {
		r := &l.Rows[i]
		at := slices.IndexFunc(out.Rows, func(sum Row) bool { return sum.name() == name{category: r.Category, group: others} })
		if at < 0 {
			at = len(out.Rows)
			out.Rows = append(out.Rows, Row{Category: r.Category, Group: others})
		}
		sum := &out.Rows[at]
		sum.Time, sum.Count, sum.Queue, sum.Shared = sum.Time+r.Time, sum.Count+r.Count, sum.Queue+r.Queue, sum.Shared+r.Shared
	}
	sortRows(out.Rows)
	return &out
}
