package median

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The ranks are those of the tables of the sign test.
func TestRank(t *testing.T) {
	for n, want := range map[int]int{1: -1, 5: -1, 6: 0, 8: 0, 9: 1, 12: 2, 15: 3, 20: 5, 30: 9, 40: 13, 100: 39, 2000: 955} {
		if got := rank(n); got != want {
			t.Errorf("of %d values: rank %d, want %d", n, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	if got, want := Of([]float64{9, 1, 2, 8, 3, 7, 4, 6, 5}), (Interval{2, 5, 8}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Of([]float64{4, 1, 2, 3}); got.Median != 2.5 || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("of four values: %v", got)
	}
	if got := Of(nil); !math.IsNaN(got.Median) || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("of none: %v", got)
	}
}

func TestText(t *testing.T) {
	for want, values := range map[string][]float64{
		"3.50 (1.00 to 6.00)": {6, 5, 4, 3, 2, 1}, // P(all on one side) = 2/64
		"3.00":                {5, 4, 3, 2, 1},
		"NaN":                 nil,
	} {
		if got := Of(values).Text("%.2f"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The interval contains the true median in at least about 95 of 100 cases.
func TestIntervalHoldsTheMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	inside := 0
	for range trials {
		x := make([]float64, 21)
		for i := range x {
			x[i] = rng.ExpFloat64()
		}
		if i := Of(x); i.Low <= math.Ln2 && math.Ln2 <= i.High {
			inside++
		}
	}
	if share := float64(inside) / trials; share < 0.94 || share > 0.985 {
		t.Errorf("the interval holds the median in %.1f %% of cases", 100*share)
	}
}
