package query

import (
	"context"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Value is a number of an answer. NaN means unknown, which is null in JSON.
type Value float64

// Known reports whether the value is known.
func (v Value) Known() bool { return v == v }

// MarshalJSON returns the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	return v.append(nil), nil
}

// append appends the value as encoding/json formats a float64.
func (v Value) append(b []byte) []byte {
	f := math.Abs(float64(v))
	switch {
	case !v.Known() || math.IsInf(f, 0):
		return append(b, "null"...)
	case f != 0 && (f < 1e-6 || f >= 1e21): // with an exponent
		text, _ := json.Marshal(float64(v)) // cannot fail: it is finite
		return append(b, text...)
	}
	return strconv.AppendFloat(b, float64(v), 'f', -1, 64)
}

// UnmarshalJSON parses the output of MarshalJSON.
func (v *Value) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(v))
}

// Statistics summarizes a metric over a set of quanta. It omits, and counts, unknown values.
type Statistics struct {
	Metric string `json:"metric"` // canonical
	Unit   string `json:"unit"`
	Count  int    `json:"count"` // quanta of the set
	Known  int    `json:"known"` // quanta whose value is known: the fields below cover these
	Sum    Value  `json:"sum"`
	Min    Value  `json:"min"`
	Max    Value  `json:"max"`
	// Mean is the mean over the quanta, with equal weights. For a metric that is a quotient, it is
	// the mean of the quotients: see RatioOfSums.
	Mean      Value `json:"mean"`
	Deviation Value `json:"deviation"` // of a sample: n − 1; unknown for fewer than 2 quanta
	// Quantiles are exact: values that occur, by nearest rank.
	Quantiles []Quantile `json:"quantiles"`
	// MeanChange is the mean difference to the previous quantum of the same goroutine, which need
	// not be in the set, over the Changes quanta of the set that have one.
	MeanChange Value `json:"mean_change"`
	Changes    int   `json:"changes"`
	// RatioOfSums is, for a metric a/b, Σa/Σb over the RatioRows quanta for which both are known:
	// the quotient of the whole set, in which long quanta have more weight than short ones. Unknown
	// for other metrics.
	RatioOfSums Value `json:"ratio_of_sums"`
	RatioRows   int   `json:"ratio_rows"`
}

// Quantile is the value at or below which the part Q of the values is.
type Quantile struct {
	Q     float64 `json:"q"`
	Value Value   `json:"value"`
}

// Statistics summarizes a metric over a set of the recording's rows. It takes about 50 ns per row
// of the set (BenchmarkStatistics), mostly for the quantiles, and 8 to 16 bytes. Errors are those
// of [Explorer.Values].
func (e *Explorer) Statistics(ctx context.Context, m *Metric, set *Set) (*Statistics, error) {
	c, err := e.compileMetric(m)
	if err != nil {
		return nil, err
	}
	s := &Statistics{Metric: m.String(), Unit: c.unit.String()}
	values := make([]float64, 0, set.Count())
	err = visit(ctx, set, []column{c.column}, func(_ int, v []float64) {
		s.Count++
		if v[0] == v[0] {
			values = append(values, v[0])
		}
	})
	if err != nil {
		return nil, err
	}
	s.describe(values)
	for i, v := range quantiles(values, quantilesShown) { // reorders the values
		s.Quantiles = append(s.Quantiles, Quantile{quantilesShown[i], Value(v)})
	}
	if err := e.changes(ctx, c, set, s); err != nil {
		return nil, err
	}
	return s, e.ratio(ctx, c, set, s)
}

// describe computes the statistics that depend on the order of the values, and cheap ones.
func (s *Statistics) describe(values []float64) {
	s.Known = len(values)
	nan := Value(math.NaN())
	s.Sum, s.Min, s.Max, s.Mean, s.Deviation, s.MeanChange, s.RatioOfSums = nan, nan, nan, nan, nan, nan, nan
	if len(values) == 0 {
		return
	}
	s.Sum = Value(sumOf(values))
	s.Min, s.Max = Value(slices.Min(values)), Value(slices.Max(values))
	m := momentsOf(values)
	s.Mean, s.Deviation = Value(m.mean), Value(m.deviation())
}

func (e *Explorer) changes(ctx context.Context, c *compiled, set *Set, s *Statistics) error {
	var total sum
	err := visit(ctx, set, []column{changeOf(e, c.column)}, func(_ int, v []float64) {
		if v[0] == v[0] {
			s.Changes++
			total.add(v[0])
		}
	})
	if s.Changes > 0 {
		s.MeanChange = Value(finite(total.total() / float64(s.Changes)))
	}
	return err
}

func (e *Explorer) ratio(ctx context.Context, c *compiled, set *Set, s *Statistics) error {
	if c.over == nil {
		return nil
	}
	var over, under sum
	err := visit(ctx, set, []column{c.over, c.under}, func(_ int, v []float64) {
		if v[0] == v[0] && v[1] == v[1] {
			s.RatioRows++
			over.add(v[0])
			under.add(v[1])
		}
	})
	s.RatioOfSums = Value(finite(over.total() / under.total()))
	return err
}

// sum is Neumaier's compensated sum. Its error does not grow with the number of terms, and sums of
// integers are exact while they fit in a float64. The terms are added in the order of the rows.
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

func sumOf(values []float64) float64 {
	var k sum
	for _, v := range values {
		k.add(v)
	}
	return k.total()
}

// squares returns Σ (v − mean)².
func squares(values []float64, mean float64) float64 {
	var k sum
	for _, v := range values {
		d := v - mean
		k.add(float64(d * d))
	}
	return k.total()
}

// moments holds the number of values, their mean, and the sum of their squared differences to it.
// It is a sample for the tests of package stats, whose own sums are not compensated.
type moments struct {
	n, mean, squares float64
	constant         bool
}

// momentsOf returns the moments of known values. A moment that needs more values is NaN.
func momentsOf(values []float64) moments {
	n := float64(len(values))
	mean := finite(sumOf(values) / n)
	return moments{n, mean, squares(values, mean), constantColumn(values)}
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

func (m moments) deviation() float64 { return math.Sqrt(m.Variance()) }

func (m moments) side() Side { return Side{int(m.n), Value(m.mean), Value(m.deviation())} }

// quantilesShown lists the quantiles in Statistics.
var quantilesShown = []float64{.01, .05, .25, .5, .75, .95, .99}

// rank returns the index of a quantile among n sorted values, by nearest rank. The small number
// corrects for rounding of the product: .07·100 is 7, not 7.000000000000001.
func rank(q float64, n int) int {
	r := int(math.Ceil(float64(q*float64(n)) - 1e-9))
	return max(1, min(r, n)) - 1
}

// quantiles returns exact quantiles of values, which it reorders. The results are values that
// occur. Finding those in quantilesShown takes about a third of the time of sorting.
func quantiles(values []float64, qs []float64) []float64 {
	out := make([]float64, len(qs))
	if len(values) == 0 {
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	ranks := make([]int, len(qs))
	for i, q := range qs {
		ranks[i] = rank(q, len(values))
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
// indexes are as if all were sorted. It is a quicksort that skips the parts without such an index,
// and switches to sorting if the pivots are bad too often.
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
	pivot := ninther(values)
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

// ninther returns the median of three medians of three.
func ninther(values []float64) float64 {
	n := len(values)
	at := func(i int) float64 {
		return median(values[i], values[i+n/9], values[i+2*(n/9)])
	}
	return median(at(0), at(n/3), at(n-1-2*(n/9)))
}

func median(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
