package full

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// simulated is a program with a simulated clock and a number of goroutines at each time, each with
// a cost per sample.
type simulated struct {
	at         time.Duration // since the sampling began
	goroutines func(time.Duration) int
	cost       time.Duration // per goroutine
	taken      []time.Duration
}

func (p *simulated) sampler() *sampler {
	s := newSampler()
	epoch := time.Unix(1e9, 0)
	s.now = func() time.Time { return epoch.Add(p.at) }
	s.sleep = func(ctx context.Context, d time.Duration) error {
		p.at += max(0, d)
		return ctx.Err()
	}
	s.goroutines = func() int { return p.goroutines(p.at) }
	s.records = func(buf []runtime.StackRecord) (int, bool) {
		n := p.goroutines(p.at)
		if n > len(buf) {
			return n, false
		}
		for i := range buf[:n] {
			// The first ten are at one place, all others at another.
			buf[i].Stack0[0] = uintptr(1 + min(i/10, 1))
		}
		p.taken = append(p.taken, p.at)
		p.at += time.Duration(n) * p.cost
		return n, true
	}
	return s
}

// average returns the mean number of goroutines at a place.
func (s *sampler) average(place uintptr) float64 {
	at := s.stacks[[deepStack]uintptr{place}]
	if at == nil {
		return 0
	}
	return float64(at.time) / float64(s.covered)
}

func TestSamplesCostOnePercentOfAProcessor(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 100, 1000, 10_000} {
		for _, cost := range []time.Duration{100, time.Microsecond, 10 * time.Microsecond} {
			p := &simulated{goroutines: func(time.Duration) int { return n }, cost: cost}
			s := p.sampler()
			const d = 50 * time.Second
			if err := s.run(t.Context(), d); err != nil {
				if time.Duration(n)*firstCost > d/100 {
					continue // refused, because one sample would be too expensive
				}
				t.Fatal(n, cost, err)
			}
			// The cost of the first sample is unknown.
			if limit := d/100 + time.Duration(n)*cost; s.spent > limit {
				t.Errorf("%d goroutines of %v: %d samples took %v, want at most %v", n, cost, s.samples, s.spent, limit)
			}
			if rate := float64(s.samples) / d.Seconds(); rate > 99.5 {
				t.Errorf("%d goroutines of %v: %v samples a second", n, cost, rate)
			}
			if s.covered < d*9/10 || s.covered > d+time.Second {
				t.Errorf("%d goroutines of %v: the intervals sum to %v of %v", n, cost, s.covered, d)
			}
			if n == 1 && s.samples < 4900 {
				t.Errorf("few goroutines: %d samples in %v", s.samples, d)
			}
		}
	}
}

// With ten goroutines most of the time and sometimes a thousand, the rates differ a hundredfold.
// The averages are still correct.
func TestWeightsCompensateForTheRate(t *testing.T) {
	t.Parallel()
	crowded := func(at time.Duration) bool { return at%(7*time.Second) >= 5*time.Second }
	sum, runs := 0.0, 0
	for range 5 {
		p := &simulated{cost: 10 * time.Microsecond, goroutines: func(at time.Duration) int {
			if crowded(at) {
				return 1_010
			}
			return 10
		}}
		s := p.sampler()
		if err := s.run(t.Context(), 700*time.Second); err != nil {
			t.Fatal(err)
		}
		if got := s.average(1); math.Abs(got-10) > 1e-9 {
			t.Fatalf("%v goroutines are there all the time, want 10", got)
		}
		sum, runs = sum+s.average(2), runs+1
		unweighted := float64(s.stacks[[deepStack]uintptr{2}].count) / float64(s.samples)
		if unweighted > 150 {
			t.Errorf("the samples have %v goroutines on average: the rate has not followed their number", unweighted)
		}
	}
	if got, want := sum/float64(runs), 1_000.*2/7; math.Abs(got-want) > 0.1*want {
		t.Errorf("%v goroutines come and go, want %v", got, want)
	}
}

// The times of samples have no period, so a periodic program is sampled without bias.
func TestSamplesDoNotFollowThePeriodOfTheProgram(t *testing.T) {
	t.Parallel()
	p := &simulated{cost: time.Microsecond, goroutines: func(at time.Duration) int {
		if at%shortestInterval < shortestInterval/4 {
			return 20
		}
		return 10
	}}
	s := p.sampler()
	if err := s.run(t.Context(), 200*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := s.average(2); got < 2 || got > 3 {
		t.Errorf("%v goroutines, want 2.5", got)
	}
}

func TestSampleCostIsBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{100_000: "ask for seconds=21 or more", 10_000_000: "too many for a wall-clock profile"} {
		p := &simulated{cost: time.Microsecond, goroutines: func(time.Duration) int { return n }}
		err := p.sampler().run(t.Context(), 5*time.Second)
		if err == nil || !strings.Contains(err.Error(), want) || len(p.taken) > 0 {
			t.Errorf("%d goroutines: %v, %d samples", n, err, len(p.taken))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &simulated{cost: time.Microsecond, goroutines: func(time.Duration) int { return 1 }}
	if err := p.sampler().run(ctx, time.Second); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The runtime's samples cost what they cost: with many goroutines there are fewer.
// TestFewSamplesOfManyGoroutines must not run beside tests that sample their own goroutines.
func TestFewSamplesOfManyGoroutines(t *testing.T) {
	release := make(chan struct{})
	done := make(chan struct{}, 4_000)
	for range cap(done) {
		go func() { parked(release); done <- struct{}{} }()
	}
	p, err := wallProfile(t.Context(), time.Second)
	close(release)
	for range cap(done) {
		<-done
	}
	if err != nil {
		t.Fatal(err)
	}
	var samples int
	var time, parked int64
	for _, s := range p.Sample {
		if strings.Contains(s.Label["group"][0], "TestFewSamplesOfManyGoroutines.func1") {
			samples, parked = samples+int(s.Value[0])/cap(done), parked+s.Value[1]
		}
		time += s.Value[1]
	}
	if samples < 1 || samples > 30 {
		t.Errorf("%d samples: %s", samples, p.Comments)
	}
	if got := float64(parked) / float64(p.DurationNanos); math.Abs(got-float64(cap(done))) > 0.05*float64(cap(done)) {
		t.Errorf("%v goroutines, want %d: %s", got, cap(done), p.Comments)
	}
}
