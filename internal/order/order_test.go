package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Stable does what slices.SortStableFunc does.
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
