// Package median estimates the median of what measurements are drawn from. A few rounds in which
// the machine did something else do not move it.
package median

import (
	"math"
	"slices"
)

// Interval is the median of some values, and between which of them that of what they were drawn
// from lies, with a probability of 95 % at least. Low and High are NaN if there are too few values
// for that, less than 6.
type Interval struct{ Low, Median, High float64 }

// Of returns the median of values: NaN if there are none.
func Of(values []float64) Interval {
	n := len(values)
	if n == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	out := Interval{Low: math.NaN(), Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, High: math.NaN()}
	if k := rank(n); k >= 0 {
		out.Low, out.High = sorted[k], sorted[n-1-k]
	}
	return out
}

// rank is the largest k such that the median lies between the k-th value from below and the k-th
// from above, counted from 0, with a probability of 95 % at least, whatever the distribution: each
// value is above it or below it with equal chances. It is −1 if there are too few values.
func rank(n int) int {
	logOf := func(x int) float64 { l, _ := math.Lgamma(float64(x) + 1); return l } // log x!
	for k, all := -1, 0.0; ; k++ {
		// The chance that exactly k+1 values are below. By logarithms, as 2⁻ⁿ is no number
		// that is left for large n.
		if all += math.Exp(logOf(n) - logOf(k+1) - logOf(n-k-1) - float64(n)*math.Ln2); 2*all > 0.05 {
			return k
		}
	}
}
