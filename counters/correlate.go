package counters

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// CorrelateQuery asks for the correlations of all pairs of metrics.
type CorrelateQuery struct {
	Metrics []string `json:"metrics"` // at most 20
	// Ranks asks for Spearman's correlation, too, which also sees what is not linear and does not mind outliers.
	Ranks bool `json:"ranks,omitempty"`
}

// Correlation is the answer to a [CorrelateQuery]: symmetric matrices. A pair counts the quanta for which both are known.
// What has fewer than two of them, or does not vary, has no correlation.
type Correlation struct {
	Metrics  []string  `json:"metrics"`
	N        [][]int   `json:"n"`
	Pearson  [][]Value `json:"pearson"`
	Spearman [][]Value `json:"spearman"` // nil if not asked for
}

// Correlate answers a [CorrelateQuery] for a set. It holds the metrics of the set in memory, 8 bytes
// each a row, and takes some 10 ns a row and pair; with ranks, some 100 ns a row and metric more, or a row and pair if
// not everything is known.
func (e *Explorer) Correlate(ctx context.Context, q CorrelateQuery, set *Set) (*Correlation, error) {
	m, err := e.compileAll("correlate", q.Metrics, 20)
	if err != nil {
		return nil, err
	}
	k := len(m.metrics)
	if rows := set.Count(); rows*k > 1<<27 {
		return nil, &PartError{"correlate", fmt.Errorf("%d metrics of %d quanta are too many at a time: choose fewer metrics or a smaller set", k, rows)}
	}
	columns := make([][]float64, k)
	complete := make([]bool, k)
	for i := range columns {
		columns[i] = make([]float64, 0, set.Count())
		complete[i] = true
	}
	err = visit(ctx, set, m.columns[:k], func(_ int, v []float64) {
		for i := range columns {
			columns[i] = append(columns[i], v[i])
			complete[i] = complete[i] && v[i] == v[i]
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
	ranked := make([][]float64, k) // of the complete ones
	for i := range k {
		if q.Ranks && complete[i] {
			ranked[i] = ranks(columns[i])
		}
	}
	for i := range k {
		for j := i; j < k; j++ {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			x, y := columns[i], columns[j]
			if !complete[i] || !complete[j] {
				x, y = bothKnown(x, y)
			}
			out.N[i][j], out.N[j][i] = len(x), len(x)
			r := Value(pearson(x, y))
			out.Pearson[i][j], out.Pearson[j][i] = r, r
			if !q.Ranks {
				continue
			}
			if complete[i] && complete[j] {
				x, y = ranked[i], ranked[j]
			} else {
				x, y = ranks(x), ranks(y)
			}
			r = Value(pearson(x, y))
			out.Spearman[i][j], out.Spearman[j][i] = r, r
		}
	}
	return out, nil
}

func matrix(k int) [][]Value {
	m := make([][]Value, k)
	for i := range m {
		m[i] = make([]Value, k)
	}
	return m
}

// bothKnown keeps the pairs of which both values are known.
func bothKnown(x, y []float64) (a, b []float64) {
	for i := range x {
		if x[i] == x[i] && y[i] == y[i] {
			a, b = append(a, x[i]), append(b, y[i])
		}
	}
	return a, b
}

// pearson is the correlation of two columns without unknown values, by two passes.
func pearson(x, y []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	mx, my := meanOf(x), meanOf(y)
	var xx, yy, xy sum
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx.add(float64(dx * dx))
		yy.add(float64(dy * dy))
		xy.add(float64(dx * dy))
	}
	a, b := math.Sqrt(xx.total()), math.Sqrt(yy.total())
	if !(a > 0 && b > 0) || constantColumn(x) || constantColumn(y) {
		return math.NaN()
	}
	return max(-1, min(1, xy.total()/a/b))
}

// constantColumn reports that nothing varies: the mean of equal values may be rounded, and the differences to it not 0.
func constantColumn(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// ranks are the places of the values in their order, from 1; equal ones share the mean of theirs.
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
