package counters

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// threadTotals says what each thread of a program did, for a program that took no trace: then there
// are no quanta, but what was counted need not be lost. Threads with most processor time come
// first.
func threadTotals(r io.Reader, m *meta) ([]string, error) {
	s, err := readSamples(r, m)
	type total struct {
		id   int64
		time int64
		text string
	}
	var totals []total
	for _, id := range slices.Sorted(maps.Keys(s.threads)) {
		t := s.threads[id]
		var parts []string
		add := func(name string, n int64) { parts = append(parts, fmt.Sprintf("%s %d", name, n)) }
		var on int64
		for _, o := range t.on {
			on += o.to - o.from
		}
		for _, name := range m.Switched {
			switch name {
			case taskClock:
				parts = append(parts, fmt.Sprintf("%s %v", name, time.Duration(on)))
			case ctxSwitches:
				add(name, int64(len(t.left)))
			case preemptions:
				add(name, int64(len(leavings(t, true))))
			case migrations:
				add(name, int64(len(t.moved)))
			}
		}
		for i, e := range m.Hits {
			add(e.Name, int64(len(t.hits[i])))
		}
		for g, events := range m.Groups {
			if n := len(t.readings[g]); n > 0 {
				for i, e := range events {
					add(e.Name, clampInt(t.readings[g][n-1].values[i]))
				}
			}
		}
		totals = append(totals, total{id, on, fmt.Sprintf("thread %d: %s", id, strings.Join(parts, ", "))})
	}
	slices.SortStableFunc(totals, func(a, b total) int { return cmp.Compare(b.time, a.time) })
	var out []string
	for _, t := range totals {
		out = append(out, t.text)
	}
	return out, err
}
