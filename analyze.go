// Package bottleneck runs all analyses of an execution trace (runtime/trace) in one pass, and finds
// what keeps a Go program from scaling.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantVerdict}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, f := range r.Verdict.Findings {
//			fmt.Println(f.Title, f.Where)
//		}
//	}
//
// [Analyze] reads a trace. In a service, [AnalyzeRecorder] makes the same report of the last
// seconds, which a bottle.Recorder keeps, and [Continuous] analyzes an unbiased sample of the whole
// time with a budget of 2 % of the processors and bounded memory. Package exporters/live serves
// both over HTTP.
//
// The analyses are in packages bottle (which goroutines run alone), ledger and diagnose (where the
// capacity went, and why), speedup (why N workers are not N times faster), contention (who waits,
// and who is to blame), granularity (tasks that are too small or too large) and counters (hardware
// counters by goroutine). Package timeline makes the pass. The packages in exporters write results
// as text, pictures, pprof profiles, pages, benchmark metrics and for Perfetto. The command is in
// cmd/bottleneck.
//
// Importing these packages starts no goroutines and registers nothing.
package bottleneck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/criticalpath"
	"github.com/bottleneck-go/bottleneck/internal/format"
	limits "github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Want is a set of results. The zero value means all of them.
type Want uint8

// The results of a [Report].
const (
	WantBottle Want = 1 << iota
	WantContention
	WantTasks
	WantSpeedup
	// WantVerdict asks for the ledger and the verdict, and also for the bottle graph, the
	// contention and the tasks, on which the verdict is based; for the contention without
	// Roots, unless WantContention is also there.
	WantVerdict
	// WantInfo asks for no result: the report has only Info. Options.Observers see the pass.
	WantInfo
	// WantPaths asks for the critical paths, of the tasks that the analysis of tasks finds. They
	// are not part of the verdict, and Continuous does not have them.
	WantPaths
)

// has reports whether a result is wanted.
func (w Want) has(result Want) bool {
	if w&WantVerdict != 0 {
		w |= WantBottle | WantContention | WantTasks
	}
	return w == 0 || w&result != 0
}

// Options configures [Analyze] and [AnalyzeRecorder]. The zero value is ready to use.
type Options struct {
	// Name is the name of the trace in errors.
	Name string
	// Want is the set of results; the zero value means all. The speedup estimate takes the most
	// memory: it needs the events twice, so they are kept, at 16 bytes each.
	Want Want
	// Progress is called with the bytes done and the size of the input, −1 if unknown.
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the heap during the pass, in bytes. If a trace needs more,
	// the error is timeline.ErrMemory. 0 means half of the memory of the machine or cgroup; a
	// negative value means no limit.
	MaxMemory int64
	// Last, if positive, limits AnalyzeRecorder to the end of the trace. 0 means the window of
	// a *bottle.Recorder, and everything for other recorders. Analyze ignores it.
	Last time.Duration
	// Single is the trace of a run of the same work with one worker. With it, the speedup is
	// measured instead of estimated. AnalyzeRecorder ignores it.
	Single io.Reader
	// Plan, if not nil, is called when the length of the trace is known, before the results are
	// made. It may change the options of the analyses and add Observers. The events are kept
	// until then. AnalyzeRecorder ignores it.
	Plan func(opt *Options, info *timeline.Info)
	// CPUs is the number of processors that the program could use at once, if known, as in
	// bottle.Graph. 0 means that of the trace. AnalyzeRecorder determines it for recorders of
	// this process.
	CPUs float64
	// Workers is the number of generations that are decoded concurrently, as in
	// timeline.Options; 0 means up to 8. Each takes memory.
	Workers int
	// Bottle, Contention, Tasks and Speedup configure the analyses; their Name, Progress and
	// MaxMemory are ignored. Bottle.From, To, First and Last are bounds for all
	// analyses, in whole generations of the trace, and so are During and Outside, exactly.
	Bottle     bottle.Options
	Contention struct {
		// Goroutines keeps separate rows for each pair of goroutine IDs of waiter and owner.
		Goroutines bool
		// Syscalls includes the system calls that lost their processor (P), by call chain. They
		// block, but not on anything that another goroutine could release.
		Syscalls bool
		// NoRoots omits contention.Wait.Roots, so that each owner counts as its own root. Quick
		// also omits what owners did. In traces with many short waits, the roots take up to four
		// fifths of the pass.
		NoRoots, Quick bool
		// Declared, if not nil, returns the declaration of the lock that a call chain waits for,
		// or "", given the beginning of the trace; see instrument.Declarations. It is called if
		// the locks of package sync log their waits, and is then the class of the lock.
		Declared func(s *contention.Stack, began time.Time) string
		// Window, if positive, requests Report.ContentionWindows, of that length.
		Window time.Duration
	}
	Tasks struct {
		// Tasks makes the tasks of runtime/trace (trace.NewTask) the tasks of the profile,
		// instead of its regions (trace.StartRegion). The class is the task's type. The
		// granularity of a task is what ran in its regions, on any goroutine.
		Tasks bool
		// AggregateNested counts nested regions as part of the enclosing region, and goroutines
		// that end before their creator as part of the creator, instead of as separate tasks.
		AggregateNested bool
	}
	Speedup speedup.Options
	// PathStacks requests the call chains of critical paths: see critical.Path.Stacks.
	PathStacks bool
	// Observers see the same pass.
	Observers []timeline.Observer
}

