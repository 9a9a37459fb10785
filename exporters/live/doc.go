// Package live shows over HTTP what limits a running service. It serves bottle graphs, contention,
// execution traces and metrics of the last seconds to browsers, curl and Prometheus. Package full,
// below this one, adds verdicts on snapshots, tasks, speedup stacks, wall-clock profiles, and
// profiles for go tool pprof and profile databases.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/live"
//	)
//
//	func main() {
//		var rec bottle.Recorder // keeps the last seconds of the execution trace
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		defer rec.Stop()
//		log.Print(live.ListenAndServe(context.Background(), "localhost:6060", live.Options{Recorder: &rec}))
//	}
//
// A Recorder or a Continuous is enough; a request that needs the other gets an error. Importing the
// package registers and starts nothing. The index page explains itself; docs/pages.md describes the
// paths, their parameters and errors, and docs/services.md who can see them.
//
// No answer reveals the command line, the environment, or a path of the machine: source files are
// named by package, "example.com/shop/cart.go", as with go build -trimpath. The raw trace is the
// exception (Options.NoTrace).
//
// A mounted handler costs nothing. Answers of a Continuous take 0.05 to 0.4 ms, those of a Recorder
// 0.5 to 2 µs per event (BenchmarkAnswer), and at most Options.MaxMemory of memory (TestMemory).
// TestWeight prints what a program grows by.
package live
