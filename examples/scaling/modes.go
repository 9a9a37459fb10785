package main

import (
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
	// workers returns the number of workers for a number of processors.
	workers func(procs int) int
	work    func(r *runner)
	// value returns the component that the switch is meant to show, and known its known value.
	value func(s *speedup.Stack) float64
	known func(n float64, o *observed) float64
}

func asMany(procs int) int { return procs }

func component(c speedup.Component) func(*speedup.Stack) float64 {
	return func(s *speedup.Stack) float64 { return s.Components[c] }
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
		workers: asMany,
		work: func(r *runner) {
			r.start(func(int) { r.compute(r.whole / time.Duration(r.workers)) })
			r.wait()
		},
		value: func(s *speedup.Stack) float64 { return s.Speedup },
		known: func(n float64, _ *observed) float64 { return n },
	},
	{
		name: "imbalance", shows: "imbalance", why: "one worker has three times as much to do as each of the others, which are done early",
		workers: asMany,
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
			r.wait()
		},
		value: component(speedup.Imbalance),
		// T_p is 3 parts; N − 1 lanes are empty for 2 of them.
		known: func(n float64, _ *observed) float64 { return (n - 1) * 2 / 3 },
	},
	{
		name: "lock", shows: "mutex", why: "80 % of the work is done under one mutex, so only a fifth of it can overlap",
		workers: asMany,
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
			r.wait()
		},
		value: component(speedup.SyncMutex),
		// T_p = 0.8 W, so S = 1.25.
		known: func(n float64, _ *observed) float64 { return n - 1.25 },
	},
	{
		name: "sequential", shows: "sequential", why: "half of the work is done before the workers start",
		workers: asMany,
		work: func(r *runner) {
			r.compute(r.whole / 2)
			r.start(func(int) { r.compute(r.whole / 2 / time.Duration(r.workers)) })
			r.wait()
		},
		value: component(speedup.Sequential),
		// N − 1 lanes are empty for W/2 of T_p = W/2 + W/2N.
		known: func(n float64, _ *observed) float64 { return (n - 1) / (1 + 1/n) },
	},
	{
		name: "gc", shows: "GC: stop-the-world, assists, its workers", why: "the workers allocate all the time and the heap is small; the runtime's own counters have the collector's processor time",
		workers: asMany,
		work: func(r *runner) {
			r.start(func(int) { r.allocate() })
			r.wait()
		},
		value: func(s *speedup.Stack) float64 {
			return s.Components[speedup.GCStopTheWorld] + s.Components[speedup.GCAssist] + s.Components[speedup.GCWorkers]
		},
		// Processor time of the collector keeps workers from running, in both runs.
		known: func(_ float64, o *observed) float64 {
			return float64(o.gcMulti-o.gcSingle) / float64(o.multi)
		},
	},
	{
		name: "io", shows: "I/O and network", why: "every step of 5 ms asks a device that serves one request at a time, in 20 ms",
		workers: asMany,
		work: func(r *runner) {
			steps := int(r.whole / (5 * stride))
			r.start(func(int) {
				request, end, err := r.device.connect()
				if err == nil {
					defer end()
				}
				for i := 0; i < steps/r.workers && err == nil; i++ {
					err = request()
					r.compute(stride)
				}
				r.failed(err)
			})
			r.wait()
		},
		value: func(s *speedup.Stack) float64 { return s.Of(speedup.InputOutput) },
		// T_p is that of the device: 20 of 25 ms per step, so S = 1.25. A single worker
		// also waits, for the same time.
		known: func(n float64, _ *observed) float64 { return n - 1.25 },
	},
	{
		name: "oversubscribed", shows: "other workers run", why: "there are four workers for each processor, and a stack for that many asks too much",
		workers: func(procs int) int { return 4 * procs },
		work: func(r *runner) {
			chunks := int64(r.whole / (chunk / 4))
			r.start(func(int) {
				for r.next.Add(1) <= chunks {
					r.compute(chunk / 4)
				}
			})
			r.wait()
		},
		value: component(speedup.SchedWorkers),
		// A quarter of the lanes has a processor.
		known: func(n float64, _ *observed) float64 { return n * 3 / 4 },
	},
}

func names() (out []string) {
	for _, m := range modes {
		out = append(out, m.name)
	}
	return out
}

func find(name string) *mode {
	for _, m := range modes {
		if m.name == name {
			return m
		}
	}
	return nil
}