// pass returns the options for the pass.
func (opt *Options) pass() timeline.Options {
	pass := timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory, Workers: opt.Workers}
	opt.Bottle.Reads(&pass)
	return pass
}

var errNoSpeedup = errors.New("no estimate of the speedup: Options.Want does not ask for it")

// Report holds the results of one pass over a trace. Results that are not wanted are nil.
type Report struct {
	// Info describes the pass.
	Info *timeline.Info
	// Bottle is the bottle graph: it shows which goroutines limit scaling.
	Bottle *bottle.Graph
	// Contention lists the waits of goroutines and the owners that they waited for.
	Contention *contention.Profile
	// ContentionWindows holds the profiles of the windows of Options.Contention.Window.
	// ContentionWindow is their length, which is longer than requested if there would be too
	// many windows.
	ContentionWindows []*contention.Profile
	ContentionWindow  time.Duration
	// Tasks holds the sizes of the program's user regions or tasks.
	Tasks *granularity.Profile
	// Paths holds the critical paths of the program, and of its requests, regions and user tasks.
	Paths *critical.Profile
	// Speedup is an estimate without Options.Single. If it is nil, SpeedupErr is the reason.
	Speedup    *speedup.Stack
	SpeedupErr error
	// Ledger accounts for the capacity of the processors between Options.Bottle.From and To.
	// Verdict states what limits the program; Bottle and Ledger also contain it.
	Ledger  *ledger.Ledger
	Verdict *verdict.Verdict
}

// analyses holds the observers of a report; those of unwanted results are nil.
type analyses struct {
	opt   *Options
	graph *bottle.Observer
	waits *tracewaits.Observer
	tasks *tracetasks.Observer
	// follow makes the critical paths follow the tasks; paths returns them. Continuous has neither,
	// so that its programs do not link them.
	follow func(*tracetasks.Options) timeline.Observer
	paths  func() *critical.Profile
	// books and byFunction are the inputs of the verdict, which is about groups by function,
	// like the ledger. byFunction is graph, unless graph has other groups.
	books      *ledger.Observer
	byFunction *bottle.Observer
	windows    func() []*ledger.Ledger // nil if not wanted
	// bursts replaces both in the continuous analysis.
	bursts  burstLedger
	missing []string // limits of the accuracy of the pass
	// estimator needs two passes. noEstimate is the reason if there is no estimate.
	estimator  *speedup.Estimator
	noEstimate error
}

// newAnalyses returns analyses that estimate the speedup and follow the critical paths if wanted.
// Continuous, which does neither, makes its analyses itself, so that its programs do not link them.
func newAnalyses(opt *Options) *analyses {
	a := &analyses{opt: opt}
	if opt.Want.has(WantPaths) {
		paths := criticalpath.NewObserver(opt.PathStacks)
		a.paths = paths.Profile
		a.follow = func(of *tracetasks.Options) timeline.Observer {
			of.Begins, of.Ends = paths.TaskBegins, paths.TaskEnds
			return paths
		}
	}
	if opt.Want.has(WantSpeedup) {
		with := opt.Speedup
		with.Progress, with.MaxMemory = opt.Progress, opt.MaxMemory
		a.estimator = speedup.NewEstimator(with)
	}
	return a
}

// newGraph returns the observer of the graph.
func (opt *Options) newGraph() *bottle.Observer {
	of := opt.Bottle
	of.Name = cmp.Or(of.Name, opt.Name)
	return bottle.NewObserver(of)
}

// graph returns the graph of a pass that returned info and err; nil if there is none.
func (opt *Options) graph(o *bottle.Observer, info *timeline.Info, err error) (*bottle.Graph, error) {
	g, err := o.Result(info, err)
	if g == nil {
		return nil, err
	}
	for _, of := range append([]*bottle.Graph{g}, g.Windows...) {
		of.CPUs = cmp.Or(opt.CPUs, of.CPUs)
	}
	return g, err
}

