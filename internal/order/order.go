// Package order sorts slices of structs with little code. The functions of package slices are
// compiled again for each element type: 5 to 28 kB for a struct, in every program that imports
// these packages.
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

// indexes returns the indexes below n in order. It is not generic, so it is compiled once.
func indexes(n int, compare func(a, b int) int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, compare)
	return all
}

// Merge sorts s as Stable does, and adds elements that are equal to the first of them.
func Merge[S ~[]E, E any](s S, compare func(a, b E) int, add func(sum, more *E)) S {
	Stable(s, compare)
	n := 0
	for i := range s {
		if n > 0 && compare(s[n-1], s[i]) == 0 {
			add(&s[n-1], &s[i])
			continue
		}
		s[n] = s[i]
		n++
	}
	clear(s[n:])
	return s[:n]
}

// InPlace sorts n elements by heap sort, unless they are in order. Package sort takes 5 kB more.
func InPlace(n int, less func(i, j int) bool, swap func(i, j int)) {
	sorted := true
	for i := 1; i < n && sorted; i++ {
		sorted = !less(i, i-1)
	}
	if sorted {
		return
	}
	sift := func(root, n int) {
		for child := 2*root + 1; child < n; child = 2*root + 1 {
			if child+1 < n && less(child, child+1) {
				child++
			}
			if !less(root, child) {
				return
			}
			swap(root, child)
			root = child
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		sift(i, n)
	}
	for i := n - 1; i > 0; i-- {
		swap(0, i)
		sift(0, i)
	}
}
