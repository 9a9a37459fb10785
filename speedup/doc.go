// Package speedup explains why N workers are not N times faster than one. It computes speedup stacks
// (Eyerman, Du Bois, Eeckhout, "Speedup stacks: identifying scaling bottlenecks in multi-threaded
// applications", ISPASS 2012): bars of height N that consist of the measured speed-up and the
// components that keep it below N. A stack needs two execution traces of the same work, with one
// worker (bottleneck.Options.Single) and with many; an estimate shows what one trace alone does:
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
//		"github.com/bottleneck-go/bottleneck/speedup"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantSpeedup}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		s := r.Speedup
//		if s == nil {
//			log.Fatal(r.SpeedupErr)
//		}
//		fmt.Println(s.Sentence())
//		for _, c := range speedup.Delimiters() {
//			if v := s.Components[c]; v != 0 {
//				fmt.Printf("%6.2f %s: without it, %.2f times\n", v, c, s.WhatIf(c))
//			}
//		}
//	}
//
// The run with N workers has N lanes. At each instant every lane is in exactly one [Component]
// (observer.go lists the rules). A component is the difference of the two runs divided by the time T_p
// of the run with N workers, so S + Σ components + remainder == N exactly, with S = T_s / T_p.
//
// The remainder is the extra time that the same work took to run: caches, memory, parallel
// overhead, and time for which the system gave the processor to another process. "bottleneck
// scale" measures the latter; [Stack.Explain] explains the rest by counters of the system.
//
// The analysis adds about 50 ns to each event of a pass (BenchmarkObserver). Equations are numbered as
// by Du Bois, Sartor, Eyerman and Eeckhout for managed programs.
package speedup
