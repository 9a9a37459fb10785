package bottleneck

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Live is a report of a program that runs, made by [Continuous].
type Live struct {
	// Report is what was found; its Info is about the time of the report. Bottle, Contention and Tasks are never nil.
	// There is no estimate of the speedup, which needs a snapshot: see [AnalyzeRecorder].
	Report
	// From and To are the time that the report is about; zero if there is no window yet.
	From, To time.Time
	// Covered is how much of it was really seen: the rest was dropped, and is in no number.
	Covered time.Duration
	// Windows is the number of windows, one a generation of the trace, in the report.
	Windows int
	// Stream tells what the reading has cost and dropped since Start.
	Stream timeline.StreamStats
	// Panics is how often an observer or a grouping has panicked, and Panic what the last one said. What was found before a panic is
	// lost; the analysis begins anew.
	Panics int
	Panic  string
}

// AnalyzeRecorder takes a snapshot of a running program and runs all analyses on it, of the same time. rec is a
// *bottle.Recorder, a *trace.FlightRecorder, or anything that writes an execution trace. The snapshot is decoded once, in
// memory: 16 bytes for each event, unless Options.NoSpeedup is set, and the call chains. It takes some 0.4 µs of processor time for an event.
//
// Errors are those of rec, such as bottle.ErrBusy, and of [Analyze]; if ctx ends, its cause.
func AnalyzeRecorder(ctx context.Context, rec io.WriterTo, opt Options) (report *Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			report, err = nil, fmt.Errorf("bottleneck: snapshot: panic: %v", p)
		}
	}()
	buf, ok := rec.(*snapshot.Buffer)
	if !ok {
		buf = snapshot.New(ctx)
		if _, err := rec.WriteTo(buf); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("bottleneck: snapshot: %w", err)
		}
	}
	if w, ok := rec.(interface{ Window() time.Duration }); ok && opt.Last == 0 {
		opt.Last = w.Window()
	}
	a := newAnalyses(&opt)
	est := speedup.NewEstimator(opt.Speedup)
	var info *timeline.Info
	var estErr error
	switch {
	case opt.NoSpeedup:
		last := opt.Last
		if last <= 0 {
			last = math.MaxInt64
		}
		info, err = timeline.ReadLast(ctx, buf.Reader(), opt.pass(), last, a.observers(&opt))
	default:
		info, err = timeline.ReadSnapshot(ctx, buf.Reader(), opt.pass(), []timeline.Observer{est.First()},
			func(info *timeline.Info) (s timeline.Second) {
				if opt.Last > 0 {
					s.From = max(info.Start, info.End-timeline.Time(opt.Last))
				}
				s.Observers = a.observers(&opt)
				var second timeline.Observer
				if second, estErr = est.Second(); estErr == nil {
					s.Observers = append(s.Observers, second)
				}
				return s
			})
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case info.Generations == 0:
		return nil, err
	}
	report = a.report(info)
	switch rec.(type) {
	case *bottle.Recorder, *trace.FlightRecorder: // of this process
		report.Bottle.CPUs = host.Processors()
		for _, w := range report.Bottle.Windows {
			w.CPUs = host.Processors()
		}
	}
	if opt.NoSpeedup {
		report.SpeedupErr = errNoSpeedup
	} else if report.Speedup, report.SpeedupErr = est.Stack(info); estErr != nil {
		report.SpeedupErr = estErr
	}
	return report, err
}
