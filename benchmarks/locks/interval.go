package main

import (
	"fmt"
	"math"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

// medianOf writes the median of some ratios, and where the true one is with a probability of 95 %
// at least. That is [NaN, NaN] if there are less than 6.
func medianOf(ratios []float64) string {
	i := median.Of(ratios)
	return fmt.Sprintf("%.3f  [%.3f, %.3f]", i.Median, i.Low, i.High)
}

// geometricMean puts the ratios of several benchmarks in one round together.
func geometricMean(ratios []float64) float64 {
	var sum float64
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
