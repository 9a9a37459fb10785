package bottleneck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options are the choices of [Analyze] and [AnalyzeRecorder]. The zero value is right for most.
type Options struct {
	// Name is what errors call the trace.
	Name string
	// Progress is told how many bytes of how many (−1 = not known) are done.
	Progress func(done, size int64)
	// MaxMemory bounds what the heap grows by during the pass, in bytes: a trace that needs
	// more gives an error that is timeline.ErrMemory. 0 means half of the memory of the
	// machine, or of the cgroup; less than 0 means that there is no limit.
	MaxMemory int64
	// Last, if positive, is how much of the end of the trace AnalyzeRecorder analyzes; 0 is the
	// window of a
	// *bottle.Recorder, and all of anything else. Analyze does not use it.
	Last time.Duration
	// NoSpeedup leaves out the estimate of the speedup, for which AnalyzeRecorder keeps all
	// events: 16 bytes each.
	NoSpeedup bool
	// Workers is how many generations are decoded side by side, as in timeline.Options; 0 means
	// up to 8. Each takes memory.
	Workers int
	// Bottle, Contention, Tasks and Speedup are the choices of the analyses; their Name,
	// Progress and MaxMemory are not used. Generations outside of Bottle.From and To, and of
	// Bottle.Part, are not decoded, so no analysis sees them.
	Bottle     bottle.Options
	Contention contention.TraceOptions
	Tasks      granularity.TraceOptions
	Speedup    speedup.Options
	// Observers see the same pass.
	Observers []timeline.Observer
}

// pass returns the options of the pass.
func (opt *Options) pass() timeline.Options {
	return timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Workers: opt.Workers, Part: opt.Bottle.Reads()}
}

var errNoSpeedup = errors.New("no estimate of the speedup: Options.NoSpeedup is set")

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
	// Speedup is an estimate of the speedup stack; nil if there is none, and SpeedupErr then
	// says why.
	Speedup    *speedup.Stack
	SpeedupErr error
	// Ledger says where the capacity of the processors went, between Options.Bottle.From and
	// To, and Verdict, which Bottle has as well, what limits the program. Only Analyze and
	// AnalyzeRecorder make them.
	Ledger  *ledger.Ledger
	Verdict *diagnose.Verdict
}

// analyses are the observers of a report.
type analyses struct {
	graph *bottle.Observer
	waits *contention.TraceObserver
	tasks *granularity.TraceObserver
	// books and byFunction are for the verdict; nil if there is none. The verdict is about
	// groups by function, in which the ledger books: byFunction is graph, or another one if
	// that has other boxes.
	books      *ledger.Observer
	byFunction *bottle.Observer
}

func newAnalyses(opt *Options) *analyses {
	return &analyses{
		graph: bottle.NewObserver(opt.Bottle),
		waits: contention.NewTraceObserver(opt.Contention),
		tasks: granularity.NewTraceObserver(opt.Tasks),
	}
}

// judge adds the observers of the verdict.
func (a *analyses) judge(opt *Options) {
	a.books = ledger.NewObserver(ledger.Options{From: opt.Bottle.From, To: opt.Bottle.To, Stacks: opt.Bottle.Stacks})
	a.byFunction = a.graph
	if opt.Bottle.Offered || opt.Bottle.Group.String() != bottle.ByFunction.String() {
		a.byFunction = bottle.NewObserver(bottle.Options{From: opt.Bottle.From, To: opt.Bottle.To, Part: opt.Bottle.Part})
	}
}

// observers returns all that see the pass.
func (a *analyses) observers(opt *Options) []timeline.Observer {
	out := []timeline.Observer{a.graph, a.waits, a.tasks}
	if a.books != nil {
		out = append(out, a.books)
	}
	if a.byFunction != nil && a.byFunction != a.graph {
		out = append(out, a.byFunction)
	}
	return append(out, opt.Observers...)
}

// report returns what the pass found, nil if there is nothing.
func (a *analyses) report(info *timeline.Info, err error) (*Report, error) {
	graph, err := a.graph.Result(info, err)
	if graph == nil {
		return nil, err
	}
	return &Report{Info: info, Bottle: graph, Contention: a.waits.Profile(), Tasks: a.tasks.Profile()}, err
}

// conclude adds the ledger, and what follows from all.
func (a *analyses) conclude(r *Report) {
	r.Ledger = a.books.Ledger()
	graph := r.Bottle
	if a.byFunction != a.graph {
		graph = a.byFunction.Graph()
		graph.CPUs = r.Bottle.CPUs
	}
	r.Verdict = diagnose.New(diagnose.Results{Ledger: r.Ledger, Graph: graph, Contention: r.Contention})
	r.Bottle.Verdict = r.Verdict
}

// maxKept bounds what Analyze keeps of a trace for the estimate of the speedup: some 16 million
// events.
const maxKept = 256 << 20

// Analyze reads an execution trace once and runs all analyses on it. The cost is that of
// reading the trace, which takes most of the time of any of them, once. The estimate of the speedup
// needs the events a second time, when the workers are known, so they are kept meanwhile, up to 256
// MB; there is none of a larger trace: see speedup.Estimate, which reads twice.
//
// A trace that is cut off or broken gives the report of what could be read and an error
// (a *[timeline.Error]) that says what is missing; the report is nil only if nothing could be read.
func Analyze(ctx context.Context, r io.Reader, opt Options) (*Report, error) {
	a := newAnalyses(&opt)
	a.judge(&opt)
	if opt.NoSpeedup {
		report, err := a.report(timeline.Read(ctx, r, opt.pass(), a.observers(&opt)...))
		if report != nil {
			a.conclude(report)
			report.SpeedupErr = errNoSpeedup
		}
		return report, err
	}
	est := speedup.NewEstimator(opt.Speedup)
	var estErr error
	info, err := timeline.ReadTwice(ctx, r, opt.pass(), maxKept,
		append(a.observers(&opt), est.First()),
		func(*timeline.Info) timeline.Second {
			var second timeline.Observer
			if second, estErr = est.Second(); estErr != nil {
				return timeline.Second{}
			}
			return timeline.Second{Observers: []timeline.Observer{second}}
		})
	if errors.Is(err, timeline.ErrTooLarge) {
		estErr, err = fmt.Errorf("no estimate of the speedup: %w", err), nil
	}
	report, err := a.report(info, err)
	if report == nil {
		return nil, err
	}
	a.conclude(report)
	if report.Speedup, report.SpeedupErr = est.Stack(info); estErr != nil {
		report.SpeedupErr = estErr
	}
	if report.Speedup == nil && report.SpeedupErr == nil {
		report.SpeedupErr = errors.New("no estimate of the speedup: the trace could not be read to its end")
	}
	return report, err
}
