package granularity

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// SweepOptions configures [Sweep]. The zero value is ready to use.
type SweepOptions struct {
	// Runs is the number of runs for each number of tasks, 10 if less than 3.
	Runs int
	// Least is the smallest number of tasks to try, 1 if 0.
	Least int
	// Counts are the numbers of tasks to compare, such as the one that a diagnosis advises,
	// instead of halves. They may be larger.
	Counts []int
}

// SweepPoint is the result for one number of tasks.
type SweepPoint struct {
	Tasks int
	Times []time.Duration // of the runs, in order
	Mean  time.Duration   // geometric
	// Speedup is the ratio to the first number of tasks, by geometric means; [Low, High] is its
	// 95 % confidence interval.
	Speedup, Low, High float64
}

// SweepResult has one point for each number of tasks, in the order of trying: largest first, unless
// Counts was set.
type SweepResult []SweepPoint

// Sweep runs a workload cut into tasks, tasks/2, tasks/4, … tasks and compares the
// times, as tables 10 to 12 of the paper do:
//
//	result := granularity.Sweep(570, func(tasks int) { analyse(files, tasks) }, granularity.SweepOptions{})
//	fmt.Print(result)
//
// The runs of all numbers of tasks are interleaved, so that a change of the machine's speed affects
// all of them alike; one round before the first is not counted. The intervals are Welch's t
// intervals on the logarithms of the times, which assume that relative errors are approximately
// normal. It panics if tasks is less than 1; a panic in run passes through.
func Sweep(tasks int, run func(tasks int), opts SweepOptions) SweepResult {
	if tasks < 1 {
		panic("granularity: Sweep of less than one task")
	}
	if opts.Runs < 3 {
		opts.Runs = 10
	}
	var result SweepResult
	for _, n := range opts.counts(tasks) {
		result = append(result, SweepPoint{Tasks: n})
	}
	for turn := range opts.Runs + 1 {
		for i := range result {
			p := &result[(i+turn)%len(result)]
			from := monotime.Now()
			run(p.Tasks)
			if took := time.Duration(monotime.Now() - from); turn > 0 {
				p.Times = append(p.Times, max(took, 1))
			}
		}
	}
	for i := range result {
		result[i].compare(result[0].Times)
	}
	return result
}

// counts returns the numbers of tasks to try; the first is the base.
func (opts *SweepOptions) counts(tasks int) []int {
	out := []int{tasks}
	if len(opts.Counts) > 0 {
		return append(out, opts.Counts...)
	}
	for n := tasks / 2; n >= max(opts.Least, 1); n /= 2 {
		out = append(out, n)
	}
	return out
}

// compare computes the speed-up against the base.
func (p *SweepPoint) compare(base []time.Duration) {
	m0, v0 := logMoments(base)
	m1, v1 := logMoments(p.Times)
	p.Mean = time.Duration(math.Exp(m1))
	p.Speedup = math.Exp(m0 - m1)
	if &base[0] == &p.Times[0] {
		p.Low, p.High = 1, 1 // the base itself
		return
	}
	n0, n1 := float64(len(base)), float64(len(p.Times))
	a, b := v0/n0, v1/n1 // variances of the means
	half := 0.0
	if a+b > 0 {
		df := (a + b) * (a + b) / (a*a/(n0-1) + b*b/(n1-1)) // Welch, Satterthwaite
		half = t975(df) * math.Sqrt(a+b)
	}
	p.Low, p.High = math.Exp(m0-m1-half), math.Exp(m0-m1+half)
}

// logMoments returns the mean and the sample variance of the logarithms.
func logMoments(times []time.Duration) (mean, variance float64) {
	for _, t := range times {
		mean += math.Log(float64(t))
	}
	mean /= float64(len(times))
	for _, t := range times {
		d := math.Log(float64(t)) - mean
		variance += d * d
	}
	return mean, variance / float64(len(times)-1)
}

// t975 returns the 97.5 % quantile of Student's t distribution, with degrees of freedom rounded
// down, so the interval is never too narrow.
func t975(df float64) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}
	n := math.Floor(df + 1e-9)
	if n < 1 {
		n = 1
	}
	if n <= float64(len(table)) {
		return table[int(n)-1]
	}
	return 1.95996 + 2.37/n + 2.8/(n*n) // within 0.001 from 30 on
}

// Best returns the fastest point whose interval lies wholly above 1, or the first
// point if there is none.
func (r SweepResult) Best() SweepPoint {
	best := r[0]
	for _, p := range r[1:] {
		if p.Low > 1 && p.Speedup > best.Speedup {
			best = p
		}
	}
	return best
}

// String returns a text table, one line for each number of tasks.
func (r SweepResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %12s %9s  %s\n", "tasks", "time", "speed-up", "95 % interval")
	for _, p := range r {
		fmt.Fprintf(&b, "%8d %12s %8.2fx  %.2f – %.2f\n", p.Tasks, duration(float64(p.Mean)), p.Speedup, p.Low, p.High)
	}
	return b.String()
}
