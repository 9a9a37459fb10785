package bottleneck

import (
	"context"
	"fmt"
	"io"
	"math"
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

// Live is a report of a program that runs, made by [Continuous] from bursts of tracing.
//
// Times and numbers are estimates for all of the time from From to To, but for the numbers of
// goroutines, the longest waits and tasks, and what goes on at the end, which are those that were
// seen. The warnings of the graph, the contention, the tasks and the verdict say how much that is.
// Waits and tasks longer than a burst are never seen as a whole: the time of waits counts all the
// same, such tasks are unmeasured.
type Live struct {
	// Report is what was found; its Info is about the time of the report. Bottle, Contention
	// and Tasks are never nil. There is no estimate of the speedup, which needs a snapshot: see
	// [AnalyzeRecorder].
	Report
	// From and To are the time that the report is about; zero if there is no window yet.
	From, To time.Time
	// Covered is how much of it was really seen. The rest is estimated: Bottle.Wall is an
	// estimate of all of it.
	Covered time.Duration
	// Windows is the number of windows, one a burst, in the report.
	Windows int
	// Throttled is in which part of its periods the control group of the process had used up
	// its quota of processor time, which stops all threads until the next period; 0 where there
	// is no quota. It is measured all the time, not estimated from bursts.
	Throttled float64
	// Sampling is how well the shares are known.
	Sampling Sampling
	// Stream is what the reading has cost and dropped since Start.
	Stream timeline.StreamStats
	// Panics is how often an observer or a grouping has panicked, and Panic what the last one
	// said. What was found before a panic is lost; the analysis begins anew.
	Panics int
	Panic  string
}

// Sampling is how well the shares of a [Live] are known, and what is missing.
type Sampling struct {
	// Coverage is the part of the time from From to To that was seen; 0 if there is no window
	// yet.
	Coverage float64
	// IdleError is half the width of the 95 % confidence interval of Bottle.Idle; those of the
	// boxes are bottle.Box.ShareError.
	IdleError time.Duration
	// Widest is the largest of these, as a part of Bottle.Wall: 1 means that nothing is known.
	Widest float64
	// Cut is how many of the windows are shorter than planned, since the trace did not fit into
	// memory or ended early.
	Cut int
	// Missed is how many bursts since Start did not take place, since something else traced the
	// program with trace.Start, and Lost how many gave nothing, since their trace did not fit
	// into memory, was broken, or was ended at once by something else.
	Missed, Lost int
}

// few is below how many bursts, and wide above which error, an estimate is called poor.
const (
	few  = 10
	wide = 0.1
)

// estimate returns what the numbers are estimated from, in words.
func (l *Live) estimate(s *sample) string {
	if s.gaps == 0 {
		return fmt.Sprintf("Measured in a single burst of tracing of %s, at the start of the analysis.", format.Duration(s.seen))
	}
	text := fmt.Sprintf("Estimated from %s of tracing at random times, %s of %s: ",
		format.Plural(s.bursts, "burst", "bursts"), format.Percent(s.seen, time.Duration(l.Info.End-l.Info.Start)), format.Duration(time.Duration(l.Info.End-l.Info.Start)))
	if l.Sampling.Widest >= 1 {
		text += "too few to bound the error."
	} else {
		text += fmt.Sprintf("with a confidence of 95%%, shares are off by %.2g%% of the time at most.", 100*l.Sampling.Widest)
		if s.bursts < few || l.Sampling.Widest > wide {
			text += " That is a wide interval: ask for more seconds."
		}
	}
	return text
}

// missing returns what is in no number, in words; "" if nothing is missing.
func (l *Live) missing() string {
	var parts []string
	add := func(n int, why string) {
		if n > 0 {
			parts = append(parts, format.Plural(n, "burst", "bursts")+" "+why)
		}
	}
	add(l.Sampling.Cut, "ended early")
	add(l.Sampling.Missed, "since the beginning did not take place, as something else traced the program")
	add(l.Sampling.Lost, "since the beginning gave nothing: the trace was too large or broken")
	if len(parts) == 0 {
		return ""
	}
	return "Not all of the program had the same chance to be seen: " + strings.Join(parts, ", ") + "."
}

// throttled warns if the kernel took the processors away for some time, of which a trace shows
// nothing; "" if not.
func (l *Live) throttled() string {
	if l.Throttled < 0.01 {
		return ""
	}
	return fmt.Sprintf("The control group of the process was throttled in %.2g%% of its periods: until the next period, goroutines that count as running did not run.", 100*l.Throttled)
}

// AnalyzeRecorder takes a snapshot of a running program and runs all analyses on it. rec is a
// *bottle.Recorder, a *trace.FlightRecorder, or anything that writes an execution trace of Go 1.22
// or later, not packed. The snapshot is decoded once, in memory: the call chains and, if the
// speedup is wanted, 16 bytes for each event. An event takes some 0.4 µs of processor time.
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
	switch rec.(type) {
	case *bottle.Recorder, *trace.FlightRecorder: // of this process
		opt.CPUs = host.Processors()
	}
	a := newAnalyses(&opt)
	var info *timeline.Info
	if a.estimator == nil {
		last := opt.Last
		if last <= 0 {
			last = math.MaxInt64
		}
		info, err = timeline.ReadLast(ctx, buf.Reader(), opt.pass(), last, a.observers())
	} else {
		info, err = timeline.ReadSnapshot(ctx, buf.Reader(), opt.pass(), a.survey(), func(info *timeline.Info) (s timeline.Second) {
			if opt.Last > 0 {
				s.From = max(info.Start, info.End-timeline.Time(opt.Last))
			}
			s.Observers = append(a.observers(), a.estimate()...)
			return s
		})
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if report, err = a.report(info, err); report == nil {
		return nil, err
	}
	a.conclude(report)
	a.speedup(report, func() (*speedup.Stack, error) { return a.estimator.Stack(info) })
	return report, err
}
