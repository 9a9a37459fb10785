package series

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// A ledger turns growing totals into counters with few names.
//
// The input is a map from cells to totals since the start of an epoch, with any number of names.
// The output is a set of counters as Prometheus defines them: they only grow, even when a new epoch
// begins and the totals restart at 0. Only some names have their own counters; the growth of all
// others goes to the name [Others].
//
// Three rules keep the counters true:
//
//  1. A name that gets its own counter keeps it. The counter starts with the growth from then on;
//     the earlier total stays with the others. So nothing is counted twice.
//  2. The counter of the others is the sum of all cells minus the named counters. So it does not
//     matter how the source folds small groups ("12 others" today, "13 others" tomorrow): sums of
//     counters are sums of totals.
//  3. Nothing shrinks. If a total decreases by a nanosecond, because shares are rounded to sum to
//     the wall time, its counter does not change.
type ledger struct {
	epoch any
	prev  map[cell]int64 // totals at the last reading
	own   map[cell]int64 // counters of names that have their own
	sums  map[cell]sum   // by cell without a name
}

// cell identifies a total. Metrics without names, kinds or parts leave these fields empty.
type cell struct{ metric, name, kind, part string }

func compareCells(a, b cell) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind), cmp.Compare(a.part, b.part))
}

func (c cell) unnamed() cell {
	c.name = ""
	return c
}

// sum is the total over all names of a kind and part.
type sum struct {
	prev   int64 // at the last reading
	total  int64 // over all epochs
	others int64 // the counter of the others
}

// Others is the name of the sum of groups without their own counters.
const Others = "(others)"

// update processes the current totals. named reports whether a name has its own counter; once true,
// it must stay true.
func (l *ledger) update(epoch any, totals map[cell]int64, named func(cell) bool) {
	if l.own == nil {
		l.own, l.sums = map[cell]int64{}, map[cell]sum{}
	}
	if epoch != l.epoch {
		l.epoch, l.prev = epoch, nil
		for c, s := range l.sums {
			s.prev = 0
			l.sums[c] = s
		}
	}
	all, mine := map[cell]int64{}, map[cell]int64{}
	prev := make(map[cell]int64, len(totals))
	for c, v := range totals {
		all[c.unnamed()] += v
		prev[c] = max(v, l.prev[c])
		if grown := prev[c] - l.prev[c]; named(c) {
			l.own[c] += grown
		}
	}
	for c, v := range l.own {
		mine[c.unnamed()] += v
		if _, there := totals[c]; !there && l.prev[c] > 0 {
			prev[c] = l.prev[c] // it may come back
		}
	}
	l.prev = prev
	for c, v := range all {
		s := l.sums[c]
		s.total += max(0, v-s.prev)
		s.prev = max(v, s.prev)
		s.others = max(s.others, s.total-mine[c])
		l.sums[c] = s
	}
}

// counters adds the counters that are not 0 to values, and returns their cells, sorted by name, kind
// and part.
func (l *ledger) counters(values map[cell]int64) (cells []cell) {
	add := func(c cell, v int64) {
		if v > 0 {
			values[c] = v
			cells = append(cells, c)
		}
	}
	for c, v := range l.own {
		add(c, v)
	}
	for c, s := range l.sums {
		c.name = Others
		add(c, s.others)
	}
	order.Stable(cells, compareCells)
	return cells
}

// names is the set of names with their own counters: the largest ones when there was room.
type names struct {
	limit int
	known map[cell]bool // cells with a name and a kind only
}

// elect gives counters to the largest names without one while there is room.
func (n *names) elect(sizes map[cell]int64) {
	if n.known == nil {
		n.known = map[cell]bool{}
	}
	if len(n.known) >= n.limit {
		return
	}
	candidates := slices.Collect(maps.Keys(sizes))
	order.Stable(candidates, func(a, b cell) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), compareCells(a, b))
	})
	for _, c := range candidates {
		// Such as goroutines of the runtime that only wait.
		if len(n.known) >= n.limit || sizes[c] <= 0 {
			return
		}
		if !collective(c.name) {
			n.known[c] = true
		}
	}
}

// has reports whether the name of a cell has its own counters.
func (n *names) has(c cell) bool { return n.known[cell{name: c.name, kind: c.kind}] }

// collective reports whether a name stands for folded groups, such as "12 others (gc)". Such names
// come and go.
func collective(name string) bool {
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
	return name == Others || digits > 0 && (name[digits:] == " others" || strings.HasPrefix(name[digits:], " others ("))
}
