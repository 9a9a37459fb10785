package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/sync/errgroup"
)

// comparison compares the means of a metric in two sets. Of many metrics compared, one in twenty
// differs at 95 % confidence by chance; and quanta that follow each other are rarely independent,
// so the intervals are too narrow. Take a difference for a hint, and confirm it in another
// recording.
type comparison struct {
	Metric     string     `json:"metric"`
	Unit       string     `json:"unit"`
	A          Statistics `json:"a"`
	B          Statistics `json:"b"`
	Difference Value      `json:"difference"` // A's mean minus B's
	// Standardized is the difference in units of the deviation within the sets, √((s²A + s²B)/2).
	// It does not depend on the size of the sets: 0.2 is small, 0.8 is large.
	Standardized Value `json:"standardized"`
	// T is Welch's t, the difference in units of its standard error, with DF degrees of freedom.
	// Low and High bound the difference with 95 % confidence if the quanta are independent. Unknown
	// below 3 degrees of freedom.
	T    Value `json:"t"`
	DF   Value `json:"df"`
	Low  Value `json:"low"`
	High Value `json:"high"`
}

// compare compares metrics in two sets, and sorts them, largest standardized difference first. It
// automates what Sweeney, Hauswirth and others did by hand in their table 3.
func (e *Explorer) compare(ctx context.Context, metrics []string, a, b []int) ([]comparison, error) {
	if len(metrics) == 0 {
		metrics = e.candidates()
	}
	compiled, err := e.compileAll(200, metrics...)
	if err != nil {
		return nil, err
	}
	out := []comparison{}
	for _, m := range compiled {
		var sides [2]Statistics
		for i, rows := range [][]int{a, b} {
			side, err := e.statistics(ctx, m, rows, 1, first, []string{"deviation"}, false)
			if err != nil {
				return nil, err
			}
			sides[i] = side[0]
		}
		row := compareMeans(sides[0].moments, sides[1].moments)
		row.Metric, row.Unit, row.A, row.B = m.name, m.unit.String(), sides[0], sides[1]
		out = append(out, row)
	}
	size := func(c comparison) float64 { return math.Abs(float64(c.Standardized)) }
	slices.SortStableFunc(out, func(a, b comparison) int { return cmp.Compare(size(b), size(a)) }) // NaN is the least
	return out, nil
}

// candidates returns the default metrics of a comparison.
func (e *Explorer) candidates() []string {
	out := []string{"duration", "gap"}
	for i := range e.rec.Counters {
		name := e.written(i)
		out = append(out, name)
		if c := &e.rec.Counters[i]; !c.Level {
			out = append(out, name+" / duration")
		}
	}
	return out[:min(len(out), 200)]
}

// compareMeans compares the means of two samples by Welch's t-test.
func compareMeans(a, b moments) (c comparison) {
	d := a.mean - b.mean
	c.Difference, c.Standardized = Value(finite(d)), Value(finite(d/math.Sqrt((a.Variance()+b.Variance())/2)))
	nan := Value(math.NaN())
	c.T, c.DF, c.Low, c.High = nan, nan, nan, nan
	test, err := stats.TwoSampleWelchTTest(a, b, stats.LocationDiffers)
	if err != nil {
		return c // too few values, or all are equal
	}
	c.T, c.DF = Value(finite(test.T)), Value(finite(test.DoF))
	half := finite(studentQuantile(test.DoF) * math.Sqrt(a.Variance()/a.n+b.Variance()/b.n))
	c.Low, c.High = Value(d-half), Value(d+half)
	return c
}

// studentQuantile returns the 97.5 % quantile of Student's distribution. It is unknown below 3
// degrees of freedom, where the interval is too wide to be useful.
func studentQuantile(df float64) float64 {
	if !(df >= 3) {
		return math.NaN()
	}
	return stats.InvCDF(stats.TDist{V: df})(0.975)
}

// correlation holds the correlations of all pairs of metrics: symmetric matrices. A pair covers the
// quanta for which both metrics are known. A pair with fewer than two of them, or without
// variation, has no correlation. Spearman's, that of the ranks, detects nonlinear relations and is
// robust against outliers.
type correlation struct {
	Metrics  []string  `json:"metrics"`
	N        [][]int   `json:"n"`
	Pearson  [][]Value `json:"pearson"`
	Spearman [][]Value `json:"spearman"`
}

// sample holds a metric for the rows of a set. ranking is nil if a value is unknown.
type sample struct {
	values, ranking []float64
	moments, ranks  moments
}

func newSample(values []float64) *sample {
	if slices.ContainsFunc(values, math.IsNaN) {
		return &sample{values: values}
	}
	ranking := ranks(values)
	return &sample{values, ranking, momentsOf(values), momentsOf(ranking)}
}

// correlate holds the metrics of the set in memory, 16 bytes per row and metric, and computes pairs
// concurrently.
func (e *Explorer) correlate(ctx context.Context, texts []string, rows []int) (*correlation, error) {
	metrics, err := e.compileAll(20, texts...)
	if err != nil {
		return nil, err
	}
	k := len(metrics)
	if int64(len(rows))*int64(k) > 1<<27 {
		return nil, fmt.Errorf("%d metrics of %d quanta are too many at a time: choose fewer metrics or a smaller set", k, len(rows))
	}
	out := &correlation{[]string{}, make([][]int, k), make([][]Value, k), make([][]Value, k)}
	samples := make([]*sample, k)
	for i, m := range metrics {
		out.Metrics = append(out.Metrics, m.name)
		out.N[i], out.Pearson[i], out.Spearman[i] = make([]int, k), make([]Value, k), make([]Value, k)
		values, err := valuesIn(ctx, m.of, rows)
		if err != nil {
			return nil, err
		}
		samples[i] = newSample(values)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range k {
		for j := i; j < k; j++ {
			group.Go(func() error {
				x, y := bothKnown(samples[i], samples[j])
				r, rho := Value(pearson(x.values, y.values, x.moments, y.moments)), Value(pearson(x.ranking, y.ranking, x.ranks, y.ranks))
				out.N[i][j], out.Pearson[i][j], out.Spearman[i][j] = len(x.values), r, rho
				out.N[j][i], out.Pearson[j][i], out.Spearman[j][i] = len(x.values), r, rho
				return ctx.Err()
			})
		}
	}
	return out, group.Wait()
}

// bothKnown returns the samples of the rows for which both are known.
func bothKnown(x, y *sample) (*sample, *sample) {
	if x.ranking != nil && y.ranking != nil {
		return x, y
	}
	var a, b []float64
	for i, v := range x.values {
		if w := y.values[i]; v == v && w == w {
			a, b = append(a, v), append(b, w)
		}
	}
	return newSample(a), newSample(b)
}

// pearson returns the correlation of two columns without unknown values, in two passes.
func pearson(x, y []float64, mx, my moments) float64 {
	a, b := math.Sqrt(mx.squares), math.Sqrt(my.squares)
	if len(x) < 2 || !(a > 0 && b > 0) || mx.constant || my.constant {
		return math.NaN()
	}
	xy := sumOf(len(x), func(i int) float64 { return float64((x[i] - mx.mean) * (y[i] - my.mean)) })
	return max(-1, min(1, xy/a/b))
}

// ranks returns the ranks of the values, from 1; equal ones share the mean of their ranks.
func ranks(values []float64) []float64 {
	order := make([]int32, len(values))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		mean := float64(from+1+to) / 2
		for _, i := range order[from:to] {
			out[i] = mean
		}
		from = to
	}
	return out
}
