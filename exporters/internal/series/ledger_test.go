package series

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// Random totals with new groups, small ones folded under changing names, restarts and rounding,
// read at random times: counters only grow, are few, and sum to what was counted, to the
// nanosecond.
func TestLedgerAgainstRandomTotals(t *testing.T) {
	for seed := range uint64(testenv.Rounds(200)) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit := 1 + r.IntN(6)
		n := &names{limit: limit}
		var l ledger
		counted := map[string]int64{} // by kind, of all epochs
		program := map[cell]int64{}   // of this epoch
		last := map[cell]int64{}      // counters
		epoch := 0
		for range 60 {
			if r.IntN(12) == 0 {
				epoch++
				clear(program)
			}
			for range r.IntN(10) {
				c := cell{name: fmt.Sprint("g", r.IntN(3+r.IntN(40))), kind: []string{"application", "gc"}[r.IntN(2)]}
				grown := r.Int64N(1000)
				program[c] += grown
				counted[c.kind] += grown
			}
			totals := folded(program, 1+r.IntN(30))
			n.elect(totals)
			l.update(epoch, totals, n.has)
			sums, seen := map[string]int64{}, map[string]int{}
			for _, e := range l.entries() {
				if e.value < last[e.cell] {
					t.Fatalf("seed %d: %v shrinks from %d to %d", seed, e.cell, last[e.cell], e.value)
				}
				last[e.cell] = e.value
				sums[e.kind] += e.value
				seen[e.kind]++
			}
			for kind, want := range counted {
				// Groups that return from a fold may be counted late by name, but
				// never twice.
				if sums[kind] < want || sums[kind] > want+lateness(&l, kind) {
					t.Fatalf("seed %d: %s: the counters sum to %d, counted were %d (%+v)", seed, kind, sums[kind], want, l.entries())
				}
			}
			if total := seen["application"] + seen["gc"]; total > limit+2 {
				t.Fatalf("seed %d: %d counters, %d names", seed, total, limit)
			}
		}
	}
}

// lateness is the maximum lead of the counters of a kind: the value of the others' counter before a
// group left a fold.
func lateness(l *ledger, kind string) (ahead int64) {
	var mine int64
	for c, v := range l.own {
		if c.kind == kind {
			mine += v
		}
	}
	s := l.sums[cell{kind: kind}]
	return max(0, s.others-(s.total-mine))
}

// folded keeps the k largest totals and sums the others, by kind, under a name with their number.
func folded(totals map[cell]int64, k int) map[cell]int64 {
	var cells []cell
	for c := range totals {
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b cell) int {
		if totals[a] != totals[b] {
			return int(totals[b] - totals[a])
		}
		return len(a.name) - len(b.name) + int(a.name[1]) - int(b.name[1])
	})
	out, rest, number := map[cell]int64{}, map[string]int64{}, map[string]int{}
	for i, c := range cells {
		if i < k {
			out[c] = totals[c]
			continue
		}
		rest[c.kind] += totals[c]
		number[c.kind]++
	}
	for kind, v := range rest {
		out[cell{name: fmt.Sprintf("%d others", number[kind]), kind: kind}] = v
	}
	return out
}

// Without folding the sum is exact at any time. A name that gets a counter late starts with its
// growth from then on.
func TestLedgerByHand(t *testing.T) {
	n := &names{limit: 1}
	var l ledger
	a, b := cell{name: "a"}, cell{name: "b"}
	steps := []struct {
		why    string
		epoch  int
		totals map[cell]int64
		want   []entry
	}{
		{"the largest gets a counter", 1, map[cell]int64{a: 10, b: 3}, []entry{{cell{name: Others}, 3}, {a, 10}}},
		{"a keeps it, though b is larger now", 1, map[cell]int64{a: 11, b: 100}, []entry{{cell{name: Others}, 100}, {a, 11}}},
		{"a nanosecond less is a rounding", 1, map[cell]int64{a: 10, b: 101}, []entry{{cell{name: Others}, 100}, {a, 11}}},
		{"it goes on from the largest total", 1, map[cell]int64{a: 13, b: 101}, []entry{{cell{name: Others}, 101}, {a, 13}}},
		{"it starts again", 2, map[cell]int64{a: 1, b: 2}, []entry{{cell{name: Others}, 103}, {a, 14}}},
		{"a is gone, b folded", 2, map[cell]int64{{name: "2 others"}: 5}, []entry{{cell{name: Others}, 105}, {a, 14}}},
		{"a is back", 2, map[cell]int64{a: 4, b: 4}, []entry{{cell{name: Others}, 105}, {a, 17}}},
	}
	for _, s := range steps {
		n.elect(s.totals)
		l.update(s.epoch, s.totals, n.has)
		if got := l.entries(); !slices.Equal(got, s.want) {
			t.Errorf("%s: %v, want %v", s.why, got, s.want)
		}
	}
}

// A new name with a counter of its own starts at 0, so that nothing is counted twice.
func TestLateName(t *testing.T) {
	n := &names{limit: 0}
	var l ledger
	a := cell{name: "a"}
	l.update(1, map[cell]int64{a: 10}, n.has)
	n.limit = 1
	n.elect(map[cell]int64{a: 15})
	l.update(1, map[cell]int64{a: 15}, n.has)
	if got := l.entries(); !slices.Equal(got, []entry{{cell{name: Others}, 10}, {a, 5}}) {
		t.Errorf("%v", got)
	}
}

func TestCollective(t *testing.T) {
	for name, want := range map[string]bool{"12 others": true, "12 others (gc)": true, "(others)": true, "others": false, "12 otherwise": false, "main.others": false, "1": false, "": false} {
		if collective(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// entry is a counter.
type entry struct {
	cell
	value int64
}

func (l *ledger) entries() (out []entry) {
	values := map[cell]int64{}
	for _, c := range l.counters(values) {
		out = append(out, entry{c, values[c]})
	}
	return out
}
