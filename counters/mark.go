package counters

import (
	"context"
	"runtime/trace"
)

// markCategory is the category of runtime/trace.Log for markers.
const markCategory = "bottleneck.mark"

// Mark puts a named point in time into the recording, or into any execution trace that is being
// taken, from which a recording is made later. Filters of an analysis then select what ran between
// two markers.
//
// Without a trace Mark does nothing and takes 2 ns, so calls may stay in a program; with one it
// takes about half a microsecond. The context only says which user task (runtime/trace.NewTask) the
// marker belongs to.
func Mark(ctx context.Context, text string) {
	if trace.IsEnabled() {
		trace.Log(ctx, markCategory, text)
	}
}
