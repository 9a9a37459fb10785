package granularity

import (
	"context"
	"math"
	"slices"
	"testing"
)

// The part before and the part after sum to the whole.
func TestSince(t *testing.T) {
	rec := recorder(10_000) // so that all are measured
	ctx := WithRecorder(context.Background(), rec)
	do := func(class string, n, steps int) {
		for range n {
			Do(ctx, class, func(context.Context) error { compute(steps); return nil })
		}
	}
	do("both", 300, 10)
	do("before", 5, 100)
	first := rec.Profile()
	do("both", 200, 10_000)
	do("after", 7, 100)
	whole := rec.Profile()
	later := whole.Since(first)
	if later.Wall != whole.Wall-first.Wall || len(later.Log) != 207 {
		t.Errorf("%v after %v of %v; %d in the log", later.Wall, first.Wall, whole.Wall, len(later.Log))
	}
	want := map[string]uint64{"both": 200, "after": 7}
	if len(later.Classes) != len(want) {
		t.Errorf("%d classes; want %d", len(later.Classes), len(want))
	}
	for name, n := range want {
		c := classNamed(t, later, name)
		if c.Tasks != n || c.Cycles.Count() != n || c.WallNS.Count() != n {
			t.Errorf("%s: %d tasks, %d, %d; want %d", name, c.Tasks, c.Cycles.Count(), c.WallNS.Count(), n)
		}
		var all []uint64
		var sum float64
		for _, task := range later.Log {
			if task.Class == name {
				all, sum = append(all, task.Cycles), sum+float64(task.Cycles)
			}
		}
		slices.Sort(all)
		if middle := float64(all[(len(all)-1)/2]); math.Abs(c.Cycles.Quantile(.5)-middle) > 0.02*middle+2 || c.Cycles.Sum() != sum {
			t.Errorf("%s: median %g, sum %g; the log has %g, %g", name, c.Cycles.Quantile(.5), c.Cycles.Sum(), middle, sum)
		}
	}
}

// What happened before the earlier profile is not in the later one.
func TestSinceSubtractsTheRun(t *testing.T) {
	earlier := &Profile{Run: Sample{Wall: 4, CPU: 3, Throttles: 2, Throttled: 3, Ready: 9}}
	later := &Profile{Run: Sample{Wall: 10, CPU: 8, Throttles: 5, Throttled: 7, Ready: 8}}
	got := later.Since(earlier).Run
	got.Utilization = 0
	if want := (Sample{Wall: 6, CPU: 5, Throttles: 3, Throttled: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
