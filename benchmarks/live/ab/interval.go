package ab

import (
	"fmt"
	"math"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// interval formats the mean of relative differences with its 95 % confidence interval by Student's
// t, and the median with its own, which a few disturbed slices do not change.
func interval(v []float64) string {
	m := mean(v)
	var ss float64
	for _, x := range v {
		ss += (x - m) * (x - m)
	}
	half := math.NaN()
	if n := float64(len(v)); n > 1 {
		half = student(len(v)-1) * math.Sqrt(ss/(n-1)/n)
	}
	middle := median.Of(v)
	s := fmt.Sprintf("%+6.2f %% ± %5.2f (median %+6.2f", 100*m, 100*half, 100*middle.Median)
	if !math.IsNaN(middle.Low) {
		s += fmt.Sprintf(", %+.2f to %+.2f", 100*middle.Low, 100*middle.High)
	}
	return s + ")"
}

// student is the 97.5 % quantile of Student's t distribution.
func student(df int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if df <= len(table) {
		return table[df-1]
	}
	return 1.96 + 2.4/float64(df)
}
