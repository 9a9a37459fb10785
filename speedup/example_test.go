package speedup_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bottleneck-go/bottleneck/speedup"
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

// Four workers under one lock, two of which could run at a time.
func ExampleEstimate() {
	s, err := speedup.FromFiles(context.Background(), "", "../testdata/small/mutex-go1.26.8.trace", speedup.Options{})
	if err != nil {
		log.Fatal(err)
	}
	worst, _ := s.Largest()
	fmt.Printf("at most %.2f times faster; %v %.2f; without it %.2f\n", s.Speedup, worst, s.Components[worst], s.WhatIf(worst))
	// Output:
	// at most 1.22 times faster; sync-mutex 0.72; without it 1.91
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
