package granularity

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/lazy"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
)

// barePool is Pool without measuring: a channel, workers and a wait group.
type barePool struct {
	tasks chan func()
	wg    sync.WaitGroup
	done  sync.WaitGroup
}

func newBarePool(workers int) *barePool {
	p := &barePool{tasks: make(chan func(), 4*workers)}
	for range workers {
		p.done.Go(func() {
			for f := range p.tasks {
				p.run(f)
			}
		})
	}
	return p
}

func (p *barePool) run(f func()) {
	defer p.wg.Done()
	f()
}

func (p *barePool) Submit(f func()) {
	p.wg.Add(1)
	p.tasks <- f
}

func (p *barePool) Close() {
	p.wg.Wait()
	close(p.tasks)
	p.done.Wait()
}

// worker returns a task that computes for about d, always with the same number of steps.
func worker(d time.Duration) func() {
	if d == 0 {
		return func() {}
	}
	steps := int(float64(d) * perNS())
	return func() { compute(steps) }
}

// perNS returns the number of steps of compute in a nanosecond.
func perNS() float64 {
	return theSteps.Get(func() float64 {
		const probe = 1_000_000
		least := time.Duration(math.MaxInt64)
		for range 20 {
			from := time.Now()
			compute(probe)
			least = min(least, time.Since(from))
		}
		return probe / float64(least)
	})
}

var theSteps lazy.Value[float64]

var sink atomic.Uint64

//go:noinline
func compute(steps int) {
	x := uint64(steps)
	for i := range steps {
		x = x*6364136223846793005 + uint64(i)
	}
	sink.Store(x)
}

// A contest runs the same tasks bare and measured, alternately in one process, so that both see the
// same machine.
type contest struct {
	name           string
	bare, measured func(tasks int, f func())
}

var contests = []contest{
	{
		"pool",
		func(n int, f func()) {
			p := newBarePool(runtime.GOMAXPROCS(0))
			for range n {
				p.Submit(f)
			}
			p.Close()
		},
		func(n int, f func()) {
			p := &Pool{}
			for range n {
				p.Submit(f)
			}
			p.Close()
		},
	},
	{
		"group",
		func(n int, f func()) {
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for range n {
				g.Go(func() error { f(); return nil })
			}
			g.Wait()
		},
		func(n int, f func()) {
			var g Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for range n {
				g.Go(func() error { f(); return nil })
			}
			g.Wait()
		},
	},
	noLimit(100),
	noLimit(1000),
	{
		"do",
		func(n int, f func()) {
			for range n {
				f()
			}
		},
		func(n int, f func()) {
			ctx := context.Background()
			call := func(context.Context) error { f(); return nil }
			for range n {
				Do(ctx, "bench", call)
			}
		},
	},
}

// noLimit returns a contest of groups without a limit, of that many goroutines each.
func noLimit(atOnce int) contest {
	return contest{
		fmt.Sprintf("group of %d without limit", atOnce),
		func(n int, f func()) {
			for ; n > 0; n -= atOnce {
				var g errgroup.Group
				for range min(n, atOnce) {
					g.Go(func() error { f(); return nil })
				}
				g.Wait()
			}
		},
		func(n int, f func()) {
			for ; n > 0; n -= atOnce {
				var g Group
				for range min(n, atOnce) {
					g.Go(func() error { f(); return nil })
				}
				g.Wait()
			}
		},
	}
}

// run returns the results of both in several rounds.
func (c contest) run(rounds, tasks int, f func()) (bare, measured results) {
	for round := range rounds {
		if round%2 == 0 {
			bare.take(tasks, func() { c.bare(tasks, f) })
			measured.take(tasks, func() { c.measured(tasks, f) })
		} else { // the order must favor neither
			measured.take(tasks, func() { c.measured(tasks, f) })
			bare.take(tasks, func() { c.bare(tasks, f) })
		}
	}
	return bare, measured
}

// one returns the result of one bare round.
func (c contest) one(tasks int) (r results) {
	r.take(tasks, func() { c.bare(tasks, nil) })
	return r
}

// results are per task, one for each round: nanoseconds of wall and processor time, and
// allocations. The processor time of all threads, in ticks of constant length, is the number of
// reference cycles of the whole run.
type results struct{ wall, cpu, allocs []float64 }

