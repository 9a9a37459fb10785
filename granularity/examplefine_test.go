//go:build amd64 || arm64

package granularity_test

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// On other systems each clock reading is a system call. On a busy machine the variation of these,
// in microseconds, is larger than so small tasks and their overhead.

// A pool that executes far too small tasks is diagnosed, with the line to change.
func Example() {
	rec := granularity.NewRecorder()
	pool := &granularity.Pool{Name: "counter", Recorder: rec}
	var words atomic.Int64
	for range 10_000 {
		pool.Submit(func() { words.Add(1) })
	}
	pool.Close()

	c := rec.Profile().Classes[0]
	fmt.Println(c.Name[strings.LastIndexByte(c.Name, '/')+1:], c.Executions(), "tasks:", c.Diagnosis)
	fmt.Println("submitted to", c.Sites[0].Pool, "by", c.Sites[0].Submitted[0].Func[strings.LastIndexByte(c.Sites[0].Submitted[0].Func, '.')+1:])
	// Output:
	// granularity_test.Example.func1 10000 tasks: fine
	// submitted to counter by Example
}
