package timeline

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"unsafe"
)

// A program may have millions of goroutines. What few of them need is in Extra.
func TestSizeOfGoroutine(t *testing.T) {
	if size := unsafe.Sizeof(Goroutine{}); strconv.IntSize == 64 && size > 128 {
		t.Errorf("a Goroutine has %d bytes, more than the class of 128 of the allocator", size)
	}
}

// byID is like a map, for neighboring, distant and negative IDs.
func TestByID(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table byID
	want := map[int64]*Goroutine{}
	for range 20_000 {
		id := rng.Int64N(400) - 100
		if rng.IntN(4) == 0 {
			id <<= 40
		}
		switch {
		case want[id] == nil && rng.IntN(3) > 0:
			want[id] = &Goroutine{ID: id}
			table.add(want[id])
		case rng.IntN(3) > 0:
			delete(want, id)
			table.remove(id)
		}
		if got := table.at(id); got != want[id] {
			t.Fatalf("goroutine %d: %v, want %v", id, got, want[id])
		}
	}
	for g := range table.all {
		if want[g.ID] != g {
			t.Fatalf("goroutine %d: want %v", g.ID, want[g.ID])
		}
		delete(want, g.ID)
	}
	if len(want) > 0 {
		t.Errorf("%d goroutines are missing", len(want))
	}
	for _, p := range table.pages {
		if p.n == 0 {
			t.Errorf("page %d is empty", p.key)
		}
	}
}
