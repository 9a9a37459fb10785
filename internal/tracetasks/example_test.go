package tracetasks_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A program that does not use this package but marks its work by regions.
func ExampleNewObserver() {
	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		trace.WithRegion(context.Background(), "index a file", func() { time.Sleep(time.Millisecond) })
	}
	trace.Stop()

	o := tracetasks.NewObserver(tracetasks.Options{})
	if _, err := timeline.Read(context.Background(), &recorded, timeline.Options{}, o); err != nil {
		log.Fatal(err)
	}
	p := o.Profile()
	for i := range p.Classes {
		c := &p.Classes[i]
		fmt.Println(c.Name, c.Tasks, "tasks; source", p.Source, "accuracy", p.Accuracy)
		fmt.Println("off the processor for 1 ms or more:", c.BlockedNS.Quantile(.5) >= 1e6)
	}
	// Output:
	// index a file 3 tasks; source trace-running accuracy upper-bound
	// off the processor for 1 ms or more: true
}
