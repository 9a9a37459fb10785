package granularity_test

import (
	"fmt"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// Profiles of several instances of a service are merged into one.
func ExampleMerge() {
	traced := func() *granularity.Profile {
		rec := granularity.NewRecorder()
		pool := &granularity.Pool{Recorder: rec}
		for range 3 {
			pool.Submit(func() {})
		}
		pool.Close()
		return rec.Profile()
	}
	both := granularity.Merge(traced(), traced())
	fmt.Println(both.Instances, "instances,", both.Classes[0].Executions(), "tasks")
	// Output:
	// 2 instances, 6 tasks
}
