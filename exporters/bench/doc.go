// Package bench reports in go test -bench what limits a benchmark's scaling: its parallelism, the
// part of the processors' time that its neck loses, what goroutines lost at locks, and how large
// tasks are.
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
// shows a table over the number of processors. With -cpu, loop over b.N (or use b.RunParallel)
// rather than b.Loop: package testing measures the first run of a b.Loop before it sets the number
// of processors, and so on the one of the benchmark before.
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
// A geometric mean cannot hold 0: a percentage below 0.1 is reported as 0.1, less than 1e-7 for an
// operation as 1e-7, and metrics of locks and tasks are left out when there were none.
//
// # What is measured
//
// [Start] acts like b.ResetTimer: what comes before is not measured. The graph covers exactly what
// the benchmark's timer does: not the setup before a later b.ResetTimer or the first b.Loop, not
// what is between b.StopTimer and b.StartTimer, not what follows the loop. Package testing reads
// the memory statistics whenever the timer starts or stops, which shows in the trace (see
// measured.go). Metrics of locks and tasks cover everything between Start and the end of the
// benchmark.
//
// The trace is kept in memory, up to 64 MB, and read after the loop. Only one trace can be recorded
// at a time: while go test -trace does, or a benchmark has a parent with a trace of its own, the
// inner one is told in the log and reports no graph.
//
// # What it costs
//
// In the measured loop, Start alone leaves what the wrappers cost. Trace adds what the tracer costs
// and, as the trace stays in memory, a little more. By BenchmarkCost on two processors, the same
// loop in alternation: computing takes 0.98 to 1.02 times as long with either; handing a value to
// another goroutine and back, of 0.55 µs, takes 0.9 to 1.0 times as long with Start, 2.5 to 2.7
// times with the bare tracer, and 2.8 to 2.9 times with Trace. How often a loop that allocates is
// collected depends on what else is in the heap, and so on the trace: there, 0.7 to 1.5 times was
// seen for the bare tracer and for Trace, and 0.8 to 1.2 times for Start alone, in several runs of
// one and the same loop. Compare times of benchmarks without Trace, and parallelism with it.
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
// Files are named after the benchmark and the number of processors; of several runs (-count), the
// last stays.
package bench
