package granularity

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
	"github.com/bottleneck-go/bottleneck/result"
)

// SweepPoint is the result for one number of tasks, or for one value of another parameter.
type SweepPoint struct {
	Value string          // of the parameter
	Tasks int             // if that is the parameter
	Times []time.Duration // of the runs, in order
	Mean  time.Duration   // geometric
	// Speedup is the ratio to the first number of tasks, by geometric means; [Low, High] is its
	// 95 % confidence interval.
	Speedup, Low, High float64
	// Profile has the tasks of one run; nil if they were not measured.
	Profile *Profile
}

// Sweep runs a workload cut into different numbers of tasks and compares the times, as tables 10 to
// 12 of the paper do. The first number is the base, and each is run as often as runs:
//
//	points := granularity.Sweep(10, func(tasks int) { analyse(files, tasks) }, 570, 285, 16)
//	text.WriteTable(os.Stdout, granularity.SweepTable("tasks", points), text.Options{})
//
// The runs of all numbers of tasks are interleaved; one round before the first is not counted. The
// intervals are Welch's t intervals on the logarithms of the times. At least three runs are made. It
// panics if a number of tasks is less than 1, or none is given.
func Sweep(runs int, run func(tasks int), counts ...int) []SweepPoint {
	if len(counts) == 0 || slices.Min(counts) < 1 {
		panic("granularity: Sweep of less than one task")
	}
	points := make([]SweepPoint, len(counts))
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
func compare(points []SweepPoint) {
	for i := range points {
		points[i].compare(points[0].Times)
	}
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
	if min(n0, n1) < 2 {
		half = math.Inf(1)
	} else if a+b > 0 {
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
	return mean, variance / float64(max(1, len(times)-1))
}

// t975 returns the 97.5 % quantile of Student's t distribution, with degrees of freedom rounded
// down, so the interval is never too narrow.
func t975(df float64) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}
	n := max(1, math.Floor(df+1e-9))
	if n <= float64(len(table)) {
		return table[int(n)-1]
	}
	return 1.95996 + 2.37/n + 2.8/(n*n) // within 0.001 from 30 on
}

// work returns how many tasks the profile has, how long they executed together, and what their
// overhead adds to that.
func (p *Profile) work() (tasks, executed, overhead float64) {
	for i := range p.Classes {
		c := &p.Classes[i]
		v := verdict{p: p, c: c}
		tasks += float64(c.Tasks)
		executed += v.ns(p.Granularity(c).Sum())
	}
	return tasks, executed, tasks * float64(p.Overhead)
}

// predicted returns the time of a point: that of the base, changed as the sum of work and overhead
// changes with the number of tasks. It is not known without profiles.
func (p *SweepPoint) predicted(base *SweepPoint) (result.Value, bool) {
	if base.Profile == nil || p.Profile == nil {
		return result.Value{}, false
	}
	_, work, overhead := base.Profile.work()
	n, _, _ := p.Profile.work()
	if n == 0 || work+overhead == 0 || base.Profile.Overhead == 0 {
		return result.Value{}, false
	}
	return result.Int(time.Duration(float64(base.Mean) * (work + n*float64(base.Profile.Overhead)) / (work + overhead))), true
}

// SweepTable compares the points with the first one: it computes Mean, Speedup, Low and High from
// their Times. Each must have one, and at least two for an interval. It returns a table of the
// points with their times and, if there are profiles, what was predicted of them, the overhead of
// their tasks, and the sizes of the class with the most tasks.
func SweepTable(parameter string, points []SweepPoint) *result.Table {
	compare(points)
	largest := func(of func(p *Profile, c *Class) result.Value) func(*SweepPoint) (result.Value, bool) {
		return func(s *SweepPoint) (result.Value, bool) {
			if s.Profile == nil || len(s.Profile.Classes) == 0 {
				return result.Value{}, false
			}
			most := slices.MaxFunc(s.Profile.Classes, func(a, b Class) int { return cmp.Compare(a.Tasks, b.Tasks) })
			return of(s.Profile, &most), true
		}
	}
	size := func(q float64) func(*SweepPoint) (result.Value, bool) {
		return largest(func(p *Profile, c *Class) result.Value {
			v := verdict{p: p, c: c}
			return result.Int(time.Duration(v.ns(p.Granularity(c).Quantile(q))))
		})
	}
	interval := func(of func(*SweepPoint) float64) func(*SweepPoint) (result.Value, bool) {
		return func(s *SweepPoint) (result.Value, bool) { return result.Float(of(s)), !math.IsInf(s.High, 1) }
	}
	columns := []result.Column[SweepPoint]{
		{Name: "value", Title: parameter, Help: "the value of the parameter", Value: result.Texts(func(s *SweepPoint) string { return s.Value })},
		{Name: "time", Title: "time", Unit: result.Duration, Quotient: result.Single, Help: "the geometric mean of the runs", Value: result.Ints(func(s *SweepPoint) time.Duration { return s.Mean })},
		{Name: "predicted", Title: "predicted", Unit: result.Duration, Quotient: result.Single, Help: "the time of the first value, changed as work and overhead change with the number of tasks",
			Value: func(s *SweepPoint) (result.Value, bool) { return s.predicted(&points[0]) }},
		{Name: "speedup", Title: "speed-up", Unit: result.Number, Quotient: result.Single, Help: "over the first value", Value: result.Floats(func(s *SweepPoint) float64 { return s.Speedup })},
		{Name: "low", Title: "low", Unit: result.Number, Quotient: result.Single, Help: "the begin of its interval of 95 %", Value: interval(func(s *SweepPoint) float64 { return s.Low })},
		{Name: "high", Title: "high", Unit: result.Number, Quotient: result.Single, Help: "the end of its interval of 95 %", Value: interval(func(s *SweepPoint) float64 { return s.High })},
		{Name: "tasks", Title: "tasks", Unit: result.Count, Quotient: result.Single, Help: "of all classes, in one run", Value: func(s *SweepPoint) (result.Value, bool) {
			if s.Profile == nil {
				return result.Value{}, false
			}
			n, _, _ := s.Profile.work()
			return result.Int(int64(n)), true
		}},
		{Name: "overhead-%", Title: "overhead", Unit: result.Ratio, Quotient: result.Single, Help: "of the cost of the tasks", Value: func(s *SweepPoint) (result.Value, bool) {
			if s.Profile == nil {
				return result.Value{}, false
			}
			_, work, overhead := s.Profile.work()
			return result.Float(overhead / max(1, work+overhead)), overhead > 0
		}},
		{Name: "p50", Title: "p50", Unit: result.Duration, Quotient: result.Single, Help: "the median size of the class with the most tasks", Value: size(.5)},
		{Name: "p99", Title: "p99", Unit: result.Duration, Quotient: result.Single, Help: "p99 of the sizes of that class", Value: size(.99)},
		{Name: "diagnosis", Title: "diagnosis", Note: true, Help: "of that class", Value: largest(func(_ *Profile, c *Class) result.Value { return result.Str(string(c.Diagnosis)) })},
		{Name: "class", Title: "class", Unit: result.Func, Note: true, Help: "the class with the most tasks", Value: largest(func(_ *Profile, c *Class) result.Value { return result.Str(c.Name) })},
	}
	if !slices.ContainsFunc(points, func(p SweepPoint) bool { return p.Profile != nil }) {
		columns = slices.DeleteFunc(columns[:6], func(c result.Column[SweepPoint]) bool { return c.Name == "predicted" })
	}
	t := result.New(columns, points, 0)
	t.Title = "Times and tasks by " + parameter
	return t
}
