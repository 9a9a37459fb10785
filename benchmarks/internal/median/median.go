// Package median estimates the median of a distribution from samples. A few rounds in which the
// machine was disturbed do not change it.
package median

import (
	"fmt"
	"math"
	"slices"
)

// Interval is the median of some values, with a confidence interval of at least 95 % for the median
// of their distribution. Low and High are NaN for less than 6 values.
type Interval struct{ Low, Median, High float64 }

// Text formats the median with a verb, and Low and High, if there are enough values for them.
func (i Interval) Text(verb string) string {
	if math.IsNaN(i.Low) {
		return fmt.Sprintf(verb, i.Median)
	}
	return fmt.Sprintf(verb+" ("+verb+" to "+verb+")", i.Median, i.Low, i.High)
}

// Of returns the median of values, or NaN if there are none.
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

// rank is the largest k such that the median lies between the k-th smallest and the k-th largest
// value, counted from 0, with a probability of at least 95 %, for any distribution: each value is
// above or below the median with equal chances. It is −1 if there are too few values.
func rank(n int) int {
	logOf := func(x int) float64 { l, _ := math.Lgamma(float64(x) + 1); return l } // log x!
	for k, all := -1, 0.0; ; k++ {
		// The chance that exactly k+1 values are below, by logarithms, because 2⁻ⁿ
		// underflows for large n.
		if all += math.Exp(logOf(n) - logOf(k+1) - logOf(n-k-1) - float64(n)*math.Ln2); 2*all > 0.05 {
			return k
		}
	}
}