// observers makes the observers of all results except the speedup, with the current options.
func (a *analyses) observers() (out []timeline.Observer) {
	opt := a.opt
	if opt.Want.has(WantBottle) {
		a.graph = opt.newGraph()
		out = append(out, a.graph)
	}
	if opt.Want.has(WantContention) {
		c := &opt.Contention
		of := tracewaits.Options{Goroutines: c.Goroutines, Syscalls: c.Syscalls, NoRoots: c.NoRoots, Quick: c.Quick, Declared: c.Declared, Window: c.Window}
		of.NoRoots = of.NoRoots || opt.Want != 0 && opt.Want&WantContention == 0
		if opt.Want.has(WantVerdict) {
			of.Window = cmp.Or(of.Window, opt.Bottle.Window)
		}
		a.waits = tracewaits.NewObserver(of)
		out = append(out, timeline.Beside(a.waits)) // it takes as long as the others together
	}
	if opt.Want.has(WantTasks) || a.follow != nil {
		of := tracetasks.Options{Tasks: opt.Tasks.Tasks, AggregateNested: opt.Tasks.AggregateNested}
		var paths []timeline.Observer
		if a.follow != nil {
			paths = append(paths, a.follow(&of))
		}
		a.tasks = tracetasks.NewObserver(of)
		out = append(append(out, a.tasks), paths...) // in this order: a path ends when its goroutine exits
	}
	if opt.Want.has(WantVerdict) {
		out = append(out, a.judges()...)
	}
	return append(out, opt.Observers...)
}

// judges makes the observers of the verdict.
func (a *analyses) judges() (out []timeline.Observer) {
	opt := a.opt
	from, to := opt.Bottle.Bounds()
	a.books = ledger.NewObserver(ledger.Options{From: from, To: to, Stacks: opt.Bottle.Stacks})
	out = append(out, a.books)
	a.byFunction = a.graph
	if opt.Bottle.Offered || opt.Bottle.Group.String() != bottle.ByFunction.String() {
		a.byFunction = bottle.NewObserver(bottle.Options{From: from, To: to, Window: opt.Bottle.Window})
		out = append(out, a.byFunction)
	}
	if opt.Bottle.Window > 0 {
		var o timeline.Observer
		o, a.windows = ledger.NewWindows(ledger.Options{From: from, To: to}, opt.Bottle.Window)
		out = append(out, o)
	}
	return out
}

// survey returns the observer of the estimator's first pass, if any.
func (a *analyses) survey() (out []timeline.Observer) {
	if a.estimator != nil {
		out = append(out, a.estimator.First())
	}
	return out
}

// estimate returns the observer of the estimator's second pass, if any.
func (a *analyses) estimate() (out []timeline.Observer) {
	if a.estimator == nil {
		return nil
	}
	a.estimator.Window(a.opt.Speedup.Window)
	second, err := a.estimator.Second()
	if a.noEstimate = err; err != nil {
		return nil
	}
	return []timeline.Observer{second}
}

// report returns the results without the verdict and the speedup, or nil if there are none.
func (a *analyses) report(info *timeline.Info, err error) (*Report, error) {
	r := &Report{Info: info}
	missing := info.Warnings(err)
	// The ledger has a row for the time in C.
	a.missing = slices.DeleteFunc(slices.Clone(missing), func(w string) bool { return w == info.NoteC() })
	if info.Generations == 0 {
		return nil, err
	}
	if a.graph != nil {
		if r.Bottle, err = a.opt.graph(a.graph, info, err); r.Bottle == nil {
			return nil, err
		}
	}
	if a.waits != nil {
		r.Contention = a.waits.Profile()
		if a.opt.Bottle.During == "" {
			r.Contention.Events, r.Contention.Bytes = info.Events, info.Bytes
		}
		r.Contention.Warnings = append(r.Contention.Warnings, missing...)
		r.ContentionWindows, r.ContentionWindow = a.waits.Windows(), a.waits.WindowLength()
	}
	if a.tasks != nil && a.opt.Want.has(WantTasks) {
		r.Tasks = a.tasks.Profile()
		r.Tasks.Warnings = append(r.Tasks.Warnings, missing...)
	}
	if a.paths != nil {
		r.Paths = a.paths()
		r.Paths.Warnings = append(r.Paths.Warnings, missing...)
	}
	return r, err
}

// conclude adds the ledger and the verdict.
func (a *analyses) conclude(r *Report) {
	r.Ledger = a.books.Ledger()
	r.Ledger.Warnings = append(r.Ledger.Warnings, a.missing...)
	graph := r.Bottle
	if a.byFunction != a.graph {
		graph = a.byFunction.Graph()
		graph.CPUs = r.Bottle.CPUs
	}
	r.Verdict = diagnose.New(diagnose.Results{Ledger: r.Ledger, Graph: graph, Contention: r.Contention, Tasks: r.Tasks})
	r.Bottle.Verdict, r.Ledger.Verdict = r.Verdict, r.Verdict
	a.concludeWindows(r, graph.Windows)
}

