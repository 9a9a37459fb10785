package bottleneck

import (
	"context"
	"io"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options are the choices of [Analyze]. The zero value is right for most.
type Options struct {
	// Name is what errors call the trace.
	Name string
	// Progress is told how many bytes of how many (−1 = not known) are done.
	Progress func(done, size int64)
	// Bottle and Contention are the choices of the analyses; their Name and Progress are not used.
	Bottle     bottle.Options
	Contention contention.TraceOptions
	Tasks      granularity.TraceOptions
	Speedup    speedup.Options
	// Observers see the same pass.
	Observers []timeline.Observer
}

// Report holds what the analyses of one pass over a trace found.
type Report struct {
	// Info sums up the pass.
	Info *timeline.Info
	// Bottle is the bottle graph: which goroutines limit scaling.
	Bottle *bottle.Graph
	// Contention says who waited, and for whom.
	Contention *contention.Profile
	// Tasks are the program's user regions, or tasks, and how large they are.
	Tasks *granularity.Profile
	// Speedup is an estimate of the speedup stack; nil if there is none, and SpeedupErr then says why.
	Speedup    *speedup.Stack
	SpeedupErr error
}

// Analyze reads an execution trace once and runs all analyses on it. The cost is that of
// reading the trace, which takes most of the time of any of them, once.
//
// A trace that is cut off or broken gives the report of what could be read and an error
// (a *[timeline.Error]) that says what is missing; the report is nil only if nothing could be read.
func Analyze(ctx context.Context, r io.Reader, opt Options) (*Report, error) {
	graph := bottle.NewObserver(opt.Bottle)
	waits := contention.NewTraceObserver(opt.Contention)
	observers := append([]timeline.Observer{graph, waits}, opt.Observers...)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress}, observers...)
	if info.Generations == 0 {
		return nil, err
	}
	return &Report{Info: info, Bottle: graph.Graph(), Contention: waits.Profile()}, err
}
