package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Merge adds up ledgers of several runs or machines as if they had run one after the other. Rows
// that differ only in their numbers are combined, and Wall, Capacity and all other times and counts
// are summed. Procs is the largest, Start the earliest. Warnings and Pinned are unions; Callers are
// those common to all rows. The result does not depend on the order of ledgers and merges, except
// for rounding of the means in Heap. Nil ledgers are ignored. The sum has Stacks if all ledgers
// have them, and no Verdict. Merge fails if a sum overflows an int64, which is 292 years.
//
// Merge takes about 0.3 µs per row.
func Merge(ledgers ...*Ledger) (*Ledger, error) {
	var out *Ledger
	index := map[name]int{}
	for _, l := range ledgers {
		if l == nil {
			continue
		}
		if out == nil {
			out = &Ledger{Start: l.Start}
		}
		out.Start = min(out.Start, l.Start)
		out.Procs = max(out.Procs, l.Procs)
		out.Instances += max(1, l.Instances)
		out.Warnings = append(out.Warnings, l.Warnings...)
		out.Pinned = append(out.Pinned, l.Pinned...)
		ok := true
		for i, t := range l.times() {
			ok = ok && addTo(out.times()[i], *t)
		}
		for i, n := range l.counts() {
			ok = ok && addTo(out.counts()[i], *n)
		}
		out.Heap = out.Heap.plus(l.Heap)
		for n, d := range l.Offered {
			if n == len(out.Offered) {
				out.Offered = append(out.Offered, 0)
			}
			ok = ok && addTo(&out.Offered[n], d)
		}
		for _, r := range l.Rows {
			i, known := index[r.name()]
			if !known {
				i = len(out.Rows)
				index[r.name()] = i
				out.Rows = append(out.Rows, r)
				continue
			}
			sum := &out.Rows[i]
			same := 0
			for same < min(len(sum.Callers), len(r.Callers)) && sum.Callers[same] == r.Callers[same] {
				same++
			}
			if sum.Callers = slices.Clip(sum.Callers[:same]); same == 0 {
				sum.Callers = nil
			}
			if sum.Callee != r.Callee {
				sum.Callee = ""
			}
			if sum.Call != r.Call {
				sum.Call = ""
			}
			sum.All = sum.All && r.All
			ok = ok && sum.add(&r)
		}
		if !ok {
			return nil, errors.New("ledger: merging: the sums are too large")
		}
	}
	if out == nil {
		return nil, errors.New("ledger: merging: there is no ledger")
	}
	sortRows(out.Rows)
	out.Stacks = sumOfStacks(ledgers)
	slices.Sort(out.Warnings)
	out.Warnings = slices.Compact(out.Warnings)
	slices.Sort(out.Pinned)
	out.Pinned = slices.Compact(out.Pinned)
	return out, nil
}

// sumOfStacks returns the sums of stacks, largest first, or nil if a ledger with lost capacity has
// none.
func sumOfStacks(ledgers []*Ledger) (list []Row) {
	type chain struct {
		name
		calls, wakerCalls string
	}
	at := map[chain]int{}
	for _, l := range ledgers {
		if l == nil {
			continue
		}
		if l.Stacks == nil && slices.ContainsFunc(l.Rows, func(r Row) bool { return r.lost() > 0 }) {
			return nil
		}
		for _, s := range l.Stacks {
			key := chain{s.name(), linesOf(s.Calls), linesOf(s.WakerCalls)}
			if k, known := at[key]; known {
				list[k].Time += s.Time
				continue
			}
			at[key] = len(list)
			list = append(list, s)
		}
	}
	sortStacks(list)
	return list
}

// linesOf returns a string that identifies a call chain, which may be nil.
func linesOf(s *timeline.Stack) string {
	var b strings.Builder
	for i := 0; s != nil && i < len(s.Frames); i++ {
		fmt.Fprintf(&b, "%s:%d\n", s.Frames[i].Func, s.Frames[i].Line)
	}
	return b.String()
}

// plus returns the sum of two heaps; the sizes are means over all collections.
func (h *Heap) plus(g *Heap) *Heap {
	switch {
	case g == nil:
		return h
	case h == nil:
		sum := *g
		return &sum
	}
	n := h.Collections + g.Collections
	mean := func(a, b int64) int64 {
		return int64((float64(a)*float64(h.Collections)+float64(b)*float64(g.Collections))/float64(max(n, 1)) + 0.5)
	}
	return &Heap{Collections: n, Allocated: h.Allocated + g.Allocated, Live: mean(h.Live, g.Live), Peak: mean(h.Peak, g.Peak)}
}

// times and counts return what is summed, except for the rows, the heap and Offered.
func (l *Ledger) times() []*time.Duration {
	return []*time.Duration{&l.Wall, &l.Capacity, &l.Queue, &l.Queued}
}

func (l *Ledger) counts() []*int64 { return []*int64{&l.Born, &l.Slices} }

// add adds the numbers of a row and reports whether the sums fit.
func (r *Row) add(s *Row) bool {
	return addTo(&r.Time, s.Time) && addTo(&r.Shared, s.Shared) && addTo(&r.Locked, s.Locked) && addTo(&r.Count, s.Count) && addTo(&r.Queue, s.Queue)
}

// addTo adds d to a non-negative sum and reports whether it fits.
func addTo[N time.Duration | int64](sum *N, d N) bool {
	if d > math.MaxInt64-*sum {
		return false
	}
	*sum += d
	return true
}

// sortRows sorts rows, largest first, independent of their previous order.
func sortRows(rows []Row) {
	order.Stable(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.compareKey(&b))
	})
}

func (r *Row) compareKey(s *Row) int {
	sampled := func(r *Row) int {
		if r.Sampled {
			return 1
		}
		return 0
	}
	return cmp.Or(strings.Compare(r.Category, s.Category), strings.Compare(r.Group, s.Group), r.Site.Compare(s.Site),
		strings.Compare(r.Wait, s.Wait), strings.Compare(r.Waker, s.Waker), r.WakerSite.Compare(s.WakerSite), strings.Compare(r.Beside, s.Beside),
		cmp.Compare(sampled(r), sampled(s)))
}

// Scale returns a copy of the ledger with every time and count multiplied by n. It estimates a
// period from a random sample of 1/n of it. Because n is an integer, sums remain exact. Procs and
// the heap sizes are unchanged. Stacks and Verdict are omitted. n must be positive.
func (l *Ledger) Scale(n int) *Ledger {
	out := *l
	k := time.Duration(n)
	out.Stacks, out.Verdict = nil, nil
	for _, d := range out.times() {
		*d *= k
	}
	for _, c := range out.counts() {
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
		r.Time, r.Count, r.Queue, r.Shared, r.Locked = r.Time*k, r.Count*int64(n), r.Queue*k, r.Shared*k, r.Locked*k
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
		rest := Row{Category: l.Rows[i].Category, Group: others}
		if rest.Empty() {
			rest.Beside = Several
		}
		at := slices.IndexFunc(out.Rows, func(sum Row) bool { return sum.name() == rest.name() })
		if at < 0 {
			at = len(out.Rows)
			out.Rows = append(out.Rows, rest)
		}
		out.Rows[at].add(&l.Rows[i])
	}
	sortRows(out.Rows)
	return &out
}
