package bottleneck_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/trace"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/bulk"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestPassesGrowNoFasterThanNLogN: with four times as many of anything that a trace can contain,
// all analyses together allocate at most n log n times as much. BenchmarkManyOf measures the
// times. With BOTTLENECK_LONG=1, the sizes are 62,500, 250,000 and 1,000,000; if the memory limit
// is reached first, the error says so.
func TestPassesGrowNoFasterThanNLogN(t *testing.T) {
	if os.Getenv("BOTTLENECK_LONG") == "1" {
		growsLong(t)
		return
	}
	const n = 1500
	for _, in := range testenv.Some(bulk.Inputs) {
		allocated := func(n int) uint64 {
			var b bytes.Buffer
			if err := in.Write(&b, n); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			// A reader that can seek would be read twice above a certain size.
			if _, err := bottleneck.Analyze(t.Context(), unseekable{&b}, bottleneck.Options{}); err != nil {
				t.Errorf("%s: %v", in.Name, err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		once, fourTimes := allocated(n), allocated(4*n)
		const fixed = 2 << 20 // the minimum of a pass, and buffers
		if ratio := float64(fourTimes) / float64(once+fixed/4); ratio > 6 {
			t.Errorf("%d %s take %d bytes, %d take %d: %.1f times as many", n, in.Name, once, 4*n, fourTimes, ratio)
		}
	}
}

// growsLong compares the time and the memory for 62,500, 250,000 and 1,000,000 of everything. It
// asserts only what does not depend on the load of the machine: the allocated bytes.
func growsLong(t *testing.T) {
	for _, in := range bulk.Inputs {
		t.Run(in.Name, func(t *testing.T) {
			before := uint64(0)
			for n := 62_500; n <= 1_000_000; n *= 4 {
				size := n
				if in.Name == "generations of many strings" || in.Name == "long strings" {
					size /= 8 // it contains eight times as many, or as long ones
				}
				f, err := os.CreateTemp(t.TempDir(), "")
				if err != nil {
					t.Fatal(err)
				}
				if err := in.Write(f, size); err != nil {
					t.Fatal(err)
				}
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					t.Fatal(err)
				}
				runtime.GC()
				var m, after runtime.MemStats
				runtime.ReadMemStats(&m)
				began := time.Now()
				_, err = bottleneck.Analyze(t.Context(), unseekable{f}, bottleneck.Options{})
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				allocated := after.TotalAlloc - m.TotalAlloc
				t.Logf("%9d: %8.0f ns and %6d bytes each; %v", size, float64(took.Nanoseconds())/float64(size), allocated/uint64(size), err)
				if errors.Is(err, timeline.ErrMemory) {
					f.Close()
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if ratio := float64(allocated) / float64(before); before > 64<<20 && ratio > 6 {
					t.Errorf("four times as many take %.1f times as many bytes", ratio)
				}
				before = allocated
				f.Close()
			}
		})
	}
}

// TestBytesPerLiveGoroutine: the heap that a goroutine takes which once ran and now waits for a
// lock, beside its part of the generation that is replayed, which has three events of it.
func TestBytesPerLiveGoroutine(t *testing.T) {
	blocked := func(n int, opt bottleneck.Options) int64 {
		var b bytes.Buffer
		if err := bulk.Named("waiters for one lock").Write(&b, n); err != nil {
			t.Fatal(err)
		}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC() // also what a sync.Pool keeps
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before, most := heap(), int64(0)
		opt.Observers = append(opt.Observers, &firstWake{do: func() { most = heap() }})
		if _, err := bottleneck.Analyze(t.Context(), bytes.NewReader(b.Bytes()), opt); err != nil {
			t.Fatal(err)
		}
		return most - before
	}
	type analysis struct {
		name string
		opt  func() bottleneck.Options
		most int64
	}
	for _, c := range testenv.Some([]analysis{
		{"replay", func() bottleneck.Options { return bottleneck.Options{Want: bottleneck.WantInfo} }, 360},
		{"boxes", func() bottleneck.Options { return bottleneck.Options{Want: bottleneck.WantBottle} }, 440},
		{"ledger", func() bottleneck.Options {
			return bottleneck.Options{Want: bottleneck.WantInfo, Observers: []timeline.Observer{ledger.NewObserver(ledger.Options{})}}
		}, 415},
		{"all", func() bottleneck.Options { return bottleneck.Options{Want: bottleneck.WantVerdict} }, 900},
	}) {
		const n = 20_000
		each := (blocked(2*n, c.opt()) - blocked(n, c.opt())) / n
		t.Logf("%s: %d bytes", c.name, each)
		if each > c.most {
			t.Errorf("%s: a goroutine takes %d bytes, want at most %d", c.name, each, c.most)
		}
	}
}

// firstWake is an observer that calls a function when a goroutine is woken for the first time.
type firstWake struct {
	timeline.Base
	do func()
}

func (f *firstWake) Transition(t *timeline.Transition) {
	if t.State == timeline.Waiting && f.do != nil {
		f.do()
		f.do = nil
	}
}

// BenchmarkManyOf measures the time per thing that a trace contains many of. It must be about the
// same for 10,000 and 160,000.
func BenchmarkManyOf(b *testing.B) {
	for _, in := range bulk.Inputs {
		for _, size := range []struct {
			name string
			n    int
		}{{"10k", 10_000}, {"160k", 160_000}} {
			b.Run(in.Name+"/"+size.name, func(b *testing.B) {
				var trace bytes.Buffer
				if err := in.Write(&trace, size.n); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for b.Loop() {
					if _, err := bottleneck.Analyze(b.Context(), bytes.NewReader(trace.Bytes()), bottleneck.Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.n), "ns/thing")
			})
		}
	}
}

// BenchmarkWaitersOfOneLock measures the processor time of the contention analysis relative to that
// of graph, for a real program in which n goroutines wait for one mutex that is held for 20 µs at a
// time.
func BenchmarkWaitersOfOneLock(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			data := tracedConvoy(b, n)
			var graph, locks time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := bottle.ReadTrace(b.Context(), bytes.NewReader(data), bottle.Options{}); err != nil {
					b.Fatal(err)
				}
				graph += time.Since(began)
				began = time.Now()
				if _, err := timeline.Read(b.Context(), bytes.NewReader(data), timeline.Options{}, tracewaits.NewObserver(tracewaits.Options{})); err != nil {
					b.Fatal(err)
				}
				locks += time.Since(began)
			}
			b.ReportMetric(float64(locks)/float64(graph), "contention/graph")
		})
	}
}

// tracedConvoy returns the trace of n goroutines that lock one mutex for half a second.
func tracedConvoy(b *testing.B, n int) []byte {
	var data bytes.Buffer
	if err := trace.Start(&data); err != nil {
		b.Skip(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(500 * time.Millisecond)
	for range n {
		wg.Go(func() {
			for time.Now().Before(end) {
				mu.Lock()
				for held := time.Now(); time.Since(held) < 20*time.Microsecond; {
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	trace.Stop()
	return data.Bytes()
}
