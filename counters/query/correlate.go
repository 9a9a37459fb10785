package query

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// CorrelateQuery asks for the correlations of all pairs of metrics.
type CorrelateQuery struct {
	Metrics []string `json:"metrics"` // at most 20
	// Ranks also computes Spearman's correlation, which detects nonlinear relations and is robust
	// against outliers.
	Ranks bool `json:"ranks,omitempty"`
}

// Correlation is the answer to a [CorrelateQuery]: symmetric matrices. A pair covers the quanta for
// which both metrics are known. A pair with fewer than two of them, or without variation, has no
// correlation.
type Correlation struct {
	Metrics  []string  `json:"metrics"`
	N        [][]int   `json:"n"`
	Pearson  [][]Value `json:"pearson"`
	Spearman [][]Value `json:"spearman"` // nil if not requested
}

// Correlate answers a [CorrelateQuery] for a set. It holds the metrics of the set in memory, 8
// bytes per row and metric. It takes about 10 ns per row and pair, or 30 ns if some values are
// unknown. With ranks, it takes about 150 ns more per row and metric, or per row and pair if some
// values are unknown (BenchmarkAnswer). Pairs are computed concurrently.
func (e *Explorer) Correlate(ctx context.Context, q CorrelateQuery, set *Set) (*Correlation, error) {
	m, err := e.compileAll("correlate", q.Metrics, 20)
	if err != nil {
		return nil, err
	}
	k := len(m.metrics)
	if rows := set.Count(); int64(rows)*int64(k) > 1<<27 {
		return nil, &PartError{"correlate", fmt.Errorf("%d metrics of %d quanta are too many at a time: choose fewer metrics or a smaller set", k, rows)}
	}
	samples := make([]sample, k)
	for i := range samples {
		samples[i] = sample{values: make([]float64, 0, set.Count()), complete: true}
	}
	err = visit(ctx, set, m.columns[:k], func(_ int, v []float64) {
		for i := range samples {
			samples[i].values = append(samples[i].values, v[i])
			samples[i].complete = samples[i].complete && v[i] == v[i]
		}
	})
	if err != nil {
		return nil, err
	}
	out := &Correlation{Metrics: m.names, N: make([][]int, k), Pearson: matrix(k)}
	for i := range out.N {
		out.N[i] = make([]int, k)
	}
	if q.Ranks {
		out.Spearman = matrix(k)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range k {
		for j := i; j < k; j++ {
			group.Go(func() error {
				r, rho, n := correlate(&samples[i], &samples[j], q.Ranks)
				out.N[i][j], out.N[j][i] = n, n
				out.Pearson[i][j], out.Pearson[j][i] = r, r
				if q.Ranks {
					out.Spearman[i][j], out.Spearman[j][i] = rho, rho
				}
				return ctx.Err()
			})
		}
	}
	return out, group.Wait()
}

// sample holds a metric for all rows of a set. Results are computed once for all pairs without
// unknown values.
type sample struct {
	values   []float64
	complete bool // all values are known

	once    sync.Once
	moments moments
	ranking sync.Once
	ranks   *sample
	knowing sync.Once
	only    *sample
}

func (s *sample) sums() moments {
	s.once.Do(func() { s.moments = momentsOf(s.values) })
	return s.moments
}

func (s *sample) ranked() *sample {
	s.ranking.Do(func() { s.ranks = &sample{values: ranks(s.values), complete: true} })
	return s.ranks
}

// known returns the sample of the known values.
func (s *sample) known() *sample {
	s.knowing.Do(func() { s.only = &sample{values: whereKnown(s.values, s.values)} })
	return s.only
}

// correlate returns Pearson's correlation of two columns, Spearman's if requested, and the number
// of rows.
func correlate(x, y *sample, wantRanks bool) (r, rho Value, n int) {
	switch {
	case x.complete && y.complete:
	case x.complete:
		x, y = &sample{values: whereKnown(x.values, y.values)}, y.known()
	case y.complete:
		x, y = x.known(), &sample{values: whereKnown(y.values, x.values)}
	default:
		x, y = (&sample{values: whereKnown(x.values, y.values)}).known(), (&sample{values: whereKnown(y.values, x.values)}).known()
	}
	r = Value(pearson(x, y))
	if wantRanks {
		rho = Value(pearson(x.ranked(), y.ranked()))
	}
	return r, rho, len(x.values)
}

func matrix(k int) [][]Value {
	m := make([][]Value, k)
	for i := range m {
		m[i] = make([]Value, k)
	}
	return m
}

// whereKnown returns the values of the rows for which another column is known.
func whereKnown(values, other []float64) []float64 {
	out := make([]float64, 0, len(values))
	for i, v := range values {
		if other[i] == other[i] {
			out = append(out, v)
		}
	}
	return out
}

// pearson returns the correlation of two columns without unknown values, in two passes.
func pearson(x, y *sample) float64 {
	if len(x.values) < 2 {
		return math.NaN()
	}
	mx, my := x.sums(), y.sums()
	var xy sum
	for i, v := range x.values {
		xy.add(float64((v - mx.mean) * (y.values[i] - my.mean)))
	}
	a, b := math.Sqrt(mx.squares), math.Sqrt(my.squares)
	if !(a > 0 && b > 0) || mx.constant || my.constant {
		return math.NaN()
	}
	return max(-1, min(1, xy.total()/a/b))
}

// constantColumn reports whether all values are equal. Rounding may make the mean of equal values
// differ from them.
func constantColumn(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// ranks returns the ranks of the values, from 1; equal ones share the mean of their ranks.
func ranks(values []float64) []float64 {
	order := make([]int32, len(values))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
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
