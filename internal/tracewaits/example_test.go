package tracewaits_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
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
