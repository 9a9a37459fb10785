package contention_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck/contention"
)

// The trace is of a program in which 16 goroutines write to one standard logger. They wait for
// each other in the function that holds the lock across the write to the file.
func ExampleReadTraceFile() {
	file := filepath.Join("..", "testdata", "real", "stdlog-file.trace.zst")
	p, err := contention.ReadTraceFile(context.Background(), file, contention.TraceOptions{})
	if err != nil {
		log.Fatal(err) // where the trace is broken; p is what could be read
	}
	for _, q := range p.Pairs {
		if q.Kind == contention.MutexKind {
			waiter, owner := q.Waiter.Stack.Frames[0], q.Owner.Stack.Frames[0]
			fmt.Printf("%s: line %d waits for who lets go in line %d\n", waiter.Func, waiter.Line, owner.Line)
		}
	}
	// Output:
	// log.(*Logger).output: line 242 waits for who lets go in line 245
}
