//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks time sync's lock and the wrapper in turns, in one run, and report
// the ratio: wrapped/plain time for uncontended locks ("x-time", at most 1.15), and
// wrapped/plain throughput for contended ones ("x-throughput", at least 0.95 or 0.90).

// alternate runs both in turns for rounds and returns the least time of each, which
// is what they take when nothing else disturbs.
func alternate(rounds int, plain, wrapped func() time.Duration) (p, w time.Duration) {
	p, w = 1<<62, 1<<62
	for range rounds {
		p = min(p, plain())
		w = min(w, wrapped())
	}
	return p, w
}

func timed(f func()) time.Duration {
	t := time.Now()
	f()
	return time.Since(t)
}

func collect(b testing.TB, o Options) {
	b.Helper()
	if err := Start(o); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { Stop() })
}

func BenchmarkUncontended(b *testing.B) {
	const n = 2_000_000
	for _, on := range []bool{false, true} {
		name := "off"
		if on {
			name = "on"
		}
		b.Run(name, func(b *testing.B) {
			if on {
				collect(b, Options{})
			}
			var pm sync.Mutex
			var wm Mutex
			var pr sync.RWMutex
			var wr RWMutex
			for _, c := range []struct {
				name           string
				plain, wrapped func()
			}{
				{"Lock", func() {
					for range n {
						pm.Lock()
						pm.Unlock()
					}
				}, func() {
					for range n {
						wm.Lock()
						wm.Unlock()
					}
				}},
				{"RWLock", func() {
					for range n {
						pr.Lock()
						pr.Unlock()
					}
				}, func() {
					for range n {
						wr.Lock()
						wr.Unlock()
					}
				}},
				{"RLock", func() {
					for range n {
						pr.RLock()
						pr.RUnlock()
					}
				}, func() {
					for range n {
						wr.RLock()
						wr.RUnlock()
					}
				}},
			} {
				b.Run(c.name, func(b *testing.B) {
					b.ReportAllocs()
					for range b.N {
						p, w := alternate(15, func() time.Duration { return timed(c.plain) }, func() time.Duration { return timed(c.wrapped) })
						b.ReportMetric(float64(p)/n, "plain-ns")
						b.ReportMetric(float64(w)/n, "wrapped-ns")
						b.ReportMetric(float64(w)/float64(p), "x-time")
					}
				})
			}
		})
	}
}

// spin takes about d without giving up the processor.
func spin(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
	}
}

// work takes about n/2 ns of arithmetic.
func work(n int) {
	x := uint32(1)
	for range n {
		x = x*1664525 + 1013904223
	}
	sink.Store(x)
}

var sink atomic.Uint32

// hammer has goroutines take the lock for d, holding it for work(n), and returns
// how often they did together.
func hammer(l sync.Locker, goroutines, n int, d time.Duration) int64 {
	var ops atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var mine int64
			for !stop.Load() {
				l.Lock()
				work(n)
				l.Unlock()
				mine++
			}
			ops.Add(mine)
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	return ops.Load()
}

func BenchmarkContended(b *testing.B) {
	perNS := workPerNS()
	for _, hold := range []int{50, 1000} {
		for _, g := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("hold=%dns/goroutines=%d", hold, g), func(b *testing.B) {
				collect(b, Options{})
				n := int(float64(hold) * perNS)
				for range b.N {
					var plain, wrapped int64
					for range 10 {
						plain += hammer(new(sync.Mutex), g, n, 50*time.Millisecond)
						wrapped += hammer(new(Mutex), g, n, 50*time.Millisecond)
					}
					b.ReportMetric(float64(plain)/500, "plain-ops/ms")
					b.ReportMetric(float64(wrapped)/float64(plain), "x-throughput")
				}
			})
		}
	}
}

// workPerNS calibrates work.
func workPerNS() float64 {
	const n = 1_000_000
	best := time.Duration(1 << 62)
	for range 10 {
		best = min(best, timed(func() { work(n) }))
	}
	return n / float64(best)
}
