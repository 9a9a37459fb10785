// Package sweep compares the times of a workload, and its tasks, by a parameter such as the number of
// tasks that it is cut into.
package sweep

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
	"github.com/bottleneck-go/bottleneck/result"
)

// Point is the result for one number of tasks, or for one value of another parameter.
type Point struct {
	Value string          // of the parameter
	Tasks int             // if that is the parameter
	Times []time.Duration // of the runs, in order
	Mean  time.Duration   // geometric
	// Speedup is the ratio to the first number of tasks, by geometric means; [Low, High] is its
	// 95 % confidence interval.
	Speedup, Low, High float64
	// Profile has the tasks of one run; nil if they were not measured.
	Profile *granularity.Profile
}

// Run runs a workload cut into different numbers of tasks and compares the times, as tables 10 to
// 12 of the paper do. The first number is the base, and each is run as often as runs:
//
//	points := sweep.Run(10, func(tasks int) { analyse(files, tasks) }, 570, 285, 16)
//	text.WriteTable(os.Stdout, sweep.Table("tasks", points), text.Options{})
//
// The runs of all numbers of tasks are interleaved; one round before the first is not counted. The
// intervals are Welch's t intervals on the logarithms of the times. At least three runs are made. It
// panics if a number of tasks is less than 1, or none is given.
func Run(runs int, run func(tasks int), counts ...int) []Point {
	if len(counts) == 0 || slices.Min(counts) < 1 {
		panic("sweep: less than one task")
	}
	points := make([]Point, len(counts))
	for turn := range max(runs, 3) + 1 {
		for i := range points {
			i = (i + turn) % len(points)
			p := &points[i]
			p.Tasks, p.Value = counts[i], strconv.Itoa(counts[i])
			from := monotime.Now()
			run(p.Tasks)
			if took := time.Duration(monotime.Now() - from); turn > 0 {
				p.Times = append(p.Times, max(took, 1))
			}
		}
	}
	compare(points)
	return points
}

// compare computes Mean, Speedup, Low and High of all points from their Times.
func compare(points []Point) {
	for i := range points {
		points[i].compare(points[0].Times)
	}
}

