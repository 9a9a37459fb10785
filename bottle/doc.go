// Package bottle computes bottle graphs of Go programs. They show which goroutines limit how well
// the program scales.
//
// A bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, "Bottle graphs: visualizing scalable
// bottlenecks in multi-threaded applications", OOPSLA 2013) is a stack of boxes, one for each group of
// goroutines. The height of a box is its share of the wall time: while r goroutines run, each gets 1/r
// of the time. The width is the parallelism: the mean number of goroutines that ran while the box ran.
// A tall, narrow box is the neck of the bottle: [Box.Lost] is the capacity that was unused while it
// ran. docs/graph.md explains how to read a graph.
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
// A [Recorder] keeps the last seconds of a running program and makes a graph of them on request. An
// [Observer] computes a graph in one pass with other analyses. [Merge] adds graphs.
//
// Shares and idle time sum to the wall time to the nanosecond, and the graphs of windows sum to that of
// the whole. A goroutine counts as running in its own code, in a system call that holds its processor,
// and in C while a processor is free ([Box.InC]). Running is not progress: a trace does not show
// spinning, or threads that the operating system preempted.
//
// The fold takes 10 ns per transition (BenchmarkFold); reading a trace takes ten times as long. A live
// goroutine takes about 100 bytes, a box 700. [Options.Stacks] adds 2 to 15 % (BenchmarkReadFile).
package bottle
