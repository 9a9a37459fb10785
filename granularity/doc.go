// Package granularity measures how much work the tasks of a program do, and finds classes of tasks
// that are too small, too large, too few, or mostly blocked.
//
// The granularity of a task is the number of reference cycles that it executes, after A. Rosà, E.
// Rosales, W. Binder, "Analysis and Optimization of Task Granularity on the Java Virtual Machine"
// (TOPLAS 2019). Use [Pool] for a worker pool, [Group] instead of an errgroup.Group, and [Do]
// around each piece of work in your own pool:
//
//	package main
//
//	import (
//		"fmt"
//		"sync/atomic"
//
//		"github.com/bottleneck-go/bottleneck/granularity"
//	)
//
//	func main() {
//		rec := granularity.Default()
//		pool := &granularity.Pool{Name: "sums"}
//		var sum atomic.Int64
//		for i := range 100_000 {
//			pool.Submit(func() { sum.Add(int64(i)) })
//		}
//		pool.Close()
//		for _, class := range rec.Profile().Classes {
//			fmt.Println(class.Name, class.Tasks, class.Diagnosis, class.Reasons, class.Advice)
//		}
//	}
//
// Counters count threads. A task that stays on its thread is measured exactly. For a task that
// blocks or is preempted, only the wall time is measured. Its cycles are estimated from a sample of
// such tasks that are locked to their threads ([Class].Estimated); otherwise it is unmeasured. One
// case is not detected: a task that blocks exactly 256 times, or a multiple of that, and ends on
// its first thread is charged with what others executed there. [Profile].Source names the clock.
//
// Of tasks of a Pool or Group that execute for less than 70 µs, a random sample is measured
// ([Class].Skipped). Measuring one takes about 0.1 µs and no allocation (BenchmarkOverhead), plus a
// region while a runtime/trace is recorded. docs/measurements.md lists clocks, accuracy and costs.
// Package tracetasks finds the tasks of any program in an execution trace.
package granularity
