// Package bench reports in go test -bench what limits a benchmark's scaling: its parallelism, the
// share of processor time that its neck loses, the time that goroutines wait for locks, and the
// size of tasks.
//
//	package queue_test
//
//	import (
//		"testing"
//
//		"github.com/bottleneck-go/bottleneck/exporters/bench"
//	)
//
//	func BenchmarkQueue(b *testing.B) {
//		bench.Start(b, bench.Trace)
//		b.RunParallel(func(pb *testing.PB) {
//			for pb.Next() {
//				// …
//			}
//		})
//	}
//
// The metrics are for benchstat; docs/benchmarks.md describes them, what is measured, and what it
// costs. Importing the package adds flags to the test binary:
//
//	-bottle.out DIR      write the graph of each measured loop, as SVG and JSON; implies Trace
//	-contention.out DIR  write the waits for locks of each benchmark, as JSON
//	-tasks.out DIR       write the profile of tasks of each benchmark, as JSON
//
// File names contain the benchmark and the number of processors. With -count, the last run replaces
// earlier ones.
package bench
