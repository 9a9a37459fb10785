//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"runtime"
	"sync"
	"testing"
)

// No operation allocates once the call chains and rows exist, with or without waiters.
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
	t.Run("all waits", func(t *testing.T) { contendedAllocations(t, &m, &rw) })
}

// The same holds when only some waits are recorded.
func TestNoAllocationsSampled(t *testing.T) {
	collecting(t, Options{})
	var m Mutex
	var rw RWMutex
	m.state().drawn(2)
	rw.state().drawn(2)
	contendedAllocations(t, &m, &rw)
}

func contendedAllocations(t *testing.T, m *Mutex, rw *RWMutex) {
	const goroutines, rounds = 4, 5000
	observed := func(sign int64, waits map[string]int64) {
		for _, w := range Snapshot().Waits {
			waits[w.Kind] += sign * w.Observed
		}
	}
	contend := func() map[string]int64 {
		waits := map[string]int64{}
		observed(-1, waits)
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := range rounds {
					hold := func() {
						if work(500); i%16 == 0 {
							runtime.Gosched() // the others arrive and have to wait
						}
					}
					m.Lock()
					hold()
					m.Unlock()
					if i%8 == 0 {
						rw.Lock()
						hold()
						rw.Unlock()
					} else {
						rw.RLock()
						hold()
						rw.RUnlock()
					}
				}
			})
		}
		wg.Wait()
		observed(1, waits)
		return waits
	}
	contend() // creates the rows
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	waits := contend()
	runtime.ReadMemStats(&end)
	var all uint64
	for _, k := range []string{MutexKind, RWMutexWriterKind, RWMutexReaderKind} {
		if all += uint64(waits[k]); waits[k] == 0 {
			t.Errorf("no wait for a %s", k)
		}
	}
	// The snapshots, the goroutines, and a longer history if a goroutine waits for longer than
	// before.
	if n := end.Mallocs - begin.Mallocs; n > 1000+all/4 {
		t.Errorf("%d allocations in %d operations and the waits %v", n, 2*goroutines*rounds, waits)
	}
}
