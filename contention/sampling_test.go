package contention

import (
	"math/rand/v2"
	"testing"
	"time"
)

// w follows what recording costs and how many waits there are, which is known also if none was drawn.
func TestWaitsAreSampledByCost(t *testing.T) {
	const ms = int64(time.Millisecond)
	choose := func(s *sampling, cost, drawn, all, period int64) uint32 {
		s.choose(cost, drawn, all, period)
		return s.rest.Load() + 1
	}
	for _, c := range []struct {
		what                     string
		cost, drawn, all, period int64
		want                     uint32
	}{
		{"0.9 % of the time", 9 * ms / 1000, 100, 100, ms, 1},
		{"long waits of 64 goroutines, whatever they sum to, that cost 0.9 %", 9 * ms / 10, 3000, 3000, 100 * ms, 1},
		{"50 % of the time, so at most 1/100 for 0.5 %", ms / 2, 1000, 1000, ms, 128},
		{"the same, of which 1/64 was drawn", ms / 128, 16, 1000, ms, 128},
		{"few waits of which each costs much: some are drawn every second", 50 * ms, 40, 40, 100 * ms, 64},
	} {
		if w := choose(new(sampling), c.cost, c.drawn, c.all, c.period); w != c.want {
			t.Errorf("%s: w = %d, want %d", c.what, w, c.want)
		}
	}
	// If none is drawn, w stays what it was, rather than to grow without end.
	var s sampling
	hot := choose(&s, ms/2, 1000, 1000, ms)
	for range 100 {
		if w := choose(&s, 0, 0, 1000, ms); w != hot {
			t.Fatalf("w = %d after a period in which none was drawn, want %d", w, hot)
		}
	}
	if w := choose(&s, 0, 0, 10, 100*ms); w != 1 {
		t.Errorf("hardly a wait: w = %d", w)
	}
}

// A lock that was hot, and then hardly ever waited for, comes back to recording all.
func TestSamplingEnds(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	s := &st.sampling
	s.rest.Store(1<<10 - 1)
	s.each = 1000
	at := now()
	s.began.Store(at - maxPeriod)
	a.timed(st, kindMutex, 10, at)
	if w := s.rest.Load() + 1; w != 1 {
		t.Errorf("w is %d", w)
	}
}

// Waits that are not drawn are in the totals, to the nanosecond, and the profile says that it is sampled, even if none was drawn.
func TestProfileSaysSampledThoughNoneWasDrawn(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	for i := range int64(100) {
		a.timed(st, kindMutex, i*i*i, 1000)
	}
	p := Snapshot()
	checkConservation(t, p)
	if p.Accuracy != Sampled || len(p.Warnings) == 0 {
		t.Errorf("accuracy %s, warnings %q", p.Accuracy, p.Warnings)
	}
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 100 || p.Waits[0].Waited != 99*99*100*100/4 || p.Waits[0].Unattributed != p.Waits[0].Waited {
		t.Errorf("%+v", p.Waits)
	}
	later := Snapshot().Since(p)
	if len(later.Waits) != 0 {
		t.Errorf("a second snapshot has them again: %+v", later.Waits)
	}
}

// A drawn wait stands for those of its length, and what is left of their time goes on to the next.
func TestDrawnWaitStandsForThoseOfItsLength(t *testing.T) {
	collecting(t, Options{})
	st := new(Mutex).state()
	a := st.accountOf(current.Load())
	for _, took := range []int64{5000, 6000, 7000, 2_000_000} {
		a.timed(st, kindMutex, took, 1)
	}
	w := wait{start: 1, end: 5001, weight: 1, count: 1}
	a.represent(&w)
	if w.count != 4 || w.weight != 4 { // 18000 are 3 times 5000, and 3000 are left
		t.Errorf("stands for %d waits, and %d times its time", w.count, w.weight)
	}
	w = wait{start: 1, end: 3_000_001, weight: 1, count: 1}
	a.represent(&w)
	if w.count != 2 || w.weight != 1 { // the 2 ms are left
		t.Errorf("stands for %d waits, and %d times its time", w.count, w.weight)
	}
	p := Snapshot()
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 0 || p.Waits[0].Waited != 2_003_000 {
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
