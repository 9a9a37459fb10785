package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/causes"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/internal/workload"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// workers matches the name of the workers.
const workers = `/\(\*runner\)\.worker$/`

// runner runs the work of a switch once.
type runner struct {
	workers int
	parts   int           // workers of the parallel run, for work that is split by their number
	whole   time.Duration // of computation
	steps   float64       // of computation per nanosecond

	mu    sync.Mutex
	next  atomic.Int64
	group sync.WaitGroup
}

// start starts the workers and waits for them. All of them have the same start function, which
// identifies them in the trace.
func (r *runner) start(work func(i int)) {
	for i := range r.workers {
		r.group.Add(1)
		go r.worker(i, work)
	}
	r.group.Wait()
}

func (r *runner) worker(i int, work func(int)) {
	defer r.group.Done()
	work(i)
}

// compute takes about d on an idle processor. It always does the same number of dependent steps, so
// the work does not change if it is interrupted.
func (r *runner) compute(d time.Duration) { causes.Spin(int(float64(d) * r.steps)) }

// calibrate returns the number of steps per nanosecond.
func calibrate() float64 {
	return float64(workload.Config{Factor: 1}.StepsFor(time.Second, 1)) / float64(time.Second)
}

// node is an element that the collector has to follow.
type node struct {
	next *node
	_    [6]uint64
}

// allocate keeps lists alive and replaces one after another.
func (r *runner) allocate() {
	const lists, length = 512, 400 // 11 MB
	kept := make([]*node, lists/r.workers)
	for i := range int(r.whole/(chunk/10)) / r.workers {
		var head *node
		for range length {
			head = &node{next: head}
		}
		kept[i%len(kept)] = head
		r.compute(chunk / 20)
	}
	runtime.KeepAlive(kept)
}

// observed has the values of other counters for both runs.
type observed struct {
	multi             time.Duration // wall time of the run with many workers
	gcSingle, gcMulti time.Duration // processor time of the collector
}

// record runs the work with one worker and with many.
func (m *mode) record(ctx context.Context, procs int, whole time.Duration, steps float64) (*result, error) {
	if m.name == "gc" {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	n := procs * max(1, m.perProcessor)
	single, err := m.once(1, 1, n, whole, steps)
	if err != nil {
		return nil, err
	}
	multi, err := m.once(procs, n, n, whole, steps)
	if err != nil {
		return nil, err
	}
	opt := speedup.Options{
		Workers: workers, N: n,
		SingleDelay: single.delay, MultiDelay: multi.delay, SingleName: "the run with one worker", MultiName: "the run with many",
	}
	report, err := bottleneck.Analyze(ctx, bytes.NewReader(multi.trace), bottleneck.Options{
		Want: bottleneck.WantSpeedup, Single: bytes.NewReader(single.trace), Speedup: opt,
	})
	if err != nil {
		return nil, err
	}
	stack := report.Speedup
	if stack == nil {
		return nil, report.SpeedupErr
	}
	o := &observed{multi: stack.Multi.Wall, gcSingle: single.gc, gcMulti: multi.gc}
	r := &result{mode: m, stack: stack, known: m.known(float64(n), o)}
	if m.components == nil {
		r.value = stack.Speedup
	}
	for _, c := range m.components {
		r.value += stack.Components[c]
	}
	return r, nil
}

// recorded is one run.
type recorded struct {
	trace     []byte
	delay, gc time.Duration
}

func (m *mode) once(procs, workers, parts int, whole time.Duration, steps float64) (*recorded, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	r := &runner{workers: workers, parts: parts, whole: whole, steps: steps}
	before := collectorTime(procs)
	var buf bytes.Buffer
	stop := schedstat.Watch(os.Getpid())
	if err := trace.Start(&buf); err != nil {
		return nil, err
	}
	m.work(r)
	trace.Stop()
	times, _ := stop()
	return &recorded{trace: buf.Bytes(), delay: times.Lost(), gc: collectorTime(procs) - before}, nil
}

// collectorTime is the processor time that the collector has used so far: assists, its workers
// except idle ones, and the pauses of every processor, from the beginning of stopping the world.
// The runtime counts processor time at the end of a cycle, so this function runs one.
func collectorTime(procs int) time.Duration {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	sum := time.Duration(mem.PauseTotalNs) * time.Duration(procs)
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindFloat64 {
			sum += time.Duration(s.Value.Float64() * float64(time.Second))
		}
	}
	return sum
}

// device returns where workers ask a device that serves one request at a time. It writes a byte for
// each into the pipe of the worker, which waits for that as for a network.
func device(each time.Duration, workers int) chan<- *os.File {
	requests := make(chan *os.File, workers)
	go func() {
		for out := range requests {
			time.Sleep(each)
			if _, err := out.Write([]byte{0}); err != nil {
				log.Fatal(err)
			}
		}
	}()
	return requests
}