func (r *results) take(tasks int, f func()) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, from := proctime.Self(), cycles.Ticks()
	f()
	wall := cycles.TimebaseOf().NS(cycles.Ticks() - from)
	used := proctime.Self() - cpu
	runtime.ReadMemStats(&after)
	n := float64(tasks)
	r.wall = append(r.wall, float64(wall)/n)
	r.cpu = append(r.cpu, float64(used)/n)
	r.allocs = append(r.allocs, float64(after.Mallocs-before.Mallocs)/n)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// BenchmarkOverhead prints the table of docs/measurements.md: the minimum of all rounds, and ratios
// of the medians.
func BenchmarkOverhead(b *testing.B) {
	Default()
	for _, c := range contests {
		for _, d := range []time.Duration{0, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond} {
			b.Run(fmt.Sprintf("%s/%v", c.name, d), func(b *testing.B) {
				f := worker(d)
				tasks := min(50_000, int(100*time.Millisecond/(d+200)))
				var bare, measured results
				for b.Loop() {
					bare, measured = c.run(25, tasks, f)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(slices.Min(bare.wall), "bare-ns/task")
				b.ReportMetric(slices.Min(measured.wall), "measured-ns/task")
				b.ReportMetric(slices.Min(measured.wall)/slices.Min(bare.wall), "wall-ratio")
				b.ReportMetric(median(measured.wall)/median(bare.wall), "median-wall-ratio")
				b.ReportMetric(slices.Min(measured.cpu)-slices.Min(bare.cpu), "added-cpu-ns/task")
				b.ReportMetric(median(measured.cpu)-median(bare.cpu), "median-added-cpu-ns/task")
				b.ReportMetric(slices.Min(measured.allocs)-slices.Min(bare.allocs), "added-allocs/task")
			})
		}
	}
}

// BenchmarkPerturbation prints by how much measuring increases the reference cycles of the whole
// run, over all threads. The runs alternate, with enough rounds for a narrow 95 % interval of the
// ratio, which it prints too. The rows "none" compare an errgroup with itself and show the error of
// the benchmark.
func BenchmarkPerturbation(b *testing.B) {
	Default()
	none := contest{"none", contests[1].bare, contests[1].bare}
	for _, c := range append(contests[:len(contests):len(contests)], none) {
		for _, d := range []time.Duration{time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond} {
			b.Run(fmt.Sprintf("%s/%v", c.name, d), func(b *testing.B) {
				f := worker(d)
				var bare, measured results
				for b.Loop() {
					bare, measured = c.run(120, int(80*time.Millisecond/d), f) // short rounds would mostly be just after the collection
				}
				reportRatio(b, "cycles-ratio", measured.cpu, bare.cpu)
			})
		}
	}
}

// reportRatio reports the median of the ratios of the rounds and its 95 % interval.
func reportRatio(b *testing.B, name string, measured, bare []float64) {
	var ratios []float64
	for i := range bare {
		ratios = append(ratios, measured[i]/bare[i])
	}
	slices.Sort(ratios)
	n := float64(len(ratios))
	off := int(0.98 * math.Sqrt(n)) // of the ranks about the median, by the binomial distribution
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), name)
	b.ReportMetric(ratios[max(len(ratios)/2-1-off, 0)], name+"-low")
	b.ReportMetric(ratios[min(len(ratios)/2+off, len(ratios)-1)], name+"-high")
}

// BenchmarkSteps prints what the steps of measuring a task take, in a loop in which everything is
// in the cache. Two readings of the clock and the hash of the call chain cannot be left out.
func BenchmarkSteps(b *testing.B) {
	rec := NewRecorder()
	pool := rec.poolName("")
	f := func() {}
	s := rec.site(&siteKey{fn: functionOf(f), chain: chains.Capture(), pool: pool})
	s.mode.Store(0) // its tasks stay on their threads
	b.Run("two readings of the clock", func(b *testing.B) {
		for b.Loop() {
			mark := rec.clock.Start()
			rec.clock.End(&mark)
		}
	})
	b.Run("call chain", func(b *testing.B) {
		for b.Loop() {
			chains.Capture()
		}
	})
	b.Run("site", func(b *testing.B) {
		var usual usualSite
		for b.Loop() {
			usual.site(rec, pool, functionOf(f), s.key.chain)
		}
	})
	b.Run("begin and end", func(b *testing.B) {
		for b.Loop() {
			var x execution
			x.begin(s, nil)
			x.end()
		}
	})
}
