package contention_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/contention/tracewaits"
)

// Profiles of several instances of a service are merged into one.
func ExampleMerge() {
	a, err := tracewaits.ReadFile(context.Background(), "../testdata/small/mutex-go1.26.8.trace", tracewaits.Options{})
	if err != nil {
		log.Fatal(err)
	}
	both := contention.Merge(a, a)
	fmt.Println(both.Instances, "instances;", both.Waits[0].Contentions == 2*a.Waits[0].Contentions, len(both.Waits) == len(a.Waits))
	// Output:
	// 2 instances; true true
}
