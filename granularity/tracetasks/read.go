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
	// of its regions (trace.StartRegion): class is the task's type, and the granularity of a
	// task what ran in its regions, on whatever goroutines.
	Tasks bool
	// AggregateNested counts regions inside of a region to that one, and goroutines that end
	// before the one that started them to that one, instead of as tasks of their own.
	AggregateNested bool
	// Hz is the frequency of reference cycles on the machine of the trace, if it is known: the
	// profile then has cycles, too.
	Hz float64
	// MaxSites limits the places that tasks come from, as that of [granularity.RecorderOptions]
	// does; 2048 if 0.
	MaxSites int
	// Name is what errors call the trace.
	Name string
	// Progress is called with the bytes that are done, and their number in all, −1 if unknown.
	Progress func(done, size int64)
	// MaxMemory bounds what the heap grows by during a pass, in bytes, as in timeline.Options:
	// 0 means half of the machine's.
	MaxMemory int64
	// Part is what to read of the trace, if not all of it.
	Part timeline.Part
}

// Read returns the tasks of the execution trace in r: a file, a stream, packed with gzip or
// zstd or not.
//
// Each user region is a task, its type the class. In a trace without regions, each goroutine is a
// task, and each request on a connection of net/http whose handler the call chains show: see
// goroutines.go. [granularity.Profile].Of is which they are.
//
// The granularity of a region is the time for which its goroutine ran (or was in a system call that
// kept its processor), without regions inside of it: an upper bound of processor time, since a
// trace does not show when the system took the thread off its core. Source and Accuracy of the
// profile show that, and there are no cycles unless Options.Hz is set. Regions of package
// granularity's pools, groups and Do are found, too, with pools' names.
//
// Created is the call chain of StartRegion; for our own pools, which start the regions themselves,
// that of the go statement. Submitted is where the region's user task began or, without one, where
// its goroutine was started: for workers that take tasks from a queue, where the workers were
// started. It is nil for nested regions.
//
// Samples and pauses are those of the trace; the samples count goroutine switches in the place of
// context switches, see [granularity.Profile.SwitchesName]. Regions that began before the trace,
// or end after it, are unmeasured.
//
// A trace that is cut off or broken gives the profile of what could be read, with a warning, and
// an error (a *[timeline.Error]). The profile is nil only if nothing could be read.
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
