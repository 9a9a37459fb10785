package query

import (
	"iter"
	"math/bits"
)

// Set is an immutable set of the rows of a recording, with a bit for each. Both sides of an operation
// must be sets of the same recording.
type Set struct {
	words []uint64
	n     int
}

// AllRows returns the set of all n rows.
func AllRows(n int) *Set { return RowsWhere(n, func(int) bool { return true }) }

// NoRows returns the empty set of n rows.
func NoRows(n int) *Set { return &Set{words: make([]uint64, (n+63)/64), n: n} }

// RowsWhere returns the set of those of n rows for which in returns true.
func RowsWhere(n int, in func(row int) bool) *Set {
	s := NoRows(n)
	for i := range s.words {
		var w uint64
		for row := i << 6; row < min(i<<6+64, s.n); row++ {
			var bit uint64
			if in(row) {
				bit = 1
			}
			w |= bit << (row & 63)
		}
		s.words[i] = w
	}
	return s
}

func (s *Set) add(row int) { s.words[row>>6] |= 1 << (row & 63) }

// Len returns the number of rows of the recording, whether in the set or not.
func (s *Set) Len() int { return s.n }

// Count returns the number of rows in the set.
func (s *Set) Count() int {
	count := 0
	for _, w := range s.words {
		count += bits.OnesCount64(w)
	}
	return count
}

// Rows returns the rows of the set in order.
func (s *Set) Rows() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// Union returns the rows that are in s, in t or in both.
func (s *Set) Union(t *Set) *Set {
	return s.combine(t, func(a, b uint64) uint64 { return a | b })
}

// Intersect returns the rows that are in both s and t.
func (s *Set) Intersect(t *Set) *Set {
	return s.combine(t, func(a, b uint64) uint64 { return a & b })
}

// Difference returns the rows that are in s but not in t.
func (s *Set) Difference(t *Set) *Set {
	return s.combine(t, func(a, b uint64) uint64 { return a &^ b })
}

// Complement returns the rows of the recording that are not in s.
func (s *Set) Complement() *Set { return AllRows(s.n).Difference(s) }

func (s *Set) combine(t *Set, op func(a, b uint64) uint64) *Set {
	out := NoRows(s.n)
	for i := range out.words {
		out.words[i] = op(s.words[i], t.words[i])
	}
	return out
}
