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
// Then
//
//	go test -run='^$' -bench=. -cpu=1,2,4 -count=6 | tee out.txt
//	benchstat -col /gomaxprocs out.txt
//
// shows a table by number of processors. With -cpu, loop over b.N or use b.RunParallel rather than
// b.Loop: package testing measures the first run of a b.Loop before it sets the number of
// processors, and so uses the number of the previous benchmark.
//
// # What is reported
//
//	parallelism     with Trace: goroutines that ran at once, on average over the measured loop
//	neck-%          with Trace: the part of the capacity, GOMAXPROCS × time, that was lost while something ran, but not on
//	                all processors; idle time is not in it. See bottle.Box.Lost
//	in-c-%          with Trace: the time for which goroutines were in C code, summed, in parts of the measured time, if any were
//	blocked-ns/op   what goroutines waited for locks of package contention, for each operation, summed over goroutines
//	contentions/op  how often they had to
//	cycles/task     reference cycles of a task of package granularity, on average (of its default recorder)
//	fine-tasks-%    tasks in classes that are diagnosed as too small, by all that the process has recorded so far
//	coarse-tasks-%  likewise, too large
//
// A geometric mean cannot include 0. A percentage below 0.1 is therefore reported as 0.1, and a
// value below 1e-7 per operation as 1e-7. Metrics of locks and tasks are omitted if there were
// none.
//
// # What is measured
//
// [Start] acts like b.ResetTimer: it excludes everything before the call. The graph covers exactly
// what the benchmark's timer covers. It excludes the setup before a later b.ResetTimer or the first
// b.Loop, the time between b.StopTimer and b.StartTimer, and everything after the loop. Package
// testing reads the memory statistics whenever the timer starts or stops, which the trace records
// (see measured.go). Metrics of locks and tasks cover everything between Start and the end of the
// benchmark.
//
// The trace is kept in memory, up to 64 MB, and read after the loop. Only one trace can be recorded
// at a time. While go test -trace records one, or a parent benchmark does, the inner benchmark
// reports no graph and logs why.
//
// # What it costs
//
// In the measured loop, Start alone costs what the wrappers cost. Trace adds the cost of the tracer
// and, because the trace stays in memory, a little more. BenchmarkCost ran the same loop in
// alternation on two processors. Computing takes 0.98 to 1.02 times as long with either. Handing a
// value to another goroutine and back, which takes 0.55 µs, takes 0.9 to 1.0 times as long with
// Start, 2.5 to 2.7 times with the bare tracer, and 2.8 to 2.9 times with Trace. In a loop that
// allocates, the frequency of garbage collection depends on the rest of the heap, and therefore on
// the trace. There, several runs of the same loop took 0.7 to 1.5 times as long with the bare
// tracer and with Trace, and 0.8 to 1.2 times with Start alone. Compare times of benchmarks without
// Trace, and parallelism with it.
//
// # Flags
//
// Importing the package adds flags to the test binary:
//
//	-bottle.out DIR      write for each benchmark the bottle graph of its measured loop, as SVG and JSON; implies Trace
//	-contention.out DIR  write for each benchmark that waited for locks the profile of package contention, as JSON
//	-tasks.out DIR       write after each benchmark that executed tasks the profile of package granularity, as JSON: of
//	                     all benchmarks so far, since its recorder is one for the process
//
// File names contain the benchmark and the number of processors. With -count, the last run replaces
// earlier ones.
package bench
