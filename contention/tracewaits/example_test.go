package tracewaits_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/contention/tracewaits"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// In the trace, 16 goroutines write to one standard logger. They wait for each other in the
// function that holds the lock during the write to the file.
func Example() {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "real", "stdlog-file.trace.zst"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{Want: bottleneck.WantContention})
	if err != nil {
		log.Fatal(err) // the error has the position; r is the report of the readable part
	}
	for _, q := range r.Contention.Pairs {
		if q.Kind == contention.MutexKind {
			waiter, owner := q.Waiter.Stack.Frames[0], q.Owner.Stack.Frames[0]
			fmt.Printf("%s: line %d waits for who lets go in line %d\n", waiter.Func, waiter.Line, owner.Line)
		}
	}
	// Output:
	// log.(*Logger).output: line 242 waits for who lets go in line 245
}

// One pass over a trace for two analyses: four workers under one lock.
func ExampleObserver() {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "small", "mutex-go1.26.8.trace"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	waits, boxes := tracewaits.NewObserver(tracewaits.Options{}), bottle.NewObserver(bottle.Options{})
	if _, err := timeline.Read(context.Background(), f, timeline.Options{}, waits, boxes); err != nil {
		log.Fatal(err)
	}
	p := waits.Profile()
	fmt.Println("most is lost by a", p.Waits[0].Kind, "in", p.Waits[0].Waiter.Group)
	fmt.Println("of the same trace:", len(boxes.Graph().Boxes), "boxes")
	// Output:
	// most is lost by a mutex in proto/work.mutexWorker
	// of the same trace: 12 boxes
}
