package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval holds the true median in 95 of 100 cases or some more.
func TestIntervalHoldsTheMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	inside := 0
	for range trials {
		x := make([]float64, 21)
		for i := range x {
			x[i] = rng.ExpFloat64()
		}
		if i := medianOf(x); i.low <= math.Ln2 && math.Ln2 <= i.high {
			inside++
		}
	}
	if share := float64(inside) / trials; share < 0.94 || share > 0.985 {
		t.Errorf("the interval holds the median in %.1f %% of cases", 100*share)
	}
}

func TestMedian(t *testing.T) {
	if i := medianOf([]float64{3, 1, 2}); i.median != 2 || !math.IsNaN(i.low) {
		t.Errorf("of three: %v", i)
	}
	if i := medianOf([]float64{6, 5, 4, 3, 2, 1}); i.median != 3.5 || i.low != 1 || i.high != 6 {
		t.Errorf("of six: %v", i) // P(all on one side) = 2/64
	}
	if i := medianOf(nil); !math.IsNaN(i.median) {
		t.Errorf("of none: %v", i)
	}
	if g := geometricMean([]float64{2, 0.5}); math.Abs(g-1) > 1e-12 {
		t.Errorf("geometric mean %v", g)
	}
}
