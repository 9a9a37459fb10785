//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"sync"
	"testing"
	"time"
)

// The speed of the same instructions varies by up to 20 % with their position in a cache line. So
// each function does the same six times, at different places.

const (
	uncontended = 10_000 // calls of such a function between two clock readings
	sixTimes    = 6
	// A failed TryLock takes less than a function needs for its stack frame, which only those have
	// that may call another one. So such a function calls it sixTimes · inARow times.
	inARow = 16
)

var (
	pm, pheld sync.Mutex
	wm, wheld Mutex
	pr        sync.RWMutex
	wr        RWMutex
	counted   int // changed by the critical sections
)

var uncontendedOperations = []struct {
	name           string
	plain, wrapped func()
}{
	{"Lock",
		func() {
			pm.Lock()
			pm.Unlock()
			pm.Lock()
			pm.Unlock()
			pm.Lock()
			pm.Unlock()
			pm.Lock()
			pm.Unlock()
			pm.Lock()
			pm.Unlock()
			pm.Lock()
			pm.Unlock()
		},
		func() {
			wm.Lock()
			wm.Unlock()
			wm.Lock()
			wm.Unlock()
			wm.Lock()
			wm.Unlock()
			wm.Lock()
			wm.Unlock()
			wm.Lock()
			wm.Unlock()
			wm.Lock()
			wm.Unlock()
		}},
	{"LockAndCount",
		func() {
			pm.Lock()
			counted++
			pm.Unlock()
			pm.Lock()
			counted++
			pm.Unlock()
			pm.Lock()
			counted++
			pm.Unlock()
			pm.Lock()
			counted++
			pm.Unlock()
			pm.Lock()
			counted++
			pm.Unlock()
			pm.Lock()
			counted++
			pm.Unlock()
		},
		func() {
			wm.Lock()
			counted++
			wm.Unlock()
			wm.Lock()
			counted++
			wm.Unlock()
			wm.Lock()
			counted++
			wm.Unlock()
			wm.Lock()
			counted++
			wm.Unlock()
			wm.Lock()
			counted++
			wm.Unlock()
			wm.Lock()
			counted++
			wm.Unlock()
		}},
	{"TryLock",
		func() {
			pm.TryLock()
			pm.Unlock()
			pm.TryLock()
			pm.Unlock()
			pm.TryLock()
			pm.Unlock()
			pm.TryLock()
			pm.Unlock()
			pm.TryLock()
			pm.Unlock()
			pm.TryLock()
			pm.Unlock()
		},
		func() {
			wm.TryLock()
			wm.Unlock()
			wm.TryLock()
			wm.Unlock()
			wm.TryLock()
			wm.Unlock()
			wm.TryLock()
			wm.Unlock()
			wm.TryLock()
			wm.Unlock()
			wm.TryLock()
			wm.Unlock()
		}},
	{"TryLockHeld",
		func() {
			for range inARow {
				pheld.TryLock()
				pheld.TryLock()
				pheld.TryLock()
				pheld.TryLock()
				pheld.TryLock()
				pheld.TryLock()
			}
		},
		func() {
			for range inARow {
				wheld.TryLock()
				wheld.TryLock()
				wheld.TryLock()
				wheld.TryLock()
				wheld.TryLock()
				wheld.TryLock()
			}
		}},
	{"RWLock",
		func() {
			pr.Lock()
			pr.Unlock()
			pr.Lock()
			pr.Unlock()
			pr.Lock()
			pr.Unlock()
			pr.Lock()
			pr.Unlock()
			pr.Lock()
			pr.Unlock()
			pr.Lock()
			pr.Unlock()
		},
		func() {
			wr.Lock()
			wr.Unlock()
			wr.Lock()
			wr.Unlock()
			wr.Lock()
			wr.Unlock()
			wr.Lock()
			wr.Unlock()
			wr.Lock()
			wr.Unlock()
			wr.Lock()
			wr.Unlock()
		}},
	{"RWTryLock",
		func() {
			pr.TryLock()
			pr.Unlock()
			pr.TryLock()
			pr.Unlock()
			pr.TryLock()
			pr.Unlock()
			pr.TryLock()
			pr.Unlock()
			pr.TryLock()
			pr.Unlock()
			pr.TryLock()
			pr.Unlock()
		},
		func() {
			wr.TryLock()
			wr.Unlock()
			wr.TryLock()
			wr.Unlock()
			wr.TryLock()
			wr.Unlock()
			wr.TryLock()
			wr.Unlock()
			wr.TryLock()
			wr.Unlock()
			wr.TryLock()
			wr.Unlock()
		}},
	{"RLock",
		func() {
			pr.RLock()
			pr.RUnlock()
			pr.RLock()
			pr.RUnlock()
			pr.RLock()
			pr.RUnlock()
			pr.RLock()
			pr.RUnlock()
			pr.RLock()
			pr.RUnlock()
			pr.RLock()
			pr.RUnlock()
		},
		func() {
			wr.RLock()
			wr.RUnlock()
			wr.RLock()
			wr.RUnlock()
			wr.RLock()
			wr.RUnlock()
			wr.RLock()
			wr.RUnlock()
			wr.RLock()
			wr.RUnlock()
			wr.RLock()
			wr.RUnlock()
		}},
	{"TryRLock",
		func() {
			pr.TryRLock()
			pr.RUnlock()
			pr.TryRLock()
			pr.RUnlock()
			pr.TryRLock()
			pr.RUnlock()
			pr.TryRLock()
			pr.RUnlock()
			pr.TryRLock()
			pr.RUnlock()
			pr.TryRLock()
			pr.RUnlock()
		},
		func() {
			wr.TryRLock()
			wr.RUnlock()
			wr.TryRLock()
			wr.RUnlock()
			wr.TryRLock()
			wr.RUnlock()
			wr.TryRLock()
			wr.RUnlock()
			wr.TryRLock()
			wr.RUnlock()
			wr.TryRLock()
			wr.RUnlock()
		}},
}

// leastTime returns the minimum time of a function so far, in ns for each of the six.
func leastTime(least float64, f func()) float64 {
	took := float64(timed(func() {
		for range uncontended {
			f()
		}
	})) / (uncontended * sixTimes)
	if least == 0 {
		return took
	}
	return min(least, took)
}

func BenchmarkUncontended(b *testing.B) {
	pheld.Lock()
	wheld.Lock()
	defer pheld.Unlock()
	defer wheld.Unlock()
	for _, mode := range []string{"off", "on", "others-waited-for"} {
		b.Run(mode, func(b *testing.B) {
			if mode != "off" {
				collect(b, Options{})
			}
			if mode == "others-waited-for" {
				var m Mutex
				var rw RWMutex
				var waiters sync.WaitGroup
				m.Lock()
				rw.Lock()
				waiters.Go(func() { m.Lock(); m.Unlock() })
				waiters.Go(func() { rw.RLock(); rw.RUnlock() })
				defer waiters.Wait()
				defer m.Unlock()
				defer rw.Unlock()
			}
			for _, c := range uncontendedOperations {
				b.Run(c.name, func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						var p, w float64
						for from := time.Now(); time.Since(from) < time.Second; {
							p, w = leastTime(p, c.plain), leastTime(w, c.wrapped)
						}
						if c.name == "TryLockHeld" {
							p, w = p/inARow, w/inARow
						}
						b.ReportMetric(p, "plain-ns")
						b.ReportMetric(w, "wrapped-ns")
						b.ReportMetric(w/p, "x-time")
					}
				})
			}
		})
	}
}
