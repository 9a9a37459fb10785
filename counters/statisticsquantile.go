package counters

import (
	"math"
	"math/bits"
	"slices"
)

// quantilesShown are those that statistics give.
var quantilesShown = []float64{.01, .05, .25, .5, .75, .95, .99}

// rank is the index of a quantile among n sorted values: the nearest rank. The small number
// takes off what the product was rounded up by: .07·100 is 7, not 7.000000000000001.
func rank(q float64, n int) int {
	r := int(math.Ceil(float64(q*float64(n)) - 1e-9))
	return max(1, min(r, n)) - 1
}

// quantiles returns exact quantiles of values, which it reorders: values that occur. Finding those
// shown takes about a third of the time of sorting.
func quantiles(values []float64, qs []float64) []float64 {
	out := make([]float64, len(qs))
	if len(values) == 0 {
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	ranks := make([]int, len(qs))
	for i, q := range qs {
		ranks[i] = rank(q, len(values))
	}
	wanted := slices.Clone(ranks)
	slices.Sort(wanted)
	selectRanks(values, 0, slices.Compact(wanted), 2*bits.Len(uint(len(values))))
	for i, r := range ranks {
		out[i] = values[r]
	}
	return out
}

// selectRanks reorders values, whose first has the index base, so that those at the given indexes
// are what they would be if all were sorted: quicksort that leaves out the parts without such an
// index, and turns to sorting where the pivots are bad too often.
func selectRanks(values []float64, base int, ranks []int, budget int) {
	for len(ranks) > 0 && len(values) > 1 {
		if len(values) < 64 || budget == 0 {
			slices.Sort(values)
			return
		}
		budget--
		low, high := partition(values)
		// values[:low] < pivot, values[low:high] == pivot, values[high:] > pivot
		left, _ := slices.BinarySearch(ranks, base+low)
		right, _ := slices.BinarySearch(ranks, base+high)
		selectRanks(values[:low], base, ranks[:left], budget)
		values, base, ranks = values[high:], base+high, ranks[right:]
	}
}

// partition puts what is less than a pivot first, what is equal in the middle, what is greater
// last.
func partition(values []float64) (low, high int) {
	pivot := ninther(values)
	low, high = 0, len(values)
	for i := 0; i < high; {
		switch v := values[i]; {
		case v < pivot:
			values[i], values[low] = values[low], v
			low++
			i++
		case v > pivot:
			high--
			values[i], values[high] = values[high], v
		default:
			i++
		}
	}
	return low, high
}

// ninther is the median of three medians of three.
func ninther(values []float64) float64 {
	n := len(values)
	at := func(i int) float64 {
		return median(values[i], values[i+n/9], values[i+2*(n/9)])
	}
	return median(at(0), at(n/3), at(n-1-2*(n/9)))
}

func median(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
