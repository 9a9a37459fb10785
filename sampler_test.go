package bottleneck

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// phase is a time in which a simulated program behaves the same: a group has a constant share, and
// continuous tracing costs a constant number of processors.
type phase struct {
	length      time.Duration
	share, cost float64
}

// simulation runs the sampler against phases on a simulated clock. Reading proceeds at the rate of
// the budget, as in the stream.
type simulation struct {
	rng     *rand.Rand
	phases  []phase
	budget  float64
	sampler sampler

	at     time.Duration
	queue  []simulated     // not read yet
	read   time.Duration   // the time that was read
	bursts []simulatedShow // in order
	spent  float64         // s
	worst  float64         // beyond the budget, s
}

type simulated struct{ cost, bytes float64 }

type simulatedShow struct {
	planned burst
	share   float64
}

const simulatedPerByte = 60e-9 // s

// between returns the mean share and the cost from a to b.
func (s *simulation) between(a, b time.Duration) (share, cost float64) {
	var start time.Duration
	for _, p := range s.phases {
		if d := min(b, start+p.length) - max(a, start); d > 0 {
			share += p.share * float64(d)
			cost += p.cost * d.Seconds()
		}
		start += p.length
	}
	return share / float64(b-a), cost
}

// until reads the queue until time t.
func (s *simulation) until(t time.Duration) {
	for len(s.queue) > 0 {
		q := s.queue[0]
		ends := s.read + time.Duration(q.cost/s.budget*1e9)
		if ends > t {
			return
		}
		s.spent += q.cost
		s.worst = max(s.worst, s.spent-s.budget*ends.Seconds())
		s.sampler.read(time.Duration(q.cost*1e9), int64(q.bytes))
		s.read, s.queue = ends, s.queue[1:]
	}
	s.read = t
}

func (s *simulation) pending() (bytes int64) {
	for _, q := range s.queue {
		bytes += int64(q.bytes)
	}
	return bytes
}

// run samples until the phases end, and returns the true share up to the end of the last burst.
func (s *simulation) run() float64 {
	var end time.Duration
	for _, p := range s.phases {
		end += p.length
	}
	for b := (burst{burstLength, 1}); ; {
		s.at += time.Duration(s.rng.ExpFloat64() * float64(b.gap()))
		if s.at+b.length > end {
			break
		}
		share, cost := s.between(s.at, s.at+b.length)
		s.bursts = append(s.bursts, simulatedShow{b, share})
		s.at += b.length
		s.until(s.at)
		cost += 20e-6
		s.queue = append(s.queue, simulated{cost, cost / simulatedPerByte})
		s.sampler.traced(b.length, int64(cost/simulatedPerByte))
		b = s.sampler.plan(burstLength, s.budget, s.pending())
	}
	truth, _ := s.between(0, end)
	return truth
}

// group is the group of simulated programs.
const group = "main.busy"

// graph returns the graph of a burst in which the group has a share, and the rest is idle.
func (b simulatedShow) graph() *bottle.Graph {
	d := time.Duration(b.share * float64(b.planned.length))
	return &bottle.Graph{Wall: b.planned.length, Idle: b.planned.length - d, Boxes: []bottle.Box{{Group: group, Kind: bottle.Application, Share: d, Running: d}}}
}

// estimate returns the estimated share of the group, and its error.
func (s *simulation) estimate() (share, err float64) {
	var all sample
	var sum float64
	for _, b := range s.bursts {
		one := newSample(b.graph(), b.planned, b.planned.weight)
		all.add(&one)
		sum += float64(b.planned.weight) * float64(b.planned.length) * b.share
	}
	share = sum / all.stands
	return share, all.error(groupKey{group, bottle.Application}, share)
}

// alternating is a program that hands over 37,000, 170,000 and 1.7 million times a second in
// alternation, at 1.2 µs each for tracing and reading, as measured. The group's share varies
// accordingly.
func alternating(rng *rand.Rand) (phases []phase) {
	for range 60 {
		for _, rate := range []float64{37e3, 170e3, 1.7e6} {
			phases = append(phases, phase{time.Duration((0.5 + rng.Float64()) * 1e9), min(1, 0.1+rate/2e6), rate * 1.2e-6})
		}
	}
	return phases
}

// heavyTailed is a program whose phases cost between almost nothing and 4 processors, by a
// distribution without a variance, and whose share varies accordingly.
func heavyTailed(rng *rand.Rand) (phases []phase) {
	for range 200 {
		cost := min(4, 0.1*math.Pow(1-rng.Float64(), -1/1.2))
		phases = append(phases, phase{time.Duration(rng.ExpFloat64() * 1e9), 1 - math.Exp(-3*cost), cost})
	}
	return phases
}

// steady is a program that never changes.
func steady(*rand.Rand) []phase { return []phase{{3 * time.Minute, 0.4, 0.3}} }

// TestSampledShareIsUnbiased: over many runs, the mean of the estimated share is the true share.
// The 95 % interval contains it nearly as often. Reading stays within its budget and
// keeps up, whatever busy times cost.
func TestSampledShareIsUnbiased(t *testing.T) {
	for name, c := range map[string]struct {
		program func(*rand.Rand) []phase
		budget  float64
	}{
		"alternating": {alternating, 0.04}, "alternating, half the budget": {alternating, 0.02}, "heavy-tailed": {heavyTailed, 0.04},
		"heavy-tailed, half the budget": {heavyTailed, 0.02}, "steady": {steady, 0.04},
		"alternating, for 20 s":  {func(rng *rand.Rand) []phase { return alternating(rng)[:20] }, 0.04},
		"heavy-tailed, for 20 s": {func(rng *rand.Rand) []phase { return heavyTailed(rng)[:20] }, 0.04},
	} {
		runs := max(testenv.Rounds(600), 200) // of fewer, too many may be wrong by chance
		var off, off2, width, biased, seen float64
		var within, n int
		for seed := range uint64(runs) {
			rng := rand.New(rand.NewPCG(seed, 1))
			s := simulation{rng: rng, budget: c.budget, phases: c.program(rng)}
			truth := s.run()
			share, err := s.estimate()
			off += share - truth
			off2 += (share - truth) * (share - truth)
			width += err
			if math.Abs(share-truth) <= err+1e-9 {
				within++
			}
			for _, b := range s.bursts {
				biased += (b.share - truth) / float64(len(s.bursts))
				seen += b.planned.length.Seconds() / s.at.Seconds()
			}
			n += len(s.bursts)
			if s.worst > 1e-6 {
				t.Fatalf("%s: %.3f s of processor time beyond the budget", name, s.worst)
			}
			if rest := s.pending(); float64(rest)*simulatedPerByte > 60*c.budget {
				t.Errorf("%s, seed %d: more than a minute's worth waits to be read: %.1f s of processor time", name, seed, float64(rest)*simulatedPerByte)
			}
		}
		of := float64(runs)
		mean, se := off/of, math.Sqrt(off2/of/of)
		t.Logf("%-30s %.0f bursts a run, %.1f %% of the time, off by %+.3f ± %.3f on average (%.3f by itself), without weights %+.3f; interval ± %.3f, right in %.1f %%",
			name, float64(n)/of, 100*seen/of, mean, 1.96*se, math.Sqrt(off2/of), biased/of, width/of, 100*float64(within)/of)
		if math.Abs(mean) > 4*se+0.005 {
			t.Errorf("%s: off by %+.4f ± %.4f on average: not fair", name, mean, se)
		}
		if within < runs*90/100 {
			t.Errorf("%s: the interval is right in %d of %d runs", name, within, runs)
		}
	}
}
