// Package tracetasks finds the tasks of a program in an execution trace: its regions, its user
// tasks, or its goroutines and the requests that they serve.
//
// The result is a [granularity.Profile]:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/granularity/tracetasks"
//	)
//
//	func main() {
//		p, err := tracetasks.Read(context.Background(), os.Stdin, tracetasks.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, c := range p.Classes {
//			fmt.Println(c.Name, c.Tasks, time.Duration(c.RunningNS.Quantile(.5)))
//		}
//	}
//
// benchmarks/pass measures what it adds to reading the trace.
package tracetasks

import (
	"context"
	"io"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures [Read]. The zero value is ready to use.
type Options struct {
	// Tasks makes the tasks of runtime/trace (trace.NewTask) the tasks of the profile, instead
	// of its regions (trace.StartRegion). The class is the task's type. The granularity of a
	// task is what ran in its regions, on any goroutine.
	Tasks bool
	// AggregateNested counts nested regions as part of the enclosing region, and goroutines
	// that end before their creator as part of the creator, instead of as separate tasks.
	AggregateNested bool
	// Hz is the frequency of reference cycles on the machine of the trace, if known. The
	// profile then also has cycles.
	Hz float64
	// MaxSites limits the places that tasks come from, as in [granularity.RecorderOptions];
	// 2048 if 0.
	MaxSites int
	// Name is the name of the trace in errors.
	Name string
	// Progress, if not nil, is called with the number of bytes done and the total, −1 if
	// unknown.
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the heap during a pass, in bytes, as in timeline.Options.
	// 0 means half of the machine's memory.
	MaxMemory int64
	// Part selects the part of the trace to read, if not all of it.
	Part timeline.Part
}

// Read returns the tasks of the execution trace in r, a file or a stream, optionally compressed
// with gzip or zstd.
//
// Each user region is a task whose class is the region's type. In a trace without regions, each
// goroutine is a task, and so is each request on a net/http connection whose handler appears in the
// call chains: see goroutines.go. [granularity.Profile].Of shows which of these the tasks are.
//
// The granularity of a region is the time for which its goroutine ran (or was in a system call that
// kept its processor), without nested regions: an upper bound of CPU time, because a trace does not
// show when the system took the thread off its core. Regions of package granularity's pools, groups
// and Do are included, with pools' names.
//
// Created is the call chain of StartRegion or, for this module's pools, that of the go statement.
// Submitted is where the region's user task began or, without one, where its goroutine was started.
// It is nil for nested regions.
//
// Samples count goroutine switches instead of context switches. Regions that began before the
// trace, or end after it, are unmeasured.
//
// If a trace is truncated or broken, Read returns the profile of the readable part, with a warning,
// and an error (a *[timeline.Error]). The profile is nil only if nothing could be read.
func Read(ctx context.Context, r io.Reader, opt Options) (*granularity.Profile, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Part: opt.Part}, o)
	if info.Generations == 0 {
		return nil, err
	}
	p := o.Profile()
	p.Warnings = append(p.Warnings, info.Warnings(err)...)
	return p, err
}