// concludeWindows adds the verdicts of windows. A verdict uses the waits of its window if
// contention has the same windows.
func (a *analyses) concludeWindows(r *Report, graphs []*bottle.Graph) {
	if a.windows == nil {
		return
	}
	books := a.windows()
	from, _ := a.opt.Bottle.Bounds()
	same := from <= 0 && r.ContentionWindow == a.opt.Bottle.Window
	for i, w := range r.Bottle.Windows {
		at := slices.IndexFunc(books, func(l *ledger.Ledger) bool { return l.Start == w.Start })
		if at < 0 || i >= len(graphs) {
			continue
		}
		graphs[i].CPUs = w.CPUs
		of := diagnose.Results{Ledger: books[at], Graph: graphs[i], Contention: r.Contention, Window: true}
		if same && at < len(r.ContentionWindows) {
			of.Contention = r.ContentionWindows[at]
		}
		w.Verdict = diagnose.New(of)
	}
	if n := len(r.Bottle.Windows); n > len(books) {
		r.Bottle.Warnings = append(r.Bottle.Warnings, fmt.Sprintf("There are verdicts on the first %s of %s windows.", format.Count(len(books)), format.Count(n)))
	}
}

// speedup adds the speedup stack returned by stack, or the reason why there is none.
func (a *analyses) speedup(r *Report, stack func() (*speedup.Stack, error)) {
	switch {
	case a.estimator == nil:
		r.SpeedupErr = errNoSpeedup
	case a.noEstimate != nil:
		r.SpeedupErr = a.noEstimate
	default:
		r.Speedup, r.SpeedupErr = stack()
	}
	if r.Speedup == nil && r.SpeedupErr == nil {
		r.SpeedupErr = errors.New("no estimate of the speedup: the trace could not be read to its end")
	}
}

// mostKept bounds the memory for events kept for a second pass by Analyze: about 16 million events.
var mostKept int64 = 256 << 20

// maxKept returns mostKept, or a quarter of the memory limit of the pass if that is less.
func (opt *Options) maxKept(ctx context.Context) int64 {
	if limit := limits.Limit(ctx, opt.MaxMemory); limit > 0 {
		return min(mostKept, limit/4)
	}
	return mostKept
}

// Analyze reads an execution trace once and makes the requested results. Most of the cost is that
// of reading the trace. The speedup estimate and Options.Plan need the events a second time, so up
// to 256 MB of events are kept. A larger trace is decoded twice if r is an io.Seeker. Otherwise
// there is no estimate, and a Plan is an error.
//
// If a trace is truncated or damaged, Analyze returns the report of what could be read, if any, and
// an error (a *[timeline.Error]) that describes what is missing.
func Analyze(ctx context.Context, r io.Reader, opt Options) (*Report, error) {
	a := newAnalyses(&opt)
	info, err := a.read(ctx, r)
	report, err := a.report(info, err)
	if report == nil {
		return nil, err
	}
	if a.books != nil {
		a.conclude(report)
	}
	a.speedup(report, func() (*speedup.Stack, error) {
		if opt.Single != nil {
			return a.estimator.Compare(ctx, opt.Single, info)
		}
		return a.estimator.Stack(info)
	})
	return report, err
}

// read runs the passes.
func (a *analyses) read(ctx context.Context, r io.Reader) (*timeline.Info, error) {
	opt := a.opt
	if a.estimator == nil && opt.Plan == nil {
		return timeline.Read(ctx, r, opt.pass(), a.observers()...)
	}
	first := a.survey()
	if opt.Plan == nil {
		first = append(first, a.observers()...)
	}
	again := false
	second := func(info *timeline.Info) []timeline.Observer {
		again = true
		if opt.Plan == nil {
			return a.estimate()
		}
		opt.Plan(opt, info)
		return append(a.observers(), a.estimate()...)
	}
	rewind := rewinder(r)
	info, err := timeline.ReadTwice(ctx, r, opt.pass(), opt.maxKept(ctx), first, second)
	switch {
	case again || info.Generations == 0 || ctx.Err() != nil:
	case rewind():
		info, err = timeline.Read(ctx, r, opt.pass(), second(info)...)
	case opt.Plan != nil:
		info = &timeline.Info{} // nothing was seen
		err = cmp.Or(err, timeline.ErrTooLarge)
	case errors.Is(err, timeline.ErrTooLarge):
		a.noEstimate, err = fmt.Errorf("no estimate of the speedup: %w", err), nil
	}
	return info, err
}

// rewinder returns a function that rewinds r to its current position, if it can.
func rewinder(r io.Reader) func() bool {
	s, can := r.(io.Seeker)
	if !can {
		return func() bool { return false }
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return func() bool {
		if err == nil {
			_, err = s.Seek(at, io.SeekStart)
		}
		return err == nil
	}
}
