// Package counters records what a Go program's goroutines do, scheduling quantum by scheduling
// quantum: an execution trace, and beside it what the kernel and the runtime count. Package
// counters/quanta joins both to a table, and counters/query answers questions about it.
//
// It is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others ("Using
// Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004), with
// goroutines in the place of their Java threads.
//
//	package main
//
//	import (
//		"errors"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/counters"
//	)
//
//	func main() {
//		s, err := counters.Start(counters.StartOptions{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		f, err := os.Create("work.zip") // for: bottleneck counters work.zip
//		if err := errors.Join(err, s.StopTo(f), f.Close()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// [Run], or "bottleneck record -counters", records another program from its first instruction on.
// [Mark] names points in time. An archive lists the events that the machine refused, with the
// reason. On other systems than Linux there are the trace and runtime/metrics.
//
// While it is recorded, each switch of a thread costs 1.8 µs (BenchmarkSwitch in
// internal/perfevent), and a page fault its record of six bytes, beside the trace's own cost;
// benchmarks/counters prints the ratio for a service.
//
// The package reads no traces and no archives: it brings the standard library and x/sys.
package counters
