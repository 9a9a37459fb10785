// Package bottle draws bottle graphs of Go programs: which goroutines limit
// how well the program scales.
//
// A bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, "Bottle graphs: visualizing scalable
// bottlenecks in multi-threaded applications", OOPSLA 2013) stacks one box for each goroutine,
// or group of goroutines. The height of a box is its share of the wall time:
// whenever r goroutines run, each of them is given 1/r of the time. The width is the
// parallelism of the box: how many goroutines ran, on average, while it ran.
//
// # Reading a graph
//
//  1. The heights sum to the wall time, so a box as high as half of the graph
//     is responsible for half of the time that the program took.
//  2. A wide box shares its time with others and gets less high on a machine with more processors;
//     a box of width 1 runs alone and stays as high as it is.
//  3. What is tall and narrow is the neck of the bottle: while it ran, the other processors were
//     not used. [Box.Lost] is how much of their time that is, share × (GOMAXPROCS − width), and
//     [Graph.IdleLost] what was lost while nothing ran; together they are what was not used,
//     exactly. Start with the largest ([Graph.Losses]): split that work, or let it run beside
//     something else.
//  4. The area of a box, height × width, is the time for which its goroutines ran; what they
//     waited for during that time, and for how long, tells why a box is narrow.
//  5. Which code it is, the call chains of a box say ([Box.Stacks], with [Options.Stacks]).
//  6. At the top is the time in which nothing ran ([Graph.Idle]): there the program waited for the
//     world outside.
//
// # A program
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
// The trace is what runtime/trace writes: "go test -trace trace.out", a service's
// /debug/pprof/trace, a flight recorder. [Options] choose who shares a box
// ([Grouping]), a part of the trace, and graphs of windows of it, which show phases. An [Observer]
// makes the graph in one pass together with other analyses. The packages below exporters draw it.
//
// # In a program that runs
//
// A [Recorder] keeps the last seconds of the program itself, and makes a graph of them whenever
// asked. [Observer.Cut] takes a pass that never ends apart into graphs, and [Merge] adds graphs, of
// windows or of many instances of a program. The module's root package has all analyses of a
// snapshot (AnalyzeRecorder) and an analysis that goes on all the time (Continuous); exporters/live
// serves them.
//
// # What is exact
//
// Times are integers, as the trace has them. The shares are differences of a fixed-point clock that
// carries the remainder of each division into the next: the shares and the idle
// time sum to the wall time to the nanosecond, always; the graphs of all windows sum
// to that of the whole, bit for bit; and a share differs from equation 1 of the paper by less than
// r/65,536 ns for each change of r, the number of running goroutines.
//
// # What a graph does not tell
//
// A width says that goroutines were running, not necessarily progressing. A
// goroutine that spins for a lock, fights for a cache line, or whose thread the operating system
// has descheduled counts as running: the trace does not show the difference. And parallelism is in
// Ps, the processors of the Go scheduler; with GOMAXPROCS above the number of cores a box may be
// wider than the machine.
//
// A goroutine runs while it is in the state running, in a system call
// that still holds its P, or in C code while a processor is free for it ([Box.InC]); what C code
// does a trace does not show. Goroutines of the garbage collector, of the runtime and of the
// tracer, and the application's when they assist the collector or stop the world, have boxes of
// their own ([Kind]).
//
// # Cost
//
// The fold takes about 10 ns for each transition of a goroutine and allocates
// nothing once the boxes are there (BenchmarkFold); reading the trace takes more than ten times as
// long (BenchmarkReadFile). A window adds about 0.3 µs for each box and live goroutine. A live
// goroutine takes about 100 bytes, a box 700, and each of its windows 200. By goroutine, of those
// that have exited only the largest keep their boxes (Options.MaxSingle), so that memory stays
// bounded however many there were. Call chains (Options.Stacks) add 2 to 15 % to the time of
// reading (BenchmarkReadFile), and some 100 bytes each, of 32,768 at most.
package bottle
