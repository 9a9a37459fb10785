// Package apportion divides whole numbers among parts, so that the parts sum to the whole.
package apportion

import (
	"cmp"
	"math/bits"
	"slices"
)

// Enough is how many samples divide a time: with fewer, chance decides.
const Enough = 20

// Divide divides a whole in proportion to weights. The parts sum to the whole, and each differs
// from its exact value by less than 1. The weights sum to less than 2^64. Without any weight, the
// whole goes to the first part.
func Divide(whole uint64, weights []uint64) []uint64 {
	parts := make([]uint64, len(weights))
	var total uint64
	for _, w := range weights {
		total += w
	}
	switch {
	case len(weights) == 0:
		return parts
	case total == 0:
		parts[0] = whole
		return parts
	}
	// The part is the difference of two cumulative values, each rounded down.
	var weight, given uint64
	for i, w := range weights {
		weight += w
		hi, lo := bits.Mul64(whole, weight)
		upTo, _ := bits.Div64(hi, lo, total) // no overflow: weight <= total
		parts[i] = upTo - given
		given = upTo
	}
	return parts
}

// Round rounds numbers with fraction bits to whole ones that sum to a whole: down, and then those
// with the largest remainders up. What is left after that, if the whole is not the rounded sum of
// the numbers, goes to the largest of them.
func Round(whole int64, exact []uint64, fraction uint) []int64 {
	parts := make([]int64, len(exact))
	if len(exact) == 0 {
		return parts
	}
	left, largest := whole, 0
	order := make([]int, len(exact))
	for i, e := range exact {
		order[i] = i
		parts[i] = int64(e >> fraction)
		left -= parts[i]
		if e > exact[largest] {
			largest = i
		}
	}
	mask := uint64(1)<<fraction - 1
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(exact[b]&mask, exact[a]&mask) })
	for _, i := range order {
		if left > 0 && exact[i]&mask > 0 {
			parts[i]++
			left--
		}
	}
	parts[largest] += left
	return parts
}
