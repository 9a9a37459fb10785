// Package order sorts slices of structs in little code. The functions of package slices are
// compiled anew for each type of elements: 5 to 28 kB for a struct, which all programs that import
// these packages would have to carry.
package order

import "slices"

// Stable sorts s and keeps the order of equal elements, as slices.SortStableFunc does. It sorts the
// indexes and then moves each element once, so it needs memory for a second s.
func Stable[S ~[]E, E any](s S, compare func(a, b E) int) {
	if len(s) < 2 {
		return
	}
	sorted := make(S, len(s))
	for i, from := range indexes(len(s), func(a, b int) int { return compare(s[a], s[b]) }) {
		sorted[i] = s[from]
	}
	copy(s, sorted)
}

// indexes returns the indexes below n in order. It is what need not be compiled for each type.
func indexes(n int, compare func(a, b int) int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, compare)
	return all
}
