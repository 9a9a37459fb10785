package main

import (
	"math"
	"testing"
)

func TestMedianOf(t *testing.T) {
	if got, want := medianOf([]float64{6, 5, 4, 3, 2, 1}), "3.500  [1.000, 6.000]"; got != want { // P(all on one side) = 2/64
		t.Errorf("%s, want %s", got, want)
	}
}

func TestGeometricMean(t *testing.T) {
	if g := geometricMean([]float64{2, 0.5}); math.Abs(g-1) > 1e-12 {
		t.Errorf("geometric mean %v", g)
	}
}
