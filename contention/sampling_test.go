package contention

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Weights are what makes the estimate unbiased: a wait counts once on average, and the
// weights of waits vary as Σ w(w-1) says, whatever w is chosen meanwhile.
func TestSamplingIsUnbiased(t *testing.T) {
	const waits = 400_000
	var st state
	at := now() + int64(time.Hour) // ahead of the looks at the true clock
	var sum, variance float64
	var most uint32
	for i := range waits {
		w := float64(st.weigh(st.draw()))
		sum += w
		variance += w * (w - 1)
		at += 5_000
		if w > 0 {
			// Waits are the dearer, the later they are, so that w grows: to some 64, of which enough
			// are drawn for sums to be normally distributed.
			st.arrivals.Add(1)
			st.seq.Add(1 + uint64(i/20_000))
			at += 15_000
		}
		st.reconsider(at)
		most = max(most, st.sampling.rest.Load()+1)
	}
	if most < 8 {
		t.Fatalf("w was never above %d: nothing is tested", most)
	}
	if z := (sum - waits) / math.Sqrt(variance); math.Abs(z) > 5 {
		t.Errorf("%d waits count %.0f ± %.0f, %.1f standard errors off", waits, sum, math.Sqrt(variance), z)
	}
}

// The standard error of a row is what estimates of the same truth differ by.
func TestStandardErrorOfSamples(t *testing.T) {
	const runs, waits = 400, 3000
	var off, predicted float64
	rng := rand.New(rand.NewPCG(1, 2))
	for range runs {
		var st state
		st.sampling.rest.Store(15)
		var truth, estimate, variance float64
		for range waits {
			y := rng.ExpFloat64()
			truth += y
			w := float64(st.weigh(st.draw()))
			estimate += w * y
			variance += w * (w - 1) * y * y
		}
		off += (estimate - truth) * (estimate - truth)
		predicted += variance
	}
	// A sum of 400 squares is within 5·√(2/400) = 35 % of its mean.
	if r := off / predicted; r < 0.6 || r > 1.4 {
		t.Errorf("squared errors are %.2f times what the rows say", r)
	}
}

func TestChoose(t *testing.T) {
	const ms = int64(time.Millisecond)
	var s sampling
	s.choose(ms/100, ms)
	if w := s.rest.Load() + 1; w != 1 {
		t.Errorf("1 %% of the time: w = %d", w)
	}
	s.choose(ms/2, ms)
	if w := s.rest.Load() + 1; w != 64 {
		t.Errorf("50 %% of the time, so at most 1/64 for %.0f %%: w = %d", 100*budget, w)
	}
	s.choose(ms/128, ms) // as much as before
	if w := s.rest.Load() + 1; w != 64 {
		t.Errorf("the same load: w = %d", w)
	}
	for range 30 {
		s.choose(exitCost+waitCost, maxPeriod) // silence
	}
	if w := s.rest.Load() + 1; w != 1 {
		t.Errorf("hardly a wait: w = %d", w)
	}
}

// A lock that was hot, and then hardly ever waited for, comes back to exact recording.
func TestSamplingEnds(t *testing.T) {
	var st state
	st.sampling.rest.Store(1<<10 - 1)
	st.sampling.began.Store(now() - maxPeriod)
	for i := 0; st.sampling.rest.Load() == 1<<10-1; i++ {
		if st.weigh(st.draw()) > 0 || i > 100_000 {
			t.Skip("drawn before it looked at the clock") // 1 in 64 runs, and 10^-2700
		}
	}
	if w := st.sampling.rest.Load() + 1; w >= 1<<10 {
		t.Errorf("w is %d", w)
	}
}
