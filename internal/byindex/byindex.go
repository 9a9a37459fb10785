// Package byindex keeps what observers know of each live goroutine by timeline.Goroutine.Index. A
// slice that grows to a million elements is copied dozens of times, and holds both copies for a
// moment; this table grows in pieces that stay where they are.
package byindex

import "iter"

// Table is a table of values by small numbers. The zero value is empty.
type Table[T any] struct{ pieces []*[pieceSize]T }

const (
	pieceBits = 6
	pieceSize = 1 << pieceBits
)

// At returns the value of a number, which is new if there was none of a number as large. It stays
// where it is.
func (t *Table[T]) At(i int) *T {
	for i>>pieceBits >= len(t.pieces) {
		t.pieces = append(t.pieces, new([pieceSize]T))
	}
	return &t.pieces[i>>pieceBits][i&(pieceSize-1)]
}

// Known returns the value of a number, nil if there is none.
func (t *Table[T]) Known(i int) *T {
	if i>>pieceBits >= len(t.pieces) {
		return nil
	}
	return &t.pieces[i>>pieceBits][i&(pieceSize-1)]
}

// All returns the values in the order of their numbers. There are some more than were asked for.
func (t *Table[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, p := range t.pieces {
			for i := range p {
				if !yield(&p[i]) {
					return
				}
			}
		}
	}
}
