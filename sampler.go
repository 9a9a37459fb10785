package bottleneck

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Unbiased sampling
//
// Continuous traces the program in bursts. Burst i shows a time L_i, after a gap drawn from the
// exponential distribution with mean m_i. Both are chosen at the end of burst i−1 from the costs of
// the bursts so far; later events have no influence. So at each instant of the gap, the burst
// begins with probability dt/m_i, whatever the program does then. If x_i is a total in the burst (a
// time, a number of waits), (m_i/L_i)·x_i is an unbiased estimate of that total in the gap (Horvitz
// and Thompson). Together with x_i itself, which is known, burst i stands for k_i = m_i/L_i + 1
// times what it shows. m_i is chosen so that k_i is an integer, which avoids rounding when results
// are weighted:
//
//	total = Σ k_i·x_i                      over all bursts
//	share = Σ W_i·s_i / Σ W_i              W_i = k_i·L_i, s_i the share in burst i: a ratio estimate
//	error = t · √( n/(n−1) · Σ m_i²·(s_i − share)² ) / Σ W_i,     n = (Σ m_i)² / Σ m_i²
//
// error is half the width of the 95 % confidence interval: the bursts are clusters, so the interval
// depends on how they differ from each other. n is the effective number of bursts, which is smaller
// if weights differ (Kish), and t is the quantile of Student's distribution with n−1 degrees of
// freedom. The first burst begins at once, and stands only for itself: m_1 = 0.
//
// Expensive bursts make the following ones rarer and shorter. Costs are smoothed over the last
// bursts, so that weights differ no more than necessary.

const (
	// burstLength is the length of a burst. Bursts are shortened, down to shortestBurst, if
	// they cost so much that longer ones would be further apart than rareBursts.
	burstLength   = 100 * time.Millisecond
	shortestBurst = burstLength / 4
	rareBursts    = 4 * time.Second
	// leastWeight bounds the share of the time in which the program is traced: 1/8.
	leastWeight = 8
	// longestStand bounds the time that a burst stands for.
	longestStand = 5 * time.Minute
	// usedBudget is the share of the budget for which bursts are planned. The rest absorbs
	// random variation, so that the backlog can shrink again.
	usedBudget = 0.7
	// firstPerByte is the assumed cost of reading a byte of a trace, in ns, before it has been
	// measured. Most traces cost 20 to 60.
	firstPerByte = 60
	// memory is the number of bursts over which costs are smoothed, and the number of gaps in
	// which the current backlog is to be read.
	memory = 8
)

// burst is a planned burst: it shows length, and stands for weight times that.
type burst struct {
	length time.Duration
	weight int
}

// gap returns the mean of the gap before the burst.
func (b burst) gap() time.Duration { return time.Duration(b.weight-1) * b.length }

// draw returns a random gap before the burst.
func (b burst) draw() time.Duration { return time.Duration(rand.ExpFloat64() * float64(b.gap())) }

// seen returns the weight of a burst of this length: it stands for its gap and for itself.
func (b burst) seen(length time.Duration) int {
	if length <= 0 || length >= b.length {
		return b.weight
	}
	return max(1, int(math.Round(float64(b.gap()+length)/float64(length))))
}

// sampler plans bursts.
type sampler struct {
	rate    float64 // CPU time per time of continuous tracing; 0 if unknown
	perByte float64 // in ns; 0 if unknown
}

// traced records the size of the trace of a burst.
func (s *sampler) traced(length time.Duration, bytes int64) {
	perByte := s.perByte
	if perByte == 0 {
		perByte = firstPerByte
	}
	smooth(&s.rate, perByte*float64(bytes)/float64(length))
}

// read records the cost of a burst.
func (s *sampler) read(cpu time.Duration, bytes int64) {
	if cpu > 0 && bytes > 0 {
		smooth(&s.perByte, float64(cpu)/float64(bytes))
	}
}

func smooth(v *float64, now float64) {
	if *v == 0 {
		*v = now
		return
	}
	*v += (now - *v) / memory
}

// plan returns the next burst, of at most the given length. budget is the CPU time allowed per
// second, negative for no limit, and pending is the number of bytes that wait to be read.
func (s *sampler) plan(length time.Duration, budget float64, pending int64) burst {
	b := burst{length, leastWeight}
	if budget < 0 {
		return b
	}
	waits := s.perByte * float64(pending) / memory
	stands := func() float64 { return (s.rate*float64(b.length)/usedBudget + waits) / budget }
	for stands() > float64(rareBursts) && b.length > shortestBurst {
		b.length /= 2
	}
	most := float64(longestStand / b.length)
	b.weight = int(max(leastWeight, min(most, math.Ceil(stands()/float64(b.length)))))
	return b
}

