// Package speedup explains why N workers are not N times faster than one. It computes speedup
// stacks: bars of height N that are divided into the measured speed-up and the components that keep
// it below N.
//
// A stack needs two execution traces (runtime/trace) of the same work, with one worker and with
// many:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/speedup"
//	)
//
//	func main() {
//		s, err := speedup.FromFiles(context.Background(), "one.trace", "four.trace", speedup.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Printf("%.2f times faster with %d workers\n", s.Speedup, s.N)
//		for _, c := range speedup.Delimiters() {
//			if v := s.Components[c]; v != 0 {
//				fmt.Printf("%6.2f %s: without it, %.2f times\n", v, c, s.WhatIf(c))
//			}
//		}
//		fmt.Printf("%6.2f remainder\n", s.Remainder)
//	}
//
// # What is counted
//
// The run with N workers has N lanes, one per worker. At each instant every lane is in exactly one
// component: it runs, or one of the [Component] values explains why it does not (observer.go lists
// the rules in order). So lane times sum to N·T_p, an identity of integers in nanoseconds. The
// single-threaded run has one lane. A component is the difference of the two runs divided by T_p:
//
//	S + Σ components + remainder == N, exactly, with S = T_s / T_p
//
// The remainder is the extra time that the same work took to run: caches, memory and parallel
// overhead. It includes time in which the operating system gave the processor to another process,
// which no trace shows. Package schedstat measures that time; a stack with too much of it is
// [Stack.Disturbed]. A component is negative if the single-threaded run had more of it.
//
// # Who the workers are
//
// By default, the workers are the goroutines of the start function with the largest area (the
// running time of all its goroutines) among the start functions that have at least two goroutines
// at the same time. If there is none, they are the start functions that each have some of the
// running time: the stages of a pipeline. If those did not live at the same time, as in a serial
// program, they are all goroutines of the program. A [Selector] overrides the choice, for example
// to include the feeder of a pool or to exclude a benchmark's own goroutine. N is the number of
// workers that live at the same time, but at most GOMAXPROCS. While more than N live, running
// workers get lanes first, and the others share the remaining lanes.
//
// # One trace only
//
// [Estimate] assumes that a single worker does the same work at the same speed, one piece after the
// other, and that the program is idle for the same time:
//
//	S_est = (Σ running, or in a system call with a processor, + idle) ÷ T_p
//
// Under that assumption the speed-up is at most S_est, which is too large by exactly the remainder.
// A program that marks units of equal work by regions ([Options.Unit]) removes the bias. "go run
// ./benchmarks/bound" compares the estimate with measurements. A run whose length is due to timers,
// the network or a disk has no estimate ([ErrOutside]).
//
// # Cost
//
// The analysis adds about 50 ns of CPU time to each event of a pass. FromTraces makes two passes
// over the run with many workers, the first to choose them, and one over the other run. Memory does
// not grow with the trace. (BenchmarkObserver.)
//
// The paper is Eyerman, Du Bois, Eeckhout, "Speedup stacks: identifying scaling bottlenecks in
// multi-threaded applications", ISPASS 2012. Equations are numbered as in the description by Du
// Bois, Sartor, Eyerman and Eeckhout for managed programs.
package speedup
