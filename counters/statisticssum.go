package counters

import "math"

// sum is Neumaier's compensated sum: its error does not grow with the number of terms, and sums of
// integers are exact as long as they fit a float64. The order of the terms is that of the rows.
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

// total is NaN if the sum is beyond what a float64 holds.
func (k *sum) total() float64 { return finite(k.s + k.c) }

func sumOf(values []float64) float64 {
	var k sum
	for _, v := range values {
		k.add(v)
	}
	return k.total()
}

// squares is Σ (v − mean)².
func squares(values []float64, mean float64) float64 {
	var k sum
	for _, v := range values {
		d := v - mean
		k.add(float64(d * d))
	}
	return k.total()
}

// meanOf and deviationOf are NaN where there is nothing to compute them from.
func meanOf(values []float64) float64 { return finite(sumOf(values) / float64(len(values))) }

func deviationOf(values []float64, mean float64) float64 { return math.Sqrt(varianceOf(values, mean)) }

// varianceOf is that of a sample: divided by n − 1.
func varianceOf(values []float64, mean float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	return squares(values, mean) / float64(len(values)-1)
}
