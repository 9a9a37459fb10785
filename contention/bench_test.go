//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"fmt"
	"io"
	"math"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks time sync's lock and the wrapper alternately, in one run, and report the ratio:
// wrapped/plain time for uncontended locks ("x-time", at most 1.15), and wrapped/plain throughput
// for contended ones ("x-throughput", at least 0.95 or 0.90).

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

// hammer has goroutines lock and unlock for about d, with holds of work(n), and returns the number
// of holds per millisecond.
func hammer(l sync.Locker, goroutines, n int, d time.Duration) float64 {
	return together(goroutines, d, func() int64 {
		l.Lock()
		work(n)
		l.Unlock()
		return 1
	})
}

// A contest is rounds of a plain and a wrapped lock in alternation; which goes first alternates as
// well. Rounds are short, so that a disturbance does not affect many.
type contest struct{ plain, wrapped []float64 }

func (c *contest) run(rounds int, plain, wrapped func() float64) {
	for i := range rounds {
		if i%2 == 0 {
			c.plain, c.wrapped = append(c.plain, plain()), append(c.wrapped, wrapped())
		} else {
			c.wrapped, c.plain = append(c.wrapped, wrapped()), append(c.plain, plain())
		}
	}
}

// report prints the ratio of the mean throughputs and half its 95 % confidence interval.
func (c *contest) report(b *testing.B) {
	p, w := mean(c.plain), mean(c.wrapped)
	var square float64
	for i := range c.plain {
		d := c.wrapped[i]/w - c.plain[i]/p
		square += d * d
	}
	n := float64(len(c.plain))
	b.ReportMetric(p, "plain-ops/ms")
	b.ReportMetric(w/p, "x-throughput")
	b.ReportMetric(1.96*w/p*math.Sqrt(square)/n, "±")
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// alone returns a lock that shares its cache lines with nothing, because its neighbors in memory
// change the throughput of short holds by up to 20 %.
func alone[L any]() *L {
	p := new(struct {
		_ [128]byte
		l L
		_ [128]byte
	})
	return &p.l
}

// together has goroutines call f for about d and returns the sum of its results per millisecond. On
// few busy processors, the end of d is noticed late.
func together(goroutines int, d time.Duration, f func() int64) float64 {
	ops, stop := alone[atomic.Int64](), alone[atomic.Bool]()
	var wg sync.WaitGroup
	began := time.Now()
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
	took := time.Since(began)
	wg.Wait()
	return float64(ops.Load()) / took.Seconds() / 1000
}

func BenchmarkParallelReaders(b *testing.B) {
	const round, batch = 10 * time.Millisecond, 64
	for _, g := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", g), func(b *testing.B) {
			collect(b, Options{})
			var c contest
			for range b.N {
				c.run(101, func() float64 {
					l := alone[sync.RWMutex]()
					return together(g, round, func() int64 {
						for range batch {
							l.RLock()
							l.RUnlock()
						}
						return batch
					})
				}, func() float64 {
					l := alone[RWMutex]()
					return together(g, round, func() int64 {
						for range batch {
							l.RLock()
							l.RUnlock()
						}
						return batch
					})
				})
			}
			c.report(b)
		})
	}
}

func BenchmarkContended(b *testing.B) {
	benchmarkContended(b, Options{}, func() (plain, wrapped sync.Locker) { return alone[sync.Mutex](), alone[Mutex]() })
}

func BenchmarkContendedExact(b *testing.B) {
	benchmarkContended(b, Options{Exact: true}, func() (plain, wrapped sync.Locker) { return alone[sync.Mutex](), alone[Mutex]() })
}

// BenchmarkContendedItself is the error of the others: the ratio of two locks of package sync.
func BenchmarkContendedItself(b *testing.B) {
	benchmarkContended(b, Options{}, func() (plain, wrapped sync.Locker) { return alone[sync.Mutex](), alone[sync.Mutex]() })
}

func BenchmarkContendedWriters(b *testing.B) {
	benchmarkContended(b, Options{}, func() (plain, wrapped sync.Locker) { return alone[sync.RWMutex](), alone[RWMutex]() })
}

func benchmarkContended(b *testing.B, o Options, locks func() (plain, wrapped sync.Locker)) {
	const round = 5 * time.Millisecond
	perNS := workPerNS()
	for _, hold := range []int{50, 1000} {
		for _, g := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("hold=%dns/goroutines=%d", hold, g), func(b *testing.B) {
				collect(b, o)
				n := int(float64(hold) * perNS)
				var c contest
				for range b.N {
					// The locks are kept, as those of programs are. The ratio
					// excludes the first millisecond, in which every wait is
					// recorded.
					plain, wrapped := locks()
					hammer(wrapped, g, n, 10*round)
					c.run(801,
						func() float64 { return hammer(plain, g, n, round) },
						func() float64 { return hammer(wrapped, g, n, round) })
				}
				c.report(b)
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

// BenchmarkRecord is a wait behind one owner without the blocking: by the depth of the call chains,
// and with the messages in the trace.
func BenchmarkRecord(b *testing.B) {
	run := func(b *testing.B, depth int) {
		if err := Start(Options{Exact: true}); err != nil {
			b.Fatal(err)
		}
		defer Stop()
		var m Mutex
		b.ReportAllocs()
		recurse(depth, func() {
			for b.Loop() {
				var w wait
				m.arrive(&w, m.draw(), kindMutex, 0)
				m.lockSlow(false, 0)
				m.Unlock() // an exit, as w waits
				m.mu.Lock()
				m.acquired(&w)
				m.Unlock()
			}
		})
	}
	for _, depth := range []int{0, 32} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) { run(b, depth) })
	}
	b.Run("traced", func(b *testing.B) {
		if err := rtrace.Start(io.Discard); err != nil {
			b.Skip(err)
		}
		defer rtrace.Stop()
		run(b, 0)
	})
}
