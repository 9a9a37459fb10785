package query

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// CompareQuery asks which metrics distinguish two sets.
type CompareQuery struct {
	// Metrics are the candidates; none means the duration, the gap before the quantum, every
	// counter, and, for each counter of changes, its rate: the counter divided by the duration. At
	// most 200.
	Metrics []string `json:"metrics,omitempty"`
	Limit   int      `json:"limit,omitempty"` // maximum number of rows; 0 means 20
}

// Comparison is the answer to a [CompareQuery]: the metrics, largest standardized difference first,
// those without one last.
type Comparison struct {
	Candidates int             `json:"candidates"`
	Rows       []ComparisonRow `json:"rows"`
	Note       string          `json:"note"` // a caveat
}

// ComparisonRow compares the means of a metric in two sets.
type ComparisonRow struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	// Difference is A's mean minus B's.
	Difference Value `json:"difference"`
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

// Side is one of two compared sets.
type Side struct {
	Known     int   `json:"known"`
	Mean      Value `json:"mean"`
	Deviation Value `json:"deviation"`
}

const comparisonNote = "Of many metrics compared, one in twenty differs at 95 % confidence by chance; " +
	"and quanta that follow each other are rarely independent, so the intervals are too narrow. " +
	"Take a difference for a hint, and confirm it in another recording."

// Compare answers a [CompareQuery] for two sets. It automates what Sweeney, Hauswirth and others
// did by hand in their table 3. It takes about 30 ns per row and metric. The sets may overlap, but
// a difference then means little.
func (e *Explorer) Compare(ctx context.Context, q CompareQuery, a, b *Set) (*Comparison, error) {
	metrics := q.Metrics
	if len(metrics) == 0 {
		metrics = e.candidates()
	}
	if len(metrics) > 200 {
		return nil, &PartError{"compare", errors.New("more than 200 metrics")}
	}
	out := &Comparison{Candidates: len(metrics), Rows: []ComparisonRow{}, Note: comparisonNote}
	for _, text := range metrics {
		c, name, err := e.compileText("compare", text)
		if err != nil {
			return nil, err
		}
		x, err := known(ctx, c.column, a)
		if err != nil {
			return nil, err
		}
		y, err := known(ctx, c.column, b)
		if err != nil {
			return nil, err
		}
		row := compareMeans(x, y)
		row.Metric, row.Unit = name, c.unit.String()
		out.Rows = append(out.Rows, row)
	}
	slices.SortStableFunc(out.Rows, func(a, b ComparisonRow) int { return cmp.Compare(b.size(), a.size()) })
	if q.Limit <= 0 {
		q.Limit = 20
	}
	out.Rows = out.Rows[:min(q.Limit, len(out.Rows))]
	return out, nil
}

func (r *ComparisonRow) size() float64 {
	if !r.Standardized.Known() {
		return -1
	}
	return math.Abs(float64(r.Standardized))
}

// candidates returns the default metrics of a search.
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

// known returns the known values of a set.
func known(ctx context.Context, c column, set *Set) (out []float64, err error) {
	err = visit(ctx, set, []column{c}, func(_ int, v []float64) {
		if v[0] == v[0] {
			out = append(out, v[0])
		}
	})
	return out, err
}

// compareMeans compares the means of two samples by Welch's t-test.
func compareMeans(x, y []float64) (r ComparisonRow) {
	a, b := momentsOf(x), momentsOf(y)
	r.A, r.B = a.side(), b.side()
	d := a.mean - b.mean
	r.Difference, r.Standardized = Value(finite(d)), Value(finite(d/math.Sqrt((a.Variance()+b.Variance())/2)))
	nan := Value(math.NaN())
	r.T, r.DF, r.Low, r.High = nan, nan, nan, nan
	test, err := stats.TwoSampleWelchTTest(a, b, stats.LocationDiffers)
	if err != nil {
		return r // too few values, or all are equal
	}
	r.T, r.DF = Value(finite(test.T)), Value(finite(test.DoF))
	half := finite(studentQuantile(test.DoF) * math.Sqrt(a.Variance()/a.n+b.Variance()/b.n))
	r.Low, r.High = Value(d-half), Value(d+half)
	return r
}

// studentQuantile returns the 97.5 % quantile of Student's distribution. It is unknown below 3
// degrees of freedom, where the interval is too wide to be useful.
func studentQuantile(df float64) float64 {
	if !(df >= 3) {
		return math.NaN()
	}
	return stats.InvCDF(stats.TDist{V: df})(0.975)
}
