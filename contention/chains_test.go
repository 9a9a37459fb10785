package contention

import (
	"runtime"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// manyChains is the number of call chains in the tests of bounded memory.
func manyChains() int {
	if race.Enabled {
		return 1 << 15
	}
	return 1 << 20
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// deepLeft and deepRight call each other along the bits of n, so that f has a call chain of its own
// for each n.
//
//go:noinline
func deepLeft(n, bits int, f func()) {
	if bits > 0 {
		if n&1 == 0 {
			deepLeft(n>>1, bits-1, f)
			return
		}
		deepRight(n>>1, bits-1, f)
		return
	}
	f()
}

//go:noinline
func deepRight(n, bits int, f func()) {
	if bits > 0 {
		if n&1 == 0 {
			deepLeft(n>>1, bits-1, f)
			return
		}
		deepRight(n>>1, bits-1, f)
		return
	}
	f()
}

// TestMillionChains: waits with a million call chains, as owners and waiters. Memory is bounded,
// dropped chains are counted, and the sums stay exact.
func TestMillionChains(t *testing.T) {
	const kept = 1000
	n := manyChains()
	before := heap()
	collecting(t, Options{Exact: true, MaxChains: kept, MaxPairs: kept})
	var m Mutex
	// f does the work of a goroutine that finds the lock held, without the blocking.
	f := func() {
		m.lockSlow(false, 0)
		m.Unlock()
	}
	for i := range n {
		deepLeft(i, 20, f)
	}
	p := Snapshot()
	grown := int64(heap()) - int64(before)
	checkConservation(t, p)
	var count int64
	for _, w := range p.Waits {
		count += w.Contentions
	}
	if count != int64(n) || p.InFlight != 0 {
		t.Errorf("%d contentions, %d in flight, want %d", count, p.InFlight, n)
	}
	if lost := int(p.Dropped.Chains); lost < n-kept || lost > 2*n {
		t.Errorf("%d call chains dropped of %d", lost, n)
	}
	if rows := len(p.Waits) + len(p.Pairs); rows > 2*kept+4 || rows < kept/2 {
		t.Errorf("%d rows", rows)
	}
	if grown > 32<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	if len(p.Warnings) == 0 {
		t.Error("no warning")
	}
}
