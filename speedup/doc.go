// Package speedup says why N workers are not N times faster than one: speedup stacks, a bar of
// height N that is cut into the measured speed-up and what keeps it from being N.
//
// They need two execution traces (runtime/trace) of the same work, with one worker and with many:
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
// The run with N workers has N lanes, one a worker. At each instant every lane is in exactly one
// component: it runs, or one of the [Component] values says what keeps it from running (observer.go
// tells the rules in their order). So lane times sum to N·T_p, an identity of integers in
// nanoseconds. The single-threaded run has one lane. The difference of both, divided by T_p, is the
// component:
//
//	S + Σ components + remainder == N, exactly, with S = T_s / T_p
//
// The remainder is what the same work took longer to run: caches, memory, work for being parallel;
// also time for which the operating system gave the processor to somebody else, which no trace
// shows: package schedstat measures that, and a stack of a run with too much of it is
// [Stack.Disturbed]. Negative components are legal: the single-threaded run had more of them.
//
// # Who the workers are
//
// The start function with the largest area, that is running time of all its goroutines, of those
// that have at least two goroutines at the same time. If there is none, they are the start
// functions with some of the running time each, the stages of a pipeline; all goroutines of the
// program if those did not live at the same time, as in a program that is serial. A [Selector] says
// otherwise: the feeder of a pool should be included, a benchmark's own goroutine not. N is the
// number of workers that live at the same time, but no more than GOMAXPROCS. While more than N
// live, those that run come first, and the others share the lanes that are left.
//
// # One trace only
//
// [Estimate] supposes that a single worker does the same work at the same speed, one piece after
// the other, and that nothing runs for as long:
//
//	S_est = (Σ running, or in a system call with a processor, + idle) ÷ T_p
//
// If that is so, the speed-up is at most S_est; it is too large by exactly the remainder. A program
// that marks units of equal work by regions ([Options.Unit]) removes the bias. "go run
// ./benchmarks/bound" compares it with what is measured. A run that is as long as it is because of
// timers, the network or a disk has no estimate ([ErrOutside]).
//
// # Cost
//
// The analysis adds about 50 ns of processor time to each event of a pass; FromTraces makes two
// passes over the run with many workers, to choose them first, and one over the other. Memory does
// not grow with the trace. (BenchmarkObserver.)
//
// The paper is Eyerman, Du Bois, Eeckhout, "Speedup stacks: identifying scaling bottlenecks in
// multi-threaded applications", ISPASS 2012; equations are numbered as in Du Bois, Sartor, Eyerman
// and Eeckhout's account of them for managed programs.
package speedup
