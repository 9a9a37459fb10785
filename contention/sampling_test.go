package contention

import (
	"math/rand/v2"
	"testing"
	"time"
)

// All waits are recorded while that takes less than the budget, even in bursts. Beyond the budget,
// w doubles until recording takes about the budget. It does not double while too few waits are
// drawn, or before the last change has an effect.
func TestWaitsAreSampledByCost(t *testing.T) {
	const ms = int64(time.Millisecond)
	// run lets seconds pass, in periods of a millisecond. In each, cost returns the cost of
	// recording, given w and the number of the period.
	run := func(s *sampling, seconds int64, drawnAtW1 int64, cost func(w uint32, i int64) int64) (least, most, last uint32, share float64) {
		least, most, last = maxWeight, 1, s.rest.Load()+1
		var spent, drawn, unchanged int64
		for i := range seconds * 1000 {
			c := cost(last, i)
			spent += c
			drawn += drawnAtW1 * (i%int64(last) + 1) / int64(last) / max(1, i%int64(last)) // about drawnAtW1/w
			unchanged += ms
			next := s.choose(last, c, ms, drawn, unchanged)
			if next != last {
				drawn, unchanged = 0, 0
			}
			last = next
			least, most = min(least, last), max(most, last)
		}
		return least, most, last, float64(spent) / float64(seconds*1000*ms)
	}
	for _, c := range []struct {
		what string
		cost func(w uint32, i int64) int64
	}{
		{"0.9 % of the time", func(uint32, int64) int64 { return 9 * ms / 1000 }},
		{"a burst at the start, of 2.4 ms of recording", func(_ uint32, i int64) int64 {
			if i < 3 {
				return 8 * ms / 10
			}
			return 0
		}},
		{"a burst of 2 ms of recording each 0.3 s", func(_ uint32, i int64) int64 {
			if i%300 < 2 {
				return ms
			}
			return 0
		}},
	} {
		if _, most, _, _ := run(new(sampling), 10, 1000, c.cost); most != 1 {
			t.Errorf("%s: w was up to %d, want 1", c.what, most)
		}
	}
	for _, c := range []struct {
		what        string
		cost        func(w uint32, i int64) int64
		least, most uint32
	}{
		{"recording all takes 10 %", func(w uint32, _ int64) int64 { return ms / 10 / int64(w) }, 4, 16},
		{"recording all takes 100 %", func(w uint32, _ int64) int64 { return ms / int64(w) }, 64, 128},
		{"80 %, half of it taken as soon as a few are drawn", func(w uint32, _ int64) int64 {
			return 8 * ms / 10 / max(1, int64(w)/32)
		}, 1 << 10, 1 << 11},
	} {
		s := new(sampling)
		if _, most, last, _ := run(s, 2, 100_000, c.cost); most > c.most || last < c.least {
			t.Errorf("%s: w was up to %d and is %d, want %d to %d", c.what, most, last, c.least, c.most)
		}
		s.rest.Store(c.least - 1)
		if _, _, _, share := run(s, 10, 100_000, c.cost); share < budget/2 || share > 1.5*budget {
			t.Errorf("%s: recording took %.2f %% of the time", c.what, 100*share)
		}
	}
	s := new(sampling)
	if _, most, _, _ := run(s, 10, 0, func(uint32, int64) int64 { return ms }); most > 2 {
		t.Errorf("w = %d, although no wait was drawn", most)
	}
	s = new(sampling)
	s.owed = 2 * advance
	if w := s.choose(64, ms, ms, 0, ms); w != 64 {
		t.Errorf("w = %d before a wait drawn with the last one was over", w)
	}
}

// A lock that was hot and then has few waits returns to recording all of them.
func TestSamplingEnds(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	s := &st.sampling
	s.rest.Store(1<<10 - 1)
	at := now()
	s.began.Store(at - 2*int64(time.Second))
	a.timed(&wait{start: 1, end: 1 + 10})
	st.reconsider(at)
	if w := s.rest.Load() + 1; w != 1 {
		t.Errorf("w is %d", w)
	}
}

// Waits that are not drawn are in the totals, to the nanosecond. The profile is marked as sampled
// even if no wait was drawn.
func TestProfileIsSampledEvenIfNoWaitWasDrawn(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	for i := range int64(100) {
		a.timed(&wait{start: 1, end: 1 + i*i*i})
	}
	p := Snapshot()
	checkConservation(t, p)
	if p.Accuracy != Sampled || len(p.Warnings) == 0 {
		t.Errorf("accuracy %s, warnings %q", p.Accuracy, p.Warnings)
	}
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 100 || p.Waits[0].Waited != 99*99*100*100/4 || p.Waits[0].Unattributed != p.Waits[0].Waited {
		t.Errorf("%+v", p.Waits)
	}
	if later := Snapshot(); len(later.Waits) != 1 || later.Waits[0].Waited != p.Waits[0].Waited {
		t.Errorf("a second snapshot has %+v", later.Waits)
	}
}

// A drawn wait represents the waits of its length. The rest of their time carries over to the next
// one.
func TestDrawnWaitRepresentsWaitsOfItsLength(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	for _, took := range []int64{5000, 6000, 7000, 500_000} {
		a.timed(&wait{start: 1, end: 1 + took})
	}
	w := wait{start: 1, end: 5001, weight: 1, count: 1}
	a.represent(&w)
	if w.count != 4 || w.weight != 4 { // 18000 is 3 times 5000 and a rest of 3000
		t.Errorf("stands for %d waits, and %d times its time", w.count, w.weight)
	}
	w = wait{start: 1, end: 800_001, weight: 1, count: 1}
	a.represent(&w)
	if w.count != 2 || w.weight != 1 { // the rest of 500 µs
		t.Errorf("stands for %d waits, and %d times its time", w.count, w.weight)
	}
	p := Snapshot()
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 0 || p.Waits[0].Waited != 503_000 {
		t.Errorf("%+v", p.Waits)
	}
}

func TestStrata(t *testing.T) {
	for ns, want := range map[int64]int{0: 0, 1023: 0, 1024: 1, 4095: 1, 4096: 2, 16384: 3, 1 << 40: lengths - 1} {
		if got := stratum(ns); got != want {
			t.Errorf("stratum of %d is %d, want %d", ns, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		x := 1024 + rng.Int64N(1<<30)
		if y := 4*x - 1; stratum(y) > stratum(x)+1 || stratum(y) < stratum(x) {
			t.Errorf("%d and %d", x, y)
		}
	}
}
