package main

import (
	"fmt"
	"math"
	"slices"
)

// interval is the median of some ratios, and where the true one is with a probability of
// 95 % at least. It is [NaN, NaN] if there are less than 6.
type interval struct{ low, median, high float64 }

// medianOf takes the interval from the ranks that a binomial distribution gives: the true
// median is as often above a ratio as below.
func medianOf(ratios []float64) interval {
	n := len(ratios)
	if n == 0 {
		return interval{math.NaN(), math.NaN(), math.NaN()}
	}
	x := slices.Sorted(slices.Values(ratios))
	i := interval{math.NaN(), (x[(n-1)/2] + x[n/2]) / 2, math.NaN()}
	// The sum of P(k of n) for k < rank is the probability that the median is below x[rank].
	below, p := 0.0, math.Pow(0.5, float64(n))
	rank := -1
	for k := 0; k < n/2 && below+p <= 0.025; k++ {
		below += p
		p *= float64(n-k) / float64(k+1)
		rank = k
	}
	if rank >= 0 {
		i.low, i.high = x[rank], x[n-1-rank]
	}
	return i
}

func (i interval) String() string {
	return fmt.Sprintf("%.3f  [%.3f, %.3f]", i.median, i.low, i.high)
}

// geometricMean puts the ratios of several benchmarks in one round together.
func geometricMean(ratios []float64) float64 {
	var sum float64
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
