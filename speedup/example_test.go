package speedup_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func open(trace string) *os.File {
	f, err := os.Open("../testdata/small/" + trace)
	if err != nil {
		log.Fatal(err)
	}
	return f
}

func ExampleStack() {
	single, multi := open("compute-go1.25.5.trace"), open("compute-go1.26.8.trace")
	defer single.Close()
	defer multi.Close()
	r, err := bottleneck.Analyze(context.Background(), multi, bottleneck.Options{Want: bottleneck.WantSpeedup, Single: single})
	if err != nil {
		log.Fatal(err)
	}
	s := r.Speedup
	if s == nil {
		log.Fatal(r.SpeedupErr)
	}
	sum := s.Speedup + s.Remainder
	for _, c := range speedup.Delimiters() {
		sum += s.Components[c]
	}
	fmt.Printf("%d lanes, %s; the parts sum to %.6f\n", s.N, s.Workers.Selector, sum)
	// Output:
	// 2 lanes, proto/work.computeWorker; the parts sum to 2.000000
}

// Four workers under one lock. Two can run at a time.
func ExampleStack_WhatIf() {
	trace := open("mutex-go1.26.8.trace")
	defer trace.Close()
	r, err := bottleneck.Analyze(context.Background(), trace, bottleneck.Options{Want: bottleneck.WantSpeedup})
	if err != nil {
		log.Fatal(err)
	}
	s := r.Speedup
	if s == nil {
		log.Fatal(r.SpeedupErr)
	}
	mutex := speedup.SyncMutex
	fmt.Printf("at most %.2f times faster; %v %.2f; without it %.2f\n", s.Speedup, mutex, s.Components[mutex], s.WhatIf(mutex))
	// Output:
	// at most 1.22 times faster; sync-mutex 0.72; without it 1.92
}

func ExampleCheckWorkers() {
	fmt.Println(speedup.CheckWorkers("main.work,main.feed"))
	fmt.Println(speedup.CheckWorkers("pool:"))
	// Output:
	// <nil>
	// workers "pool:": a name is missing
}

// Both passes of an estimate in one reading, together with a bottle graph.
func ExampleEstimator() {
	f := open("mutex-go1.26.8.trace")
	defer f.Close()
	e := speedup.NewEstimator(speedup.Options{})
	graph := bottle.NewObserver(bottle.Options{})
	info, err := timeline.ReadTwice(context.Background(), f, timeline.Options{}, 0, []timeline.Observer{e.First()}, func(*timeline.Info) []timeline.Observer {
		second, err := e.Second()
		if err != nil {
			log.Fatal(err)
		}
		return []timeline.Observer{second, graph}
	})
	if err != nil {
		log.Fatal(err)
	}
	stack, err := e.Stack(info)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", stack.Speedup)
	// Output:
	// 1.22
}