// compare computes the speed-up against the base.
func (p *Point) compare(base []time.Duration) {
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
	if min(n0, n1) < 2 {
		half = math.Inf(1)
	} else if a+b > 0 {
		df := (a + b) * (a + b) / (a*a/(n0-1) + b*b/(n1-1)) // Welch, Satterthwaite
		half = stats.InvCDF(stats.TDist{V: df})(0.975) * math.Sqrt(a+b)
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
	return mean, variance / float64(max(1, len(times)-1))
}

// workOf returns how many tasks the profile has, how long they executed together, and what their
// overhead adds to that.
func workOf(p *granularity.Profile) (tasks, executed, overhead float64) {
	for i := range p.Classes {
		c := &p.Classes[i]
		took, _ := p.Duration(p.Granularity(c).Sum())
		tasks += float64(c.Tasks)
		executed += float64(took)
	}
	return tasks, executed, tasks * float64(p.Overhead)
}

// predicted returns the time of a point: that of the base, changed as the sum of work and overhead
// changes with the number of tasks. It is not known without profiles.
func (p *Point) predicted(base *Point) (result.Value, bool) {
	if base.Profile == nil || p.Profile == nil {
		return result.Value{}, false
	}
	_, work, overhead := workOf(base.Profile)
	n, _, _ := workOf(p.Profile)
	if n == 0 || work+overhead == 0 || base.Profile.Overhead == 0 {
		return result.Value{}, false
	}
	return result.Int(time.Duration(float64(base.Mean) * (work + n*float64(base.Profile.Overhead)) / (work + overhead))), true
}

// Table compares the points with the first one: it computes Mean, Speedup, Low and High from
// their Times. Each must have one, and at least two for an interval. It returns a table of the
// points with their times and, if there are profiles, what was predicted of them, the overhead of
// their tasks, and the sizes of the class with the most tasks.
func Table(parameter string, points []Point) *result.Table {
	compare(points)
	largest := func(of func(p *granularity.Profile, c *granularity.Class) result.Value) func(*Point) (result.Value, bool) {
		return func(s *Point) (result.Value, bool) {
			if s.Profile == nil || len(s.Profile.Classes) == 0 {
				return result.Value{}, false
			}
			most := slices.MaxFunc(s.Profile.Classes, func(a, b granularity.Class) int { return cmp.Compare(a.Tasks, b.Tasks) })
			return of(s.Profile, &most), true
		}
	}
	size := func(q float64) func(*Point) (result.Value, bool) {
		return largest(func(p *granularity.Profile, c *granularity.Class) result.Value {
			d, _ := p.Duration(p.Granularity(c).Quantile(q))
			return result.Int(d)
		})
	}
	interval := func(of func(*Point) float64) func(*Point) (result.Value, bool) {
		return func(s *Point) (result.Value, bool) { return result.Float(of(s)), !math.IsInf(s.High, 1) }
	}
	columns := []result.Column[Point]{
		{Name: "value", Title: parameter, Help: "the value of the parameter", Value: result.Texts(func(s *Point) string { return s.Value })},
		{Name: "time", Title: "time", Unit: result.Duration, Quotient: result.Single, Help: "the geometric mean of the runs", Value: result.Ints(func(s *Point) time.Duration { return s.Mean })},
		{Name: "predicted", Title: "predicted", Unit: result.Duration, Quotient: result.Single, Help: "the time of the first value, changed as work and overhead change with the number of tasks",
			Value: func(s *Point) (result.Value, bool) { return s.predicted(&points[0]) }},
		{Name: "speedup", Title: "speed-up", Unit: result.Number, Quotient: result.Single, Help: "over the first value", Value: result.Floats(func(s *Point) float64 { return s.Speedup })},
		{Name: "low", Title: "low", Unit: result.Number, Quotient: result.Single, Help: "the begin of its interval of 95 %", Value: interval(func(s *Point) float64 { return s.Low })},
		{Name: "high", Title: "high", Unit: result.Number, Quotient: result.Single, Help: "the end of its interval of 95 %", Value: interval(func(s *Point) float64 { return s.High })},
		{Name: "tasks", Title: "tasks", Unit: result.Count, Quotient: result.Single, Help: "of all classes, in one run", Value: func(s *Point) (result.Value, bool) {
			if s.Profile == nil {
				return result.Value{}, false
			}
			n, _, _ := workOf(s.Profile)
			return result.Int(int64(n)), true
		}},
		{Name: "overhead-%", Title: "overhead", Unit: result.Ratio, Quotient: result.Single, Help: "of the cost of the tasks", Value: func(s *Point) (result.Value, bool) {
			if s.Profile == nil {
				return result.Value{}, false
			}
			_, work, overhead := workOf(s.Profile)
			return result.Float(overhead / max(1, work+overhead)), overhead > 0
		}},
		{Name: "p50", Title: "p50", Unit: result.Duration, Quotient: result.Single, Help: "the median size of the class with the most tasks", Value: size(.5)},
		{Name: "p99", Title: "p99", Unit: result.Duration, Quotient: result.Single, Help: "p99 of the sizes of that class", Value: size(.99)},
		{Name: "diagnosis", Title: "diagnosis", Note: true, Help: "of that class", Value: largest(func(_ *granularity.Profile, c *granularity.Class) result.Value {
			return result.Str(string(c.Diagnosis))
		})},
		{Name: "class", Title: "class", Unit: result.Func, Note: true, Help: "the class with the most tasks", Value: largest(func(_ *granularity.Profile, c *granularity.Class) result.Value { return result.Str(c.Name) })},
	}
	if !slices.ContainsFunc(points, func(p Point) bool { return p.Profile != nil }) {
		columns = slices.DeleteFunc(columns[:6], func(c result.Column[Point]) bool { return c.Name == "predicted" })
	}
	t := result.New(columns, points, 0)
	t.Title = "Times by " + parameter
	return t
}
