package quanta_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleReadFile() {
	rec, err := quanta.ReadFile(context.Background(), "../../testdata/small/mutex-go1.26.8.trace", quanta.Options{})
	if err != nil {
		log.Fatal(err)
	}
	blocked := 0
	for i := range rec.Len() {
		if rec.Ending[i] == quanta.Blocked && rec.Wait[i] == timeline.WaitMutex {
			blocked++
		}
	}
	fmt.Println("quanta that ended at a mutex:", blocked > 0)
	// Output: quanta that ended at a mutex: true
}

// Counters and another analysis in one pass over a trace.
func ExampleObserver() {
	o := quanta.NewObserver(quanta.Options{})
	if _, err := timeline.ReadFile(context.Background(), "../../testdata/small/compute-go1.26.8.trace", timeline.Options{}, o); err != nil {
		log.Fatal(err)
	}
	rec, err := o.Recording()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.GoVersion, len(rec.Counters))
	// Output: go1.26 7
}
