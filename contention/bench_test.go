//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks time sync's lock and the wrapper in turns, in one run, and report
// the ratio: wrapped/plain time for uncontended locks ("x-time", at most 1.15), and
// wrapped/plain throughput for contended ones ("x-throughput", at least 0.95 or 0.90).

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
	return together(goroutines, d, func() int64 {
		l.Lock()
		work(n)
		l.Unlock()
		return 1
	})
}

// ratios has both run for d in turns, rounds times, and returns the median of the
// wrapped/plain throughputs of a round, and that of the plain ones per ms. Rounds are short,
// so that what disturbs one does not disturb many; who goes first changes.
func ratios(rounds int, d time.Duration, plain, wrapped func() int64) (ratio, perMS float64) {
	var r, p []float64
	for i := range rounds {
		var a, b int64
		if i%2 == 0 {
			a, b = plain(), wrapped()
		} else {
			b, a = wrapped(), plain()
		}
		r = append(r, float64(b)/float64(a))
		p = append(p, float64(a)*float64(time.Millisecond)/float64(d))
	}
	slices.Sort(r)
	slices.Sort(p)
	return r[len(r)/2], p[len(p)/2]
}

// together has goroutines call f for d and returns the sum of its results.
func together(goroutines int, d time.Duration, f func() int64) int64 {
	var ops atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var mine int64
			for !stop.Load() {
				mine += f()
			}
			ops.Add(mine)
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	return ops.Load()
}

func BenchmarkParallelReaders(b *testing.B) {
	const round, batch = 10 * time.Millisecond, 64
	for _, g := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", g), func(b *testing.B) {
			collect(b, Options{})
			for range b.N {
				ratio, ops := ratios(101, round, func() int64 {
					var l sync.RWMutex
					return together(g, round, func() int64 {
						for range batch {
							l.RLock()
							l.RUnlock()
						}
						return batch
					})
				}, func() int64 {
					var l RWMutex
					return together(g, round, func() int64 {
						for range batch {
							l.RLock()
							l.RUnlock()
						}
						return batch
					})
				})
				b.ReportMetric(ops, "plain-ops/ms")
				b.ReportMetric(ratio, "x-throughput")
			}
		})
	}
}

func BenchmarkContended(b *testing.B) {
	const round = 5 * time.Millisecond
	perNS := workPerNS()
	for _, hold := range []int{50, 1000} {
		for _, g := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("hold=%dns/goroutines=%d", hold, g), func(b *testing.B) {
				collect(b, Options{})
				n := int(float64(hold) * perNS)
				for range b.N {
					// The lock lives on, as those of programs do; its first millisecond, in which
					// every wait is recorded, is not in the ratio.
					var l Mutex
					hammer(&l, g, n, 10*round)
					ratio, ops := ratios(401, round,
						func() int64 { return hammer(new(sync.Mutex), g, n, round) },
						func() int64 { return hammer(&l, g, n, round) })
					b.ReportMetric(ops, "plain-ops/ms")
					b.ReportMetric(ratio, "x-throughput")
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
