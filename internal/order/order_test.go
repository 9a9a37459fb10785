package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Stable sorts like slices.SortStableFunc.
func TestStable(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	for n := range 200 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{rand.IntN(1 + n/4), i}
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, byKey)
		if Stable(s, byKey); !slices.Equal(s, want) {
			t.Fatalf("%d elements: %v, want %v", n, s, want)
		}
	}
}

// InPlace sorts any input, with equal elements or not, and moves nothing that is in order.
func TestInPlace(t *testing.T) {
	for n := range 200 {
		s := make([]int, n)
		for i := range s {
			s[i] = rand.IntN(1 + n/2)
		}
		want := slices.Sorted(slices.Values(s))
		moves := 0
		sort := func() {
			InPlace(n, func(i, j int) bool { return s[i] < s[j] }, func(i, j int) { moves++; s[i], s[j] = s[j], s[i] })
		}
		if sort(); !slices.Equal(s, want) {
			t.Fatalf("%d elements: %v, want %v", n, s, want)
		}
		moves = 0
		if sort(); moves != 0 {
			t.Fatalf("%d elements in order: %d moves", n, moves)
		}
	}
}
