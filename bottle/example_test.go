package bottle_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The compiler compiles go/types: a serial front end limits it to 1.56 of two processors.
func ExampleReadFile() {
	g, err := bottle.ReadFile(context.Background(), "../testdata/real/gocompile-c2.trace.zst", bottle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ms := time.Millisecond
	fmt.Printf("%v of wall time, %.2f of %d processors in use\n", g.Wall.Round(ms), g.MeanParallelism(), g.Procs)
	for _, b := range g.Top(2).Boxes {
		if b.Share < 20*ms {
			continue
		}
		fmt.Printf("%v at width %.2f: %s, %d goroutines\n", b.Share.Round(ms), b.Parallelism, b.Group, b.Goroutines)
	}
	neck, _ := g.Neck()
	for _, b := range neck {
		fmt.Printf("%.0f%% of the capacity was lost while %s ran\n", 100*float64(b.Lost)/float64(g.Capacity), b.Group)
	}
	// Output:
	// 1.404s of wall time, 1.56 of 2 processors in use
	// 123ms at width 1.97: 9 others (gc), 33 goroutines
	// 652ms at width 1.97: cmd/compile/internal/gc.compileFunctions.func3.1, 1371 goroutines
	// 607ms at width 1.02: main.main, 1 goroutines
	// 21% of the capacity was lost while main.main ran
}

// Windows show phases: a sequential one, two workers at full width, and at the end one worker with
// more work than the other.
func ExampleReadTrace() {
	recorded, err := os.ReadFile("../testdata/small/phases-go1.26.8.trace") // or what a flight recorder wrote
	if err != nil {
		log.Fatal(err)
	}
	g, err := bottle.ReadTrace(context.Background(), bytes.NewReader(recorded), bottle.Options{Window: 500 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range g.Windows {
		fmt.Printf("from %v:", w.Start)
		for _, b := range w.Top(2).Boxes {
			if b.Share > 10*time.Millisecond {
				fmt.Printf("  %s %v × %.2f", b.Group, b.Share.Round(time.Millisecond), b.Parallelism)
			}
		}
		fmt.Println()
	}
	// Output:
	// from 0s:  proto/work.phaseWorker 252ms × 2.00  main.main 247ms × 1.00
	// from 500ms:  proto/work.phaseWorker 500ms × 2.00
	// from 1s:  proto/work.phaseWorker 499ms × 2.00
	// from 1.5s:  proto/work.phaseWorker 494ms × 1.34
	// from 2s:  proto/work.phaseWorker 387ms × 1.01
}

// An Observer makes its graph in one pass together with other observers: here one that counts
// goroutines.
func ExampleObserver() {
	graph := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine})
	births := &births{}
	_, err := timeline.ReadFile(context.Background(), "../testdata/small/mutex-go1.26.8.trace", timeline.Options{}, graph, births)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(births.n, "goroutines were born")
	for _, b := range graph.Graph().Boxes {
		if b.Waiting["mutex"] > 0 {
			fmt.Printf("%s: %v of the wall time, ran %v, waited %v for a mutex\n",
				b.Group, b.Share.Round(time.Millisecond), b.Running.Round(time.Millisecond), b.Waiting["mutex"].Round(time.Millisecond))
		}
	}
	// Output:
	// 7 goroutines were born
	// proto/work.mutexWorker #13: 228ms of the wall time, ran 284ms, waited 575ms for a mutex
	// proto/work.mutexWorker #14: 229ms of the wall time, ran 280ms, waited 563ms for a mutex
	// proto/work.mutexWorker #11: 225ms of the wall time, ran 273ms, waited 581ms for a mutex
	// proto/work.mutexWorker #12: 211ms of the wall time, ran 255ms, waited 585ms for a mutex
}

type births struct {
	timeline.Base
	n int
}

func (b *births) Transition(t *timeline.Transition) {
	if t.State == timeline.NotExist {
		b.n++
	}
}

// A regular expression groups goroutines by a part of their names: here by package.
func ExampleByRegexp() {
	packages := bottle.ByRegexp(regexp.MustCompile(`^((?:[^/]*/)*[^.]*)\.`))
	g, err := bottle.ReadFile(context.Background(), "../testdata/real/nethttp-parallel4.trace.zst", bottle.Options{Group: packages})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range g.Boxes {
		if b.Kind == bottle.Application {
			fmt.Printf("%s: %d goroutines, %v × %.2f\n", b.Group, b.Goroutines, b.Share.Round(100*time.Microsecond), b.Parallelism)
		}
	}
	// Output:
	// net/http: 5089 goroutines, 102.4ms × 1.65
	// net/http_test: 22 goroutines, 22.6ms × 1.55
	// net/http/httptest: 2 goroutines, 400µs × 1.32
	// main: 1 goroutines, 600µs × 1.09
}

// Groupings have names for command lines.
func ExampleParseGrouping() {
	for _, s := range []string{"creator", "/^net/", "color"} {
		by, err := bottle.ParseGrouping(s)
		if err != nil {
			fmt.Println(strings.Replace(err.Error(), ": ", ":\n\t", 1))
			continue
		}
		fmt.Println("by", by)
	}
	// Output:
	// by creator
	// by /^net/
	// unknown grouping "color":
	// 	want function, start, creator, goroutine, region, task, kind or /regexp/
}

// The neck is the box that lost most of the capacity: look at it first.
func ExampleGraph_Neck() {
	g, err := bottle.ReadFile(context.Background(), "../testdata/real/stdlog-file.trace.zst", bottle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	neck, _ := g.Neck()
	for _, b := range neck {
		fmt.Printf("%.0f%% of the capacity was lost while %s ran\n", 100*b.Lost.Seconds()/g.Capacity.Seconds(), b.Group)
		fmt.Printf("%d × %s: width %.2f, %.1f of them wait for a mutex at any time\n",
			b.Goroutines, b.Group, b.Parallelism, b.Waiting["mutex"].Seconds()/g.Wall.Seconds())
	}
	// Output:
	// 32% of the capacity was lost while main.worker ran
	// 16 × main.worker: width 1.33, 12.7 of them wait for a mutex at any time
}
