package query

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Value is a number of an answer. NaN means unknown, which is null in JSON.
type Value float64

// Known reports whether the value is known.
func (v Value) Known() bool { return v == v }

// MarshalJSON returns the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON parses the output of MarshalJSON.
func (v *Value) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(v))
}

// Statistics summarizes a metric over quanta. It omits, and counts, unknown values.
type Statistics struct {
	Metric string `json:"metric"` // as written
	Unit   string `json:"unit"`
	Count  int    `json:"count"` // quanta
	Known  int    `json:"known"` // quanta whose value is known: the fields below cover these
	Sum    Value  `json:"sum"`
	Min    Value  `json:"min"`
	Max    Value  `json:"max"`
	// Mean is the mean over the quanta, with equal weights. For a metric that is a quotient, it is
	// the mean of the quotients: see RatioOfSums.
	Mean Value `json:"mean"`
	// RatioOfSums is, for a metric a/b, Σa/Σb over the RatioRows quanta for which both are known:
	// the quotient of the whole, in which long quanta have more weight than short ones. Unknown for
	// other metrics.
	RatioOfSums Value `json:"ratio_of_sums"`
	RatioRows   int   `json:"ratio_rows"`
	// Deviation is that of a sample: n − 1. Unknown for fewer than 2 quanta, and in a [Table] that
	// does not ask for it.
	Deviation Value `json:"deviation"`
	// Quantiles has the requested ones by name, such as p99.9. They are exact: values that occur,
	// by nearest rank.
	Quantiles map[string]Value `json:"quantiles,omitempty"`
	// MeanChange is the mean difference to the previous quantum of the same goroutine, which need
	// not be among the quanta, over the Changes quanta that have one. Only in [Answer].Stats.
	MeanChange Value   `json:"mean_change"`
	Changes    int     `json:"changes"`
	Means      []Value `json:"means,omitempty"` // the mean of each bin of [Table].Bins

	moments moments
}

// quantilesShown lists the quantiles of [Answer].Stats.
var quantilesShown = []string{"p1", "p5", "p25", "p50", "p75", "p95", "p99"}

// CheckStats returns an error if one of the names is not that of a statistic.
func CheckStats(names []string) error {
	if len(names) > 20 {
		return fmt.Errorf("want at most 20 statistics, got %d", len(names))
	}
	for _, name := range names {
		if _, ok := quantileOf(name); !ok && statistic[name] == nil {
			return fmt.Errorf("unknown statistic %s: want mean, sum, min, max, deviation, ratio, or a quantile such as p50 or p99.9", quote(name))
		}
	}
	return nil
}

func quantileOf(name string) (float64, bool) {
	percent, found := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(percent, 64)
	return p / 100, found && err == nil && p >= 0 && p <= 100
}

// statistic has the statistics with a name of their own.
var statistic = map[string]func(*Statistics) Value{
	"mean": func(s *Statistics) Value { return s.Mean }, "sum": func(s *Statistics) Value { return s.Sum },
	"min": func(s *Statistics) Value { return s.Min }, "max": func(s *Statistics) Value { return s.Max },
	"deviation": func(s *Statistics) Value { return s.Deviation }, "ratio": func(s *Statistics) Value { return s.RatioOfSums },
}

func (s *Statistics) value(name string) Value {
	if of := statistic[name]; of != nil {
		return of(s)
	}
	return s.Quantiles[name]
}

// accumulator accumulates the statistics of a metric.
type accumulator struct {
	count, known, ratioRows, changes int
	min, max                         float64
	sum, over, under, change         sum
	values                           []float64 // only for deviations and quantiles
}

// statistics summarizes a metric over n parts of a set; of returns the part of a row. It computes
// deviations and quantiles if their names are given, and changes if requested.
func (e *Explorer) statistics(ctx context.Context, m metric, rows []int, n int, of func(row int) int, names []string, changes bool) ([]Statistics, error) {
	var wanted []string // quantiles
	for _, name := range names {
		if _, ok := quantileOf(name); ok {
			wanted = append(wanted, name)
		}
	}
	keep := len(wanted) > 0 || slices.Contains(names, "deviation")
	all := make([]accumulator, n)
	if keep && n == 1 {
		all[0].values = make([]float64, 0, len(rows))
	}
	columns := []column{m.of}
	if m.over != nil {
		columns = append(columns, m.over, m.under)
	}
	if changes {
		columns = append(columns, changeOf(e, m.of))
	}
	err := visit(ctx, rows, columns, func(row int, v []float64) {
		t := &all[of(row)]
		t.count++
		if v[0] == v[0] {
			t.add(v[0])
			if keep {
				t.values = append(t.values, v[0])
			}
		}
		if m.over != nil && v[1] == v[1] && v[2] == v[2] {
			t.ratioRows++
			t.over.add(v[1])
			t.under.add(v[2])
		}
		if change := v[len(v)-1]; changes && change == change {
			t.changes++
			t.change.add(change)
		}
	})
	out := make([]Statistics, n)
	for i := range out {
		out[i] = all[i].statistics(wanted)
		out[i].Metric, out[i].Unit = m.name, m.unit.String()
	}
	return out, err
}

// first is the part of every row if there is only one.
func first(int) int { return 0 }

