package speedup_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleFromFiles() {
	single, multi := "../testdata/small/compute-go1.25.5.trace", "../testdata/small/compute-go1.26.8.trace"
	s, err := speedup.FromFiles(context.Background(), single, multi, speedup.Options{})
	if err != nil {
		log.Fatal(err)
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
func ExampleEstimate() {
	s, err := speedup.FromFiles(context.Background(), "", "../testdata/small/mutex-go1.26.8.trace", speedup.Options{})
	if err != nil {
		log.Fatal(err)
	}
	mutex := speedup.SyncMutex
	fmt.Printf("at most %.2f times faster; %v %.2f; without it %.2f\n", s.Speedup, mutex, s.Components[mutex], s.WhatIf(mutex))
	// Output:
	// at most 1.22 times faster; sync-mutex 0.72; without it 1.92
}

func ExampleParseSelector() {
	for _, s := range []string{"", "main.work,main.feed", "pool:indexers", "region:render", "/worker[0-9]/"} {
		by, err := speedup.ParseSelector(s)
		fmt.Println(by, err)
	}
	// Output:
	// auto <nil>
	// main.work,main.feed <nil>
	// pool:indexers <nil>
	// region:render <nil>
	// /worker[0-9]/ <nil>
}

// For programs that also read a trace for other analyses: one pass finds the workers, and one
// accounts for their lanes.
func ExampleObserver() {
	read := func(o timeline.Observer) {
		f, err := os.Open("../testdata/small/mutex-go1.26.8.trace")
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if _, err := timeline.Read(context.Background(), f, timeline.Options{}, o); err != nil {
			log.Fatal(err)
		}
	}
	survey := speedup.NewSurvey(speedup.Selector{})
	read(survey)
	workers, err := survey.Workers()
	if err != nil {
		log.Fatal(err)
	}
	observer := speedup.NewObserver(speedup.Config{Workers: workers, N: survey.Lanes(workers)})
	read(observer)

	account := observer.Account()
	var sum time.Duration
	for _, d := range account.Time {
		sum += d
	}
	fmt.Println(workers, account.Workers, account.N)
	fmt.Println(sum == time.Duration(account.N)*account.Wall)
	// Output:
	// proto/work.mutexWorker 4 2
	// true
}

// Both passes of an estimate in one reading, together with a bottle graph.
func ExampleEstimator() {
	f, err := os.Open("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
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
