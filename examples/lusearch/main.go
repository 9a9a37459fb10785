// Lusearch answers queries on an index in memory with one task per processor, as the benchmark
// lusearch does. The queries of the first task take longer than those of the others, so at the end
// one processor works and the others are idle. It measures its tasks, prints the diagnosis, splits
// the queries into as many tasks as advised, and prints the speed-up:
//
//	go run .                        # the diagnosis and the speed-up
//	go run . -json lusearch.json    # keeps the profile for "bottleneck tasks lusearch.json"
package main

import (
	"errors"
	"flag"
	"runtime"

	"github.com/bottleneck-go/bottleneck/examples/internal/advised"
)

func main() {
	queries := flag.Int("queries", 6000, "number of queries")
	advised.Main(9, func() (advised.Example, error) {
		switch {
		case *queries < 1:
			return advised.Example{}, errors.New("-queries: want at least one")
		case runtime.GOMAXPROCS(0) < 2:
			return advised.Example{}, errors.New("GOMAXPROCS must be at least 2: a single processor is never idle")
		}
		return example(*queries), nil
	})
}

func example(n int) advised.Example {
	x := newIndex()
	queries := x.queries(n)
	return advised.Example{Tasks: runtime.GOMAXPROCS(0), Work: func(tasks int, g advised.Group) (int, error) {
		return x.searchAll(queries, tasks, g)
	}}
}
