// Package bottleneck runs all analyses of an execution trace (runtime/trace) in one pass, and finds
// what keeps a Go program from scaling.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantVerdict}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, f := range r.Verdict.Findings {
//			fmt.Println(f.Title, f.Where)
//		}
//	}
//
// [Analyze] reads a trace. In a service, [AnalyzeRecorder] makes the same report of the last seconds,
// which a bottle.Recorder keeps, and [Continuous] analyzes an unbiased sample of the whole time with a
// budget of 2 % of the processors and bounded memory. Package exporters/live serves both over HTTP.
//
// The analyses are in packages bottle (which goroutines run alone), ledger and diagnose (where the
// capacity went, and why), speedup (why N workers are not N times faster), contention (who waits, and
// who is to blame), granularity (tasks that are too small or too large) and counters (hardware
// counters by goroutine). Package timeline makes the pass. The packages in exporters write results as
// text, pictures, pprof profiles, pages, benchmark metrics and for Perfetto. The command is in
// cmd/bottleneck.
//
// Importing these packages starts no goroutines and registers nothing.
package bottleneck
