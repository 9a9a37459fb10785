package bottleneck

import (
	"context"
	"fmt"
	"io"
	"runtime/trace"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Live is a report on a running program, made by [Continuous] from bursts of tracing.
//
// Times and numbers are estimates for the time from From to To, except for the numbers of
// goroutines, the longest waits and tasks, and the state at the end, which are as observed. The
// warnings of the graph, the contention, the tasks and the verdict state how much was observed.
// Waits and tasks that are longer than a burst are never observed as a whole: such waits count for
// the time that was observed, and such tasks are unmeasured.
type Live struct {
	// Report holds the results; its Info describes the time of the report. Bottle, Contention
	// and Tasks are never nil. There is no speedup estimate, which needs a snapshot: see
	// [AnalyzeRecorder].
	Report
	// From and To bound the time of the report. They are zero if there is no window yet.
	From, To time.Time
	// Covered is the time that was traced. Bottle.Wall is an estimate of the whole time.
	Covered time.Duration
	// Windows is the number of windows in the report, one per burst.
	Windows int
	// Throttled is the fraction of periods in which the cgroup of the process had used up its
	// CPU quota, which stops all threads until the next period. It is 0 if there is no quota.
	// It is measured continuously, not estimated from bursts.
	Throttled float64
	// Coverage is the part of the time from From to To that was traced.
	Coverage float64
	// IdleError is half the width of the 95 % confidence interval of Bottle.Idle. Those of the
	// boxes are in bottle.Box.ShareError.
	IdleError time.Duration
	// WidestError is the largest of these, as a part of Bottle.Wall; 1 means that nothing is known.
	WidestError float64
	// CutBursts is the number of windows that are shorter than planned, because the trace did not
	// fit into memory or ended early.
	CutBursts int
	// MissedBursts is the number of bursts since Start that did not take place, because other code
	// traced the program. LostBursts is the number of bursts without results: their trace did not
	// fit into memory, was damaged, or was ended at once by other code.
	MissedBursts, LostBursts int
	// Stream holds the cost of reading and what was dropped, since Start.
	Stream timeline.StreamStats
	// Panics is the number of panics of observers and groupings, and Panic is the message of
	// the last one. Results before a panic are lost; the analysis starts anew.
	Panics int
	Panic  string
}

// An estimate from fewer bursts than few, or with an error above wide, is called poor.
const (
	few  = 10
	wide = 0.1
)

// estimate describes in words how the numbers were estimated.
func (l *Live) estimate(s *sample) string {
	if s.gaps == 0 {
		return fmt.Sprintf("Measured in a single burst of tracing of %s, at the start of the analysis.", format.Duration(s.seen))
	}
	all := time.Duration(l.Info.End - l.Info.Start)
	text := fmt.Sprintf("Estimated from %s of tracing at random times, %s of %s: ", format.Plural(s.bursts, "burst", "bursts"), format.Percent(s.seen, all), format.Duration(all))
	if of := s.stands / float64(all); s.stands > 0 && (of < 0.9 || of > 1.1) {
		text += fmt.Sprintf("times sum to %.2g times that; ", of)
	}
	if l.WidestError >= 1 {
		text += "too few to estimate the error."
	} else {
		text += fmt.Sprintf("with a confidence of 95%%, the error of shares is at most %.2g%% of the time.", 100*l.WidestError)
		if s.bursts < few || l.WidestError > wide {
			text += " For a smaller error, ask for more seconds."
		}
	}
	return text
}

// missing describes in words what no number includes. It returns "" if nothing is missing.
func (l *Live) missing() string {
	var parts []string
	add := func(n int, why string) {
		if n > 0 {
			parts = append(parts, format.Plural(n, "burst", "bursts")+" "+why)
		}
	}
	add(l.CutBursts, "ended early")
	add(l.MissedBursts, "since the beginning did not take place, because other code traced the program")
	add(l.LostBursts, "since the beginning had no result: the trace was too large or damaged")
	if len(parts) == 0 {
		return ""
	}
	return "Some bursts of tracing are missing or short: " + strings.Join(parts, ", ") + "."
}

// throttled returns a warning if the cgroup was throttled, which a trace does not show, or "".
func (l *Live) throttled() string {
	if l.Throttled < 0.01 {
		return ""
	}
	return fmt.Sprintf("The control group of the process was throttled in %.2g%% of its periods: until the next period, goroutines that count as running did not run.", 100*l.Throttled)
}

// AnalyzeRecorder takes a snapshot of a running program and runs all analyses on it. rec is a
// *bottle.Recorder, a *trace.FlightRecorder, or another writer of an uncompressed execution trace
// of Go 1.22 or later. The snapshot is decoded once, in memory, with space for the call chains and,
// if the speedup is wanted, 16 bytes per event. It takes about 0.4 µs of CPU time per event.
//
// Errors are those of rec, such as bottle.ErrBusy, and of [Analyze], or the cause of ctx.
func AnalyzeRecorder(ctx context.Context, rec io.WriterTo, opt Options) (report *Report, err error) {
	defer contain(&report, &err)
	buf, err := takeSnapshot(ctx, rec, &opt)
	if err != nil {
		return nil, err
	}
	a := newAnalyses(&opt)
	info, err := timeline.ReadSnapshot(ctx, buf.Reader(), opt.pass(), opt.Last, a.survey(), func() []timeline.Observer {
		return append(a.observers(), a.estimate()...)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if report, err = a.report(info, err); report == nil {
		return nil, err
	}
	if a.books != nil {
		a.conclude(report)
	}
	a.speedup(report, func() (*speedup.Stack, error) { return a.estimator.Stack(info) })
	return report, err
}

// GraphRecorder is [AnalyzeRecorder] for the graph only, whatever Options.Want is. It takes about
// 0.2 µs of CPU time per event. A program that does not call AnalyzeRecorder, too, is 1.5 MB
// smaller.
func GraphRecorder(ctx context.Context, rec io.WriterTo, opt Options) (report *Report, err error) {
	defer contain(&report, &err)
	buf, err := takeSnapshot(ctx, rec, &opt)
	if err != nil {
		return nil, err
	}
	o := opt.newGraph()
	info, err := timeline.ReadSnapshot(ctx, buf.Reader(), opt.pass(), opt.Last, nil, func() []timeline.Observer {
		return append([]timeline.Observer{o}, opt.Observers...)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	g, err := opt.graph(o, info, err)
	if g == nil {
		return nil, err
	}
	return &Report{Info: info, Bottle: g, SpeedupErr: errNoSpeedup}, err
}

// contain turns a panic of a recorder, an observer or a grouping into an error.
func contain(report **Report, err *error) {
	if p := recover(); p != nil {
		*report, *err = nil, fmt.Errorf("bottleneck: snapshot: panic: %v", p)
	}
}

// takeSnapshot copies the recording, and sets the options that follow from its recorder.
func takeSnapshot(ctx context.Context, rec io.WriterTo, opt *Options) (*snapshot.Buffer, error) {
	if w, ok := rec.(interface{ Window() time.Duration }); ok && opt.Last == 0 {
		opt.Last = w.Window()
	}
	switch rec.(type) {
	case *bottle.Recorder, *trace.FlightRecorder: // of this process
		opt.CPUs = host.Processors()
	}
	if buf, ok := rec.(*snapshot.Buffer); ok {
		return buf, nil
	}
	buf := snapshot.New(ctx)
	if _, err := rec.WriteTo(buf); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("bottleneck: snapshot: %w", err)
	}
	return buf, nil
}
