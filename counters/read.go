package counters

import (
	"context"
	"errors"
	"fmt"
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

// readJoined makes a recording of a trace and samples.
func readJoined(ctx context.Context, traceReader, sampleReader io.Reader, m *meta, opt Options, observers ...timeline.Observer) (*Recording, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, traceReader, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}, append(observers, o)...)
	r, err := o.result(info, err)
	if r == nil {
		return nil, err
	}
	if r.Start.IsZero() {
		r.Start = m.Start
	}
	addMetrics(r, m.MetricNames, m.Metrics)
	r.Warnings = append(r.Warnings, m.Warnings...)
	if m.Begin == 0 {
		return r, err
	}
	s, serr := readSamples(sampleReader, m)
	if serr != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("The records of events could not be read to their end: %v.", serr))
		err = errors.Join(err, serr)
	}
	newJoiner(r, o.zero(), m).join(s)
	return r, err
}

// zero returns the monotonic clock at the beginning of the trace. Traces before Go 1.25 do not tell
// it, but their own clock is the same one on Linux.
func (o *Observer) zero() int64 {
	if o.anchored {
		return o.mono
	}
	return int64(o.begin)
}
