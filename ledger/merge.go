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
	chains := chainSums{}
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
		ok := addTo(&out.Wall, l.Wall) && addTo(&out.Capacity, l.Capacity) && addTo(&out.Queue, l.Queue) && addTo(&out.Queued, l.Queued) &&
			addTo(&out.Born, l.Born) && addTo(&out.BornLate, l.BornLate) && addTo(&out.Ended, l.Ended) && addTo(&out.Slices, l.Slices)
		out.Heap = out.Heap.plus(l.Heap)
		chains.add(l)
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
				row := r
				row.Time, row.Count, row.Queue, row.Shared = 0, 0, 0, 0
				out.Rows = append(out.Rows, row)
			}
			sum := &out.Rows[i]
			same := 0
			for same < min(len(sum.Callers), len(r.Callers)) && sum.Callers[same] == r.Callers[same] {
				same++
			}
			if sum.Callers = slices.Clip(sum.Callers[:same]); same == 0 {
				sum.Callers = nil
			}
			ok = ok && addTo(&sum.Time, r.Time) && addTo(&sum.Shared, r.Shared) && addTo(&sum.Count, r.Count) && addTo(&sum.Queue, r.Queue)
		}
		if !ok {
			return nil, errors.New("ledger: merging: the sums are too large")
		}
	}
	if out == nil {
		return nil, errors.New("ledger: merging: there is no ledger")
	}
	sortRows(out.Rows)
	out.Stacks = chains.stacks()
	slices.Sort(out.Warnings)
	out.Warnings = slices.Compact(out.Warnings)
	slices.Sort(out.Pinned)
	out.Pinned = slices.Compact(out.Pinned)
	return out, nil
}

// chainSums adds up stacks.
type chainSums struct {
	of      map[chainName]int
	list    []Stack
	missing bool // a ledger with lost capacity has no stacks
}

type chainName struct {
	name
	calls, wakerCalls string
}

func (c *chainSums) add(l *Ledger) {
	c.missing = c.missing || l.Stacks == nil && slices.ContainsFunc(l.Rows, func(r Row) bool { return r.lost() > 0 })
	for i := range l.Stacks {
		s := &l.Stacks[i]
		key := chainName{s.name(), linesOf(s.Calls), linesOf(s.WakerCalls)}
		k, known := c.of[key]
		if !known {
			if c.of == nil {
				c.of = map[chainName]int{}
			}
			k = len(c.list)
			c.of[key] = k
			c.list = append(c.list, *s)
			c.list[k].Time = 0
		}
		c.list[k].Time += s.Time
	}
}

// linesOf returns a string that identifies a call chain.
func linesOf(s *timeline.Stack) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s:%d\n", f.Func, f.Line)
	}
	return b.String()
}

// stacks returns the sums, largest first, or nil if some are missing.
func (c *chainSums) stacks() []Stack {
	if c.missing {
		return nil
	}
	sortStacks(c.list)
	return c.list
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
	return cmp.Or(strings.Compare(string(r.Category), string(s.Category)), strings.Compare(r.Group, s.Group), r.Site.Compare(s.Site),
		strings.Compare(r.Wait, s.Wait), strings.Compare(r.Waker, s.Waker), r.WakerSite.Compare(s.WakerSite), strings.Compare(r.Beside, s.Beside),
		cmp.Compare(sampled(r), sampled(s)))
}
