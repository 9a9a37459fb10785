// Package bottle computes bottle graphs of Go programs. They show which goroutines limit how well
// the program scales.
//
// A bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, "Bottle graphs: visualizing scalable
// bottlenecks in multi-threaded applications", OOPSLA 2013) is a stack of boxes, one for each
// goroutine or group of goroutines. The height of a box is its share of the wall time: whenever r
// goroutines run, each of them gets 1/r of the time. The width is the parallelism of the box: the
// average number of goroutines that ran while it ran.
//
// # Reading a graph
//
//  1. The heights sum to the wall time, so a box of half the height of the graph is responsible
//     for half of the program's time.
//  2. A wide box shares its time with others and becomes lower on a machine with more processors;
//     a box of width 1 runs alone and keeps its height.
//  3. A tall, narrow box is the neck of the bottle: while it ran, the other processors were unused.
//     [Box.Lost] is their unused time, share × (GOMAXPROCS − width), and [Graph.IdleLost] the
//     unused time while nothing ran. Together they are exactly the unused capacity. Start with the
//     largest loss ([Graph.Losses]): split that work, or run it concurrently with other work.
//  4. The area of a box, height × width, is the running time of its goroutines. Their waits during
//     that time show why a box is narrow.
//  5. The call chains of a box show its code ([Box.Stacks], with [Options.Stacks]).
//  6. At the top is the time in which nothing ran ([Graph.Idle]): the program waited for external
//     events.
//
// # Example
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//	)
//
//	func main() {
//		g, err := bottle.ReadFile(context.Background(), "trace.out", bottle.Options{})
//		if g == nil {
//			log.Fatal(err) // nothing could be read; else err is one of the graph's Warnings
//		}
//		for _, b := range g.Boxes {
//			fmt.Printf("%v × %.2f  %s\n", b.Share, b.Parallelism, b.Group)
//		}
//	}
//
// The trace is the output of runtime/trace: "go test -trace trace.out", /debug/pprof/trace of a
// service, or a flight recorder. [Options] select which goroutines share a box ([Grouping]), a part
// of the trace, and graphs of windows of it, which show phases. An [Observer] computes the graph in
// one pass together with other analyses. The packages in exporters render it.
//
// # In a running program
//
// A [Recorder] keeps the last seconds of the program and computes a graph of them on request.
// [Observer.Cut] divides an endless pass into graphs, and [Merge] adds graphs, of windows or of
// many instances of a program. The module's root package runs all analyses on a snapshot
// (AnalyzeRecorder) or continuously (Continuous); exporters/live serves them.
//
// # Exactness
//
// Times are integers, as in the trace. The shares are differences of a fixed-point clock that
// carries the remainder of each division into the next one. The shares and the idle time always sum
// to the wall time, to the nanosecond; the graphs of all windows sum to that of the whole, bit for
// bit; and a share differs from equation 1 of the paper by less than r/65,536 ns for each change of
// r, the number of running goroutines.
//
// # Limits
//
// A width is the number of running goroutines, which do not necessarily make progress. A goroutine
// that spins for a lock, contends for a cache line, or is on a thread that the operating system has
// preempted counts as running, because the trace does not show the difference. Parallelism is in
// Ps, the processors of the Go scheduler; if GOMAXPROCS exceeds the number of cores, a box may be
// wider than the machine.
//
// A goroutine runs while it is in the state running, in a system call that still holds its P, or in
// C code while a processor is free for it ([Box.InC]); a trace does not show what C code does.
// Goroutines of the garbage collector, of the runtime and of the tracer have their own boxes
// ([Kind]), as do goroutines of the application while they assist the collector or stop the world.
//
// # Cost
//
// The fold takes about 10 ns per transition of a goroutine and does not allocate once the boxes
// exist (BenchmarkFold). Reading the trace takes more than ten times as long (BenchmarkReadFile). A
// window adds about 0.3 µs per box and live goroutine. A live goroutine takes about 100 bytes, a
// box 700, and each of its windows 200. When grouping by goroutine, only the largest exited
// goroutines keep their boxes (Options.MaxSingle), so memory is bounded for any number of
// goroutines. Call chains (Options.Stacks) add 2 to 15 % to the reading time (BenchmarkReadFile),
// and about 100 bytes each, for at most 32,768.
package bottle
