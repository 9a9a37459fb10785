package bottle

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

const latencyMetric = "/sched/latencies:seconds"

// The buckets are those of the runtime.
func TestLatencyBucketsAreThoseOfTheRuntime(t *testing.T) {
	s := []metrics.Sample{{Name: latencyMetric}}
	metrics.Read(s)
	ends := s[0].Value.Float64Histogram().Buckets[1:] // the first bucket is below 0
	for i := range latencyBuckets - 1 {
		end := time.Duration(math.Round(ends[i+1] * 1e9))
		if LatencyBound(i) != end || latencyBucket(end-1) != i || latencyBucket(end) != i+1 {
			t.Fatalf("bucket %d ends at %d, in the runtime at %d; it has %d, and %d is in bucket %d", i, LatencyBound(i), end, latencyBucket(end-1), end, latencyBucket(end))
		}
	}
	if latencyBucket(math.MaxInt64) != latencyBuckets-1 || !math.IsInf(ends[latencyBuckets], 1) || latencyBucket(-1) != 0 {
		t.Error("the last bucket is for everything above, the first one for everything below")
	}
}

// Known latencies: complete ones of the application count, in the graph in which they end; those
// cut by the ends of the trace are counted apart.
func TestLatencies(t *testing.T) {
	d := drive(Options{}, 1000)
	older := d.appear(app(1, "main.older"), timeline.Runnable, timeline.WaitNone)
	f, collector := d.born(app(2, "main.f")), d.born(&timeline.Goroutine{ID: 3, Func: "runtime.gcBgMarkWorker", Kind: timeline.GC})
	d.at(1070).run(f) // 70 ns
	d.run(collector)
	d.at(2000).run(older)       // since before the trace
	d.at(2100).ready(f)         // it is preempted
	d.at(2100 + 100_000).run(f) // 100 µs
	d.at(200_000).block(f, timeline.WaitMutex)
	d.at(300_000).ready(f)
	first := d.o.Cut(400_000)
	d.at(300_000 + 200_000).run(f) // 200 µs, of which 100 are before the cut
	d.ready(older)
	last := d.at(600_000).end() // older is still ready
	if got, want := fmt.Sprint(first.Latency.nonzero()), "count 2, total 100070, max 100000, cut 1: [64,128) 1, [98304,114688) 1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := last.Latency.nonzero(), "count 1, total 200000, max 200000, cut 1: [196608,229376) 1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all, err := Merge(first, last)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all.Latency.String(), "Goroutines of the application were ready 3 times until they ran: at most 115 µs in half of the cases, 200 µs in 99% of them, 200 µs in all."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if runnable := boxNamed(t, all, "main.f").Runnable; all.Latency.Total != runnable {
		t.Errorf("latencies of %v, but main.f was runnable for %v", all.Latency.Total, runnable)
	}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, all.Scale(3)); err != nil {
		t.Fatal(err)
	}
	again, err := ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Latency.nonzero(), "count 9, total 900210, max 200000, cut 6: [64,128) 3, [98304,114688) 3, [196608,229376) 3"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if all.Latency.Buckets[1] != 1 {
		t.Error("Scale has changed its argument")
	}
	for _, bad := range []Latency{{Count: 1}, {Count: -1}, {Count: 1, Buckets: []int64{2}}, {Count: 1, Buckets: []int64{2, -1}}, {Max: 1}, {Cut: math.MaxInt64}} {
		again.Latency = bad
		if err := again.CheckValid(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// nonzero lists the numbers.
func (l *Latency) nonzero() string {
	s := fmt.Sprintf("count %d, total %d, max %d, cut %d:", l.Count, l.Total, l.Max, l.Cut)
	comma := " "
	for i, n := range l.Buckets {
		if n > 0 {
			s += fmt.Sprintf("%s[%d,%d) %d", comma, LatencyBound(i-1), LatencyBound(i), n)
			comma = ", "
		}
	}
	return s
}

// In one run, the runtime counts one in eight of what the trace shows, and the medians agree.
func TestLatenciesAgreeWithTheRuntime(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests themselves are traced")
	}
	read := func() []uint64 {
		s := []metrics.Sample{{Name: latencyMetric}}
		metrics.Read(s)
		return slices.Clone(s[0].Value.Float64Histogram().Counts)
	}
	runtime.GC() // none begins below
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	before := read()
	const goroutines, yields = 8, 2000
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range yields {
				for begin := time.Now(); time.Since(begin) < 10*time.Microsecond; {
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	after := read()
	trace.Stop()
	g, err := ReadTrace(t.Context(), &buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, sampled := &g.Latency, Latency{}
	for i, n := range after[1:] {
		if n -= before[1+i]; n > 0 {
			sampled.grow(i + 1)
			sampled.Buckets[i] = int64(n)
			sampled.Count += int64(n)
		}
	}
	sampled.Max = math.MaxInt64
	if l.Count < goroutines*yields {
		t.Errorf("%d latencies of %d goroutines that yield %d times each", l.Count, goroutines, yields)
	}
	// Each goroutine begins at a random one of the eight. The runtime also counts its own goroutines.
	if ratio := float64(8*sampled.Count) / float64(l.Count); ratio < 0.95 || ratio > 1.1 {
		t.Errorf("the trace has %d latencies, of which the runtime counted %d, a share of 1 in 8 × %.3f", l.Count, sampled.Count, ratio)
	}
	t.Logf("%s\nruntime: %s", l, &sampled)
	if a, b := l.Quantile(0.5), sampled.Quantile(0.5); a > 2*b || b > 2*a {
		t.Errorf("a median of %v, by the runtime %v", a, b)
	}
}
