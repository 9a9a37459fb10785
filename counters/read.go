package counters

import (
	"context"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Read returns the recording of the execution trace in r: a file, a stream, the bytes of a flight
// recorder, packed with gzip or zstd or not. It has the counters of the trace itself: see
// [Observer].
//
// A trace that is cut off or broken gives the recording of what could be read, with a warning, and
// an error (a *[timeline.Error]). The recording is nil only if nothing could be read, or if it has
// too many quanta.
func Read(ctx context.Context, r io.Reader, opt Options) (*Recording, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}, o)
	return o.result(info, err)
}

// ReadFile returns the recording of the execution trace in a file. See [Read].
func ReadFile(ctx context.Context, name string, opt Options) (*Recording, error) {
	if opt.Name == "" {
		opt.Name = name
	}
	o := NewObserver(opt)
	info, err := timeline.ReadFile(ctx, name, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}, o)
	return o.result(info, err)
}

func (o *Observer) result(info *timeline.Info, err error) (*Recording, error) {
	if info.Generations == 0 {
		return nil, err
	}
	r, tooMany := o.Recording()
	if tooMany != nil {
		return nil, tooMany
	}
	r.Warnings = append(r.Warnings, info.Warnings(err)...)
	return r, err
}

func duration(t timeline.Time) time.Duration { return time.Duration(t) }
