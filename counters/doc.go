// Package counters records the activity of a Go program's goroutines in each scheduling quantum: an
// execution trace, and the counters of the kernel and the runtime. Package counters/quanta joins
// the two into a table, and counters/query answers queries about it.
//
// The result is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others
// ("Using Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004),
// with goroutines instead of Java threads.
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
//		s, err := counters.Start(counters.Options{})
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
// reason. On systems other than Linux, only the trace and runtime/metrics are recorded.
//
// During a recording, each switch of a thread costs 1.8 µs (BenchmarkSwitch in internal/perfevent),
// and a page fault a record of six bytes, in addition to the cost of the trace. The command
// benchmarks/live -ways nothing,counters prints the ratio for a service.
//
// The package reads no traces and no archives; it depends only on the standard library and x/sys.
package counters
