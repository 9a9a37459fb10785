package contention_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
)

// Profiles of several instances of a service are merged into one.
func ExampleMerge() {
	f, err := os.Open("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{Want: bottleneck.WantContention})
	if err != nil {
		log.Fatal(err)
	}
	a := r.Contention
	both := contention.Merge(a, a)
	fmt.Println(both.Instances, "instances;", both.Waits[0].Contentions == 2*a.Waits[0].Contentions, len(both.Waits) == len(a.Waits))
	// Output:
	// 2 instances; true true
}
