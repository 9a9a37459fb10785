package main

import (
	"log"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// mode is a switch. T_s and T_p are the times of both runs, N is the number of workers, and W the
// whole computation in time units of one worker. The known value follows from how the work is
// shared.
type mode struct {
	name  string
	shows string
	why   string
	// perProcessor is the number of workers for each processor; 0 means 1.
	perProcessor int
	work         func(r *runner)
	// components are those that the switch is meant to show; nil means the speed-up. known returns
	// the known value of their sum.
	components []speedup.Component
	known      func(n float64, o *observed) float64
}

// chunk is the length of an uninterrupted computation.
const chunk = time.Millisecond

// stride is the same for workers that wait at each step. It is longer because after each wait the
// operating system has to put a thread on a core: the many delays of short steps would look like a
// disturbed run.
const stride = 5 * time.Millisecond

var modes = []*mode{
	{
		name: "perfect", shows: "the speed-up itself", why: "all workers do the same amount of work and share nothing",
		work: func(r *runner) {
			r.start(func(int) { r.compute(r.whole / time.Duration(r.workers)) })
		},
		known: func(n float64, _ *observed) float64 { return n },
	},
	{
		name: "imbalance", shows: "imbalance", why: "one worker has three times as much to do as each of the others, which are done early",
		work: func(r *runner) {
			parts := r.whole / time.Duration(r.parts+2) // a single worker does them all
			r.start(func(i int) {
				switch {
				case r.workers == 1:
					r.compute(r.whole)
				case i == 0:
					r.compute(3 * parts)
				default:
					r.compute(parts)
				}
			})
		},
		components: []speedup.Component{speedup.Imbalance},
		// T_p is 3 parts; N − 1 lanes are empty for 2 of them.
		known: func(n float64, _ *observed) float64 { return (n - 1) * 2 / 3 },
	},
	{
		name: "lock", shows: "mutex", why: "80 % of the work is done under one mutex, so only a fifth of it can overlap",
		work: func(r *runner) {
			steps := int(r.whole / (5 * stride))
			r.start(func(int) {
				for range steps / r.workers {
					r.mu.Lock()
					r.compute(4 * stride)
					r.mu.Unlock()
					r.compute(stride)
				}
			})
		},
		components: []speedup.Component{speedup.SyncMutex},
		// T_p = 0.8 W, so S = 1.25.
		known: func(n float64, _ *observed) float64 { return n - 1.25 },
	},
	{
		name: "sequential", shows: "sequential", why: "half of the work is done before the workers start",
		work: func(r *runner) {
			r.compute(r.whole / 2)
			r.start(func(int) { r.compute(r.whole / 2 / time.Duration(r.workers)) })
		},
		components: []speedup.Component{speedup.Sequential},
		// N − 1 lanes are empty for W/2 of T_p = W/2 + W/2N.
		known: func(n float64, _ *observed) float64 { return (n - 1) / (1 + 1/n) },
	},
	{
		name: "gc", shows: "GC: stop-the-world, assists, its workers", why: "the workers allocate all the time and the heap is small; the runtime's own counters have the collector's processor time",
		work: func(r *runner) {
			r.start(func(int) { r.allocate() })
		},
		components: []speedup.Component{speedup.GCStopTheWorld, speedup.GCAssist, speedup.GCWorkers},
		// Processor time of the collector keeps workers from running, in both runs.
		known: func(_ float64, o *observed) float64 {
			return float64(o.gcMulti-o.gcSingle) / float64(o.multi)
		},
	},
	{
		name: "io", shows: "I/O and network", why: "every step of 5 ms asks a device that serves one request at a time, in 20 ms",
		work: func(r *runner) {
			requests := device(4*stride, r.workers)
			defer close(requests)
			r.start(func(int) {
				in, out, err := os.Pipe()
				if err != nil {
					log.Fatal(err)
				}
				defer in.Close()
				defer out.Close()
				for range int(r.whole/(5*stride)) / r.workers {
					requests <- out
					if _, err := in.Read(make([]byte, 1)); err != nil {
						log.Fatal(err)
					}
					r.compute(stride)
				}
			})
		},
		components: []speedup.Component{speedup.IONetwork, speedup.IOSleep, speedup.IOSyscall},
		// T_p is that of the device: 20 of 25 ms per step, so S = 1.25. A single worker
		// also waits, for the same time.
		known: func(n float64, _ *observed) float64 { return n - 1.25 },
	},
	{
		name: "oversubscribed", shows: "other workers run", why: "there are four workers for each processor, and a stack for that many asks too much",
		perProcessor: 4,
		work: func(r *runner) {
			chunks := int64(r.whole / (chunk / 4))
			r.start(func(int) {
				for r.next.Add(1) <= chunks {
					r.compute(chunk / 4)
				}
			})
		},
		components: []speedup.Component{speedup.SchedWorkers},
		// A quarter of the lanes has a processor.
		known: func(n float64, _ *observed) float64 { return n * 3 / 4 },
	},
}