// sample holds the statistics of bursts from which the errors of their shares are estimated.
type sample struct {
	bursts, cut int
	longest     time.Duration // burst
	seen        time.Duration
	stands      float64 // Σ W_i
	gaps, gaps2 float64 // Σ m_i, Σ m_i²
	groups      map[groupKey]moments
}

// groupKey identifies a group; the zero value is the idle time.
type groupKey struct {
	name string
	kind timeline.Kind
}

// moments of a group are Σ m_i²·s_i and Σ m_i²·s_i². A burst without the group adds nothing.
type moments struct{ first, second float64 }

// newSample returns the sample of one burst, given its graph.
func newSample(g *bottle.Graph, planned burst, weight int) sample {
	length := float64(g.Wall)
	m := float64(weight-1) * length
	s := sample{bursts: 1, longest: g.Wall, seen: g.Wall, stands: float64(weight) * length, gaps: m, gaps2: m * m, groups: make(map[groupKey]moments, len(g.Boxes)+1)}
	if g.Wall < planned.length {
		s.cut = 1
	}
	add := func(k groupKey, share time.Duration) {
		x := float64(share) / length
		was := s.groups[k]
		s.groups[k] = moments{was.first + m*m*x, was.second + m*m*x*x}
	}
	add(groupKey{}, g.Idle)
	for i := range g.Boxes {
		if b := &g.Boxes[i]; !b.Folded() {
			add(groupKey{b.Group, b.Kind}, b.Share)
		}
	}
	return s
}

// add adds other bursts.
func (s *sample) add(o *sample) {
	s.bursts += o.bursts
	s.cut += o.cut
	s.longest = max(s.longest, o.longest)
	s.seen += o.seen
	s.stands += o.stands
	s.gaps += o.gaps
	s.gaps2 += o.gaps2
	if s.groups == nil {
		s.groups = make(map[groupKey]moments, len(o.groups))
	}
	for k, m := range o.groups {
		was := s.groups[k]
		s.groups[k] = moments{was.first + m.first, was.second + m.second}
	}
}

// keep discards the groups that are not in the graph.
func (s *sample) keep(g *bottle.Graph) {
	kept := make(map[groupKey]moments, len(g.Boxes)+1)
	keep := func(k groupKey) {
		if m, ok := s.groups[k]; ok {
			kept[k] = m
		}
	}
	keep(groupKey{})
	for i := range g.Boxes {
		keep(groupKey{g.Boxes[i].Group, g.Boxes[i].Kind})
	}
	s.groups = kept
}

// error returns half the width of the 95 % confidence interval of a share between 0 and 1. It
// returns at most 1, which means that nothing is known.
func (s *sample) error(k groupKey, share float64) float64 {
	if s.gaps2 == 0 {
		return 0 // all of the time was seen
	}
	n := s.gaps * s.gaps / s.gaps2
	if n < 2 {
		return 1
	}
	m := s.groups[k]
	squares := max(0, m.second-2*share*m.first+share*share*s.gaps2)
	return min(1, student(n-1)*math.Sqrt(n/(n-1)*squares)/s.stands)
}

// student returns the 97.5 % quantile of Student's t distribution, interpolated in 1/df, which
// slightly overestimates it. df is at least 1.
func student(df float64) float64 {
	table := []struct{ df, t float64 }{{1, 12.706}, {2, 4.303}, {3, 3.182}, {4, 2.776}, {6, 2.447}, {10, 2.228}, {30, 2.042}, {math.Inf(1), 1.96}}
	for i := 1; i < len(table); i++ {
		if a, b := table[i-1], table[i]; df <= b.df {
			x := (1/max(df, a.df) - 1/b.df) / (1/a.df - 1/b.df)
			return b.t + x*(a.t-b.t)
		}
	}
	return 1.96
}

// errors sets ShareError of the boxes of a graph and returns the error of its idle time, and the
// largest error as a share between 0 and 1. A box of several groups may have had different groups
// in each burst, so its error is derived only from the fact that the shares sum to the total time.
func (s *sample) errors(g *bottle.Graph) (idle time.Duration, widest float64) {
	of := func(k groupKey, share time.Duration) time.Duration {
		e := s.error(k, float64(share)/float64(g.Wall))
		widest = max(widest, e)
		return time.Duration(e * float64(g.Wall))
	}
	idle = of(groupKey{}, g.Idle)
	sum := idle
	for i := range g.Boxes {
		if b := &g.Boxes[i]; !b.Folded() {
			b.ShareError = of(groupKey{b.Group, b.Kind}, b.Share)
			sum += b.ShareError
		}
	}
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Folded() {
			b.ShareError = min(g.Wall, sum)
		}
	}
	return idle, widest
}
