package series

import (
	"cmp"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// A ledger turns totals that grow into counters with few names.
//
// What is read are totals of any number of names since some beginning, an epoch: a map from cells
// to numbers. What comes out are counters in the sense of Prometheus: they only grow, also when an
// epoch ends and the totals begin at 0 again. Only some names have counters of their own; what the
// others grow by goes to the name [Others].
//
// Three rules keep the counters true:
//
//  1. A name that gets a counter of its own keeps it, and the counter begins with what the name
//     grows by from then on: what it had before stays with the others. So nothing is counted twice.
//  2. What the others have is the difference of the sum of all cells and the counters with names.
//     So it does not matter under which names the source itself adds up what is small ("12 others"
//     today, "13 others" tomorrow): sums of counters are sums of totals.
//  3. Nothing shrinks. A total that is a nanosecond less than before, because shares are rounded
//     so that they sum to the wall time, leaves its counter as it is.
type ledger struct {
	epoch any
	prev  map[cell]int64 // totals, when they were read last
	own   map[cell]int64 // counters of names with one of their own
	sums  map[cell]sum   // by cell without a name
}

// cell is what a total is of. Ledgers that have no kinds or parts leave them empty.
type cell struct{ name, kind, part string }

// sum is the sum of all names of a kind and part.
type sum struct {
	prev   int64 // when it was read last
	total  int64 // of all epochs
	others int64 // the counter of the others
}

// Others is the name under which groups without counters of their own are added up.
const Others = "(others)"

// update takes the totals as they are now. named tells which names have counters of their own: once
// true, always true.
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
		all[cell{kind: c.kind, part: c.part}] += v
		prev[c] = max(v, l.prev[c])
		if grown := prev[c] - l.prev[c]; named(c) {
			l.own[c] += grown
		}
	}
	for c, v := range l.own {
		mine[cell{kind: c.kind, part: c.part}] += v
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

// entry is a counter.
type entry struct {
	cell
	value int64
}

// entries are the counters that are not 0, sorted.
func (l *ledger) entries() (out []entry) {
	for c, v := range l.own {
		if v > 0 {
			out = append(out, entry{c, v})
		}
	}
	for c, s := range l.sums {
		if s.others > 0 {
			c.name = Others
			out = append(out, entry{c, s.others})
		}
	}
	order.Stable(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind), cmp.Compare(a.part, b.part))
	})
	return out
}
