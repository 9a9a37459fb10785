package counters

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Value is a number of an answer. NaN is what is not known, null in JSON.
type Value float64

// Known reports whether the value is known.
func (v Value) Known() bool { return v == v }

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	return v.append(nil), nil
}

// append writes the value as encoding/json writes a float64.
func (v Value) append(b []byte) []byte {
	f := math.Abs(float64(v))
	switch {
	case !v.Known() || math.IsInf(f, 0):
		return append(b, "null"...)
	case f != 0 && (f < 1e-6 || f >= 1e21): // with an exponent
		text, _ := json.Marshal(float64(v)) // it is finite
		return append(b, text...)
	}
	return strconv.AppendFloat(b, float64(v), 'f', -1, 64)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(v))
}

// Statistics sums up a metric over a set of quanta. What is not known in a quantum is left out, and
// counted.
type Statistics struct {
	Metric string `json:"metric"` // canonical
	Unit   string `json:"unit"`
	Count  int    `json:"count"` // quanta of the set
	Known  int    `json:"known"` // those of them whose value is known: all below is of these
	Sum    Value  `json:"sum"`
	Min    Value  `json:"min"`
	Max    Value  `json:"max"`
	// Mean is that of the quanta, each with the same weight. For a metric that is a quotient it
	// is the mean of the quotients: see RatioOfSums.
	Mean      Value `json:"mean"`
	Deviation Value `json:"deviation"` // of a sample: n − 1; not known of fewer than 2 quanta
	// Quantiles are exact: values that occur, of the nearest rank.
	Quantiles []Quantile `json:"quantiles"`
	// MeanChange is the mean difference to the quantum before of the same goroutine, which need
	// not be in the set, over the Changes quanta of the set that have one.
	MeanChange Value `json:"mean_change"`
	Changes    int   `json:"changes"`
	// RatioOfSums is, for a metric a/b, Σa/Σb over the RatioRows quanta for which both are
	// known: what the set as a whole has, long quanta with more weight than short ones. Not
	// known for other metrics.
	RatioOfSums Value `json:"ratio_of_sums"`
	RatioRows   int   `json:"ratio_rows"`
}

// Quantile is the value below which, or at which, the part Q of the values is.
type Quantile struct {
	Q     float64 `json:"q"`
	Value Value   `json:"value"`
}

// Statistics sums up a metric over a set of the recording's rows. It takes some 50 ns a row of the
// set (BenchmarkStatistics), most of it for the quantiles, and 8 to 16 bytes. Errors are as those
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

// describe computes what the order of the values matters for, or what is cheap.
func (s *Statistics) describe(values []float64) {
	s.Known = len(values)
	nan := Value(math.NaN())
	s.Sum, s.Min, s.Max, s.Mean, s.Deviation, s.MeanChange, s.RatioOfSums = nan, nan, nan, nan, nan, nan, nan
	if len(values) == 0 {
		return
	}
	s.Sum = Value(sumOf(values))
	s.Min, s.Max = Value(slices.Min(values)), Value(slices.Max(values))
	mean := finite(float64(s.Sum) / float64(len(values)))
	s.Mean, s.Deviation = Value(mean), Value(deviationOf(values, mean))
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
