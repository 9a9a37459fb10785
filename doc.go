// Package bottleneck finds what keeps a Go program from scaling.
//
// Take an execution trace (runtime/trace) of any Go program and look at its
// bottle graph: a box for each group of goroutines, as tall as the group's share of the
// time, as wide as the number of goroutines that ran during that time. Tall and narrow is the neck.
//
//	go run github.com/bottleneck-go/bottleneck/cmd/bottleneck@latest demo
//	go test -bench . -trace trace.out && bottleneck trace.out && bottleneck graph trace.out
//
// The packages:
//
//   - [github.com/bottleneck-go/bottleneck/bottle]: bottle graphs, from a trace or a pass over one.
//   - [github.com/bottleneck-go/bottleneck/timeline]: the pass itself. It cuts a trace into
//     generations, decodes them side by side, and replays them in order through one
//     state machine to any number of observers, in memory that follows
//     the largest generation, not the length of the trace. Every analysis is such an observer.
//   - [github.com/bottleneck-go/bottleneck/ledger] and
//     [github.com/bottleneck-go/bottleneck/diagnose]: where every nanosecond of the processors'
//     capacity went, and what limits the program.
//   - [github.com/bottleneck-go/bottleneck/speedup]: speedup stacks, why N workers are not N times
//     faster.
//   - [github.com/bottleneck-go/bottleneck/contention]: locks that tell who waited and which owner
//     is to blame; the same, as far as it can be known, from a trace.
//   - [github.com/bottleneck-go/bottleneck/granularity]: worker pools that measure the reference
//     cycles of every task, and say whether tasks are too small or too large.
//   - [github.com/bottleneck-go/bottleneck/counters]: what is counted in each scheduling quantum of
//     a goroutine.
//   - [github.com/bottleneck-go/bottleneck/exporters/text],
//     [github.com/bottleneck-go/bottleneck/exporters/picture],
//     [github.com/bottleneck-go/bottleneck/exporters/pprof] and
//     [github.com/bottleneck-go/bottleneck/exporters/bench]: all of it in the terminal, as SVG and
//     PNG, for go tool pprof, and as metrics of go test -bench.
//   - [github.com/bottleneck-go/bottleneck/exporters/report] and
//     [github.com/bottleneck-go/bottleneck/exporters/perfetto]: one page to explore a recording,
//     and traces for Perfetto.
//   - [github.com/bottleneck-go/bottleneck/exporters/live]: all of it over HTTP, to mount in a
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
// A service can look at itself while it runs: [AnalyzeRecorder] makes the same report of the last
// seconds, which a bottle.Recorder (a runtime/trace.FlightRecorder) keeps; [Continuous] analyzes a
// fair sample of all the time, with a budget of 2 % of the processors and bounded memory, and can
// be read at any moment. exporters/live serves both over HTTP.
//
//	var rec bottle.Recorder
//	if err := rec.Start(); err != nil { … }      // once, in main
//	g, err := rec.Snapshot(ctx)                  // whenever somebody wants to know
//
// The ideas come from papers on Java programs; each package names its own. Bottle graphs are from
// Du Bois, Sartor, Eyerman and Eeckhout, "Bottle graphs: visualizing scalable bottlenecks in
// multi-threaded applications", OOPSLA 2013.
//
// Importing any of the packages starts nothing and registers nothing.
package bottleneck