func (t *accumulator) add(v float64) {
	if t.known == 0 {
		t.min, t.max = v, v
	}
	t.min, t.max = min(t.min, v), max(t.max, v)
	t.known++
	t.sum.add(v)
}

// statistics returns the result. It reorders the values.
func (t *accumulator) statistics(wanted []string) Statistics {
	nan := Value(math.NaN())
	s := Statistics{
		Count: t.count, Known: t.known, Sum: nan, Min: nan, Max: nan, Mean: nan,
		RatioOfSums: Value(finite(t.over.total() / t.under.total())), RatioRows: t.ratioRows,
		MeanChange: Value(finite(t.change.total() / float64(t.changes))), Changes: t.changes,
		moments: momentsOf(t.values),
	}
	s.Deviation = Value(math.Sqrt(s.moments.Variance()))
	if t.known > 0 {
		s.Sum, s.Min, s.Max = Value(t.sum.total()), Value(t.min), Value(t.max)
		s.Mean = Value(finite(t.sum.total() / float64(t.known)))
	}
	if len(wanted) > 0 {
		s.Quantiles = map[string]Value{}
		for i, v := range quantiles(t.values, wanted) {
			s.Quantiles[wanted[i]] = Value(v)
		}
	}
	return s
}

// sum is Neumaier's compensated sum: sums of integers are exact while they fit in a float64.
type sum struct{ s, c float64 }

func (k *sum) add(v float64) {
	t := k.s + v
	if math.Abs(k.s) >= math.Abs(v) {
		k.c += (k.s - t) + v
	} else {
		k.c += (v - t) + k.s
	}
	k.s = t
}

// total returns the sum, or NaN if it exceeds the range of a float64.
func (k *sum) total() float64 { return finite(k.s + k.c) }

// sumOf returns the sum of f(0) to f(n-1).
func sumOf(n int, f func(i int) float64) float64 {
	var k sum
	for i := range n {
		k.add(f(i))
	}
	return k.total()
}

// moments is a sample for the tests of package stats, whose own sums are not compensated: the
// number of values, their mean, and the sum of their squared differences to it.
type moments struct {
	n, mean, squares float64
	constant         bool
}

// momentsOf returns the moments of known values. A moment that needs more values is NaN.
func momentsOf(values []float64) moments {
	n := len(values)
	mean := finite(sumOf(n, func(i int) float64 { return values[i] }) / float64(n))
	squares := sumOf(n, func(i int) float64 { return float64((values[i] - mean) * (values[i] - mean)) })
	// Rounding may make the mean of equal values differ from them.
	constant := !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
	return moments{float64(n), mean, squares, constant}
}

// Weight returns the number of values.
func (m moments) Weight() float64 { return m.n }

// Mean returns their mean.
func (m moments) Mean() float64 { return m.mean }

// Variance returns the sample variance, with the divisor n − 1.
func (m moments) Variance() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return m.squares / (m.n - 1)
}

// rank returns the index of a quantile among n sorted values, by nearest rank. The small number
// corrects for rounding of the product: .07·100 is 7, not 7.000000000000001.
func rank(q float64, n int) int {
	r := int(math.Ceil(float64(q*float64(n)) - 1e-9))
	return max(1, min(r, n)) - 1
}

// quantiles returns exact quantiles of values, which it reorders. The results are values that
// occur. Finding those in quantilesShown takes about a third of the time of sorting.
func quantiles(values []float64, names []string) []float64 {
	out, ranks := make([]float64, len(names)), make([]int, len(names))
	for i, name := range names {
		q, _ := quantileOf(name)
		out[i], ranks[i] = math.NaN(), rank(q, len(values))
	}
	if len(values) == 0 {
		return out
	}
	wanted := slices.Clone(ranks)
	slices.Sort(wanted)
	selectRanks(values, 0, slices.Compact(wanted), 2*bits.Len(uint(len(values))))
	for i, r := range ranks {
		out[i] = values[r]
	}
	return out
}

// selectRanks reorders values, whose first has the index base, so that the values at the given
// indexes are as if all were sorted: a quicksort that skips the parts without such an index.
func selectRanks(values []float64, base int, ranks []int, budget int) {
	for len(ranks) > 0 && len(values) > 1 {
		if len(values) < 64 || budget == 0 {
			slices.Sort(values)
			return
		}
		budget--
		low, high := partition(values)
		// values[:low] < pivot, values[low:high] == pivot, values[high:] > pivot
		left, _ := slices.BinarySearch(ranks, base+low)
		right, _ := slices.BinarySearch(ranks, base+high)
		selectRanks(values[:low], base, ranks[:left], budget)
		values, base, ranks = values[high:], base+high, ranks[right:]
	}
}

// partition puts the values less than a pivot first, equal ones in the middle, and greater ones
// last.
func partition(values []float64) (low, high int) {
	pivot := values[len(values)/2]
	low, high = 0, len(values)
	for i := 0; i < high; {
		switch v := values[i]; {
		case v < pivot:
			values[i], values[low] = values[low], v
			low++
			i++
		case v > pivot:
			high--
			values[i], values[high] = values[high], v
		default:
			i++
		}
	}
	return low, high
}
