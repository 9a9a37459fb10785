//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"runtime"
	"sync"
	"testing"
)

// No operation allocates, be there waiters or not, once the call chains and rows are there.
func TestNoAllocations(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	var rw RWMutex
	for name, f := range map[string]func(){
		"Lock":    func() { m.Lock(); m.Unlock() },
		"RW Lock": func() { rw.Lock(); rw.Unlock() },
		"RLock":   func() { rw.RLock(); rw.RUnlock() },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s and its Unlock, uncontended: %v allocations", name, n)
		}
	}
	const goroutines, rounds = 4, 5000
	contend := func() (waits int64) {
		before := Snapshot()
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := range rounds {
					m.Lock()
					work(500)
					m.Unlock()
					if i%8 == 0 {
						rw.Lock()
						work(500)
						rw.Unlock()
					} else {
						rw.RLock()
						work(500)
						rw.RUnlock()
					}
					if i%64 == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		wg.Wait()
		for _, w := range Snapshot().Since(before).Waits {
			waits += w.Contentions
		}
		return waits
	}
	contend() // makes the rows
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	waits := contend()
	runtime.ReadMemStats(&end)
	// The snapshots, the goroutines, and a longer history where somebody waits for longer than before.
	if n := end.Mallocs - begin.Mallocs; n > goroutines*rounds/10 {
		t.Errorf("%d allocations in %d operations and %d waits", n, 2*goroutines*rounds, waits)
	}
}
