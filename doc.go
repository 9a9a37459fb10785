// Package bottleneck finds what keeps a Go program from scaling.
//
// Record an execution trace (runtime/trace) of any Go program and look at its bottle graph. It has
// a box for each group of goroutines: the height of a box is the group's share of the time, and the
// width is the number of its goroutines that ran during that time. A tall, narrow box is the neck.
//
//	go run github.com/bottleneck-go/bottleneck/cmd/bottleneck@latest demo
//	go test -bench . -trace trace.out && bottleneck trace.out && bottleneck graph trace.out
//
// The packages:
//
//   - [github.com/bottleneck-go/bottleneck/bottle]: bottle graphs, from a trace or a pass over one.
//   - [github.com/bottleneck-go/bottleneck/timeline]: the pass itself. It cuts a trace into
//     generations, decodes them concurrently, and replays them in order through one state machine
//     to any number of observers. Memory is proportional to the largest generation, not to the
//     length of the trace. Every analysis is such an observer.
//   - [github.com/bottleneck-go/bottleneck/ledger] and
//     [github.com/bottleneck-go/bottleneck/diagnose]: an account of every nanosecond of the
//     processors' capacity, and a verdict on what limits the program.
//   - [github.com/bottleneck-go/bottleneck/speedup]: speedup stacks, which show why N workers are
//     not N times faster.
//   - [github.com/bottleneck-go/bottleneck/contention]: locks that report who waited and which
//     owner is to blame; the same from a trace, within its limits.
//   - [github.com/bottleneck-go/bottleneck/granularity]: worker pools that measure the reference
//     cycles of every task and report whether tasks are too small or too large.
//   - [github.com/bottleneck-go/bottleneck/counters]: performance counters for each scheduling
//     quantum of a goroutine.
//   - [github.com/bottleneck-go/bottleneck/exporters/text],
//     [github.com/bottleneck-go/bottleneck/exporters/picture],
//     [github.com/bottleneck-go/bottleneck/exporters/pprof] and
//     [github.com/bottleneck-go/bottleneck/exporters/bench]: output to the terminal, as SVG and
//     PNG, for go tool pprof, and as metrics of go test -bench.
//   - [github.com/bottleneck-go/bottleneck/exporters/report] and
//     [github.com/bottleneck-go/bottleneck/exporters/perfetto]: a single page to explore a
//     recording, and traces for Perfetto.
//   - [github.com/bottleneck-go/bottleneck/exporters/live]: all results over HTTP, to mount in a
//     service.
//   - cmd/bottleneck: the command.
//
// A program that draws its own graph:
//
//	package main
//
//	import (
//		"bytes"
//		"context"
//		"log"
//		"os"
//		"runtime/trace"
//		"sync"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/text"
//	)
//
//	func main() {
//		var buf bytes.Buffer
//		if err := trace.Start(&buf); err != nil {
//			log.Fatal(err)
//		}
//		work()
//		trace.Stop()
//		g, err := bottle.ReadTrace(context.Background(), &buf, bottle.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := text.Write(os.Stdout, g, text.Options{}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
//	// work has a neck: one of its goroutines has three times as much to do.
//	func work() {
//		var all sync.WaitGroup
//		for _, n := range []int{1, 1, 1, 3} {
//			all.Go(func() {
//				x := 1.0
//				for range n * 100_000_000 {
//					x /= 1.0000001
//				}
//			})
//		}
//		all.Wait()
//	}
//
// [Analyze] runs all analyses of a trace in one pass.
//
// A service can analyze itself while it runs. [AnalyzeRecorder] makes the same report for the last
// seconds, which a bottle.Recorder (a runtime/trace.FlightRecorder) keeps. [Continuous] analyzes an
// unbiased sample of the whole time, with a budget of 2 % of the processors and bounded memory, and
// can be read at any time. Package exporters/live serves both over HTTP.
//
//	var rec bottle.Recorder
//	if err := rec.Start(); err != nil { … }      // once, in main
//	g, err := rec.Snapshot(ctx)                  // at any time
//
// The methods come from papers on Java programs; each package names its own. Bottle graphs are from
// Du Bois, Sartor, Eyerman and Eeckhout, "Bottle graphs: visualizing scalable bottlenecks in
// multi-threaded applications", OOPSLA 2013.
//
// Importing these packages starts no goroutines and registers nothing.
package bottleneck
