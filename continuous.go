package bottleneck

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// ContinuousOptions configures [Continuous]. The zero value is ready to use.
type ContinuousOptions struct {
	// Options configures the analyses. Name, Want, Progress, Last, Single, Plan, Speedup,
	// Bottle.From, To and Window are ignored, and Contention is always Quick: roots and the
	// activity of owners are only in snapshots. With Bottle.Stacks, each window keeps the call
	// chains of its boxes, about 100 bytes each, which profiles of the graph then contain.
	// Observers are called on their own goroutine, and see the bursts with gaps between them.
	Options
	// Budget is the share of the machine's CPU time that may be used, as in
	// timeline.StreamOptions; 0 means 0.02. While the program keeps more than three quarters of
	// GOMAXPROCS busy, only half of the budget is used, because it then competes with the
	// program.
	Budget float64
	// Keep is the number of windows that are kept for Last; 0 means 60.
	Keep int
	// MaxGroups bounds the boxes of each graph, the rows of each contention profile, and the
	// classes of tasks. The others are combined. 0 means 256.
	MaxGroups int
	// MaxPending bounds the bytes of the trace that wait to be read; 0 means 64 MB. A burst
	// ends early if its trace reaches a quarter of that.
	MaxPending int64
}

// Continuous analyzes the running program all the time, with bounded memory and a CPU budget. The
// totals since its start and the results of the last seconds can be read at any time.
//
//	live := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
//	if err := live.Start(); err != nil {
//		log.Print(err) // the program goes on without
//	}
//	defer live.Stop()
//
// It traces the program (runtime/trace.Start) in bursts of 0.1 s at random times, about one per
// second. Each burst is a window, weighted by the time that it stands for: totals are unbiased
// estimates for the whole time, and shares have 95 % confidence intervals; see [Live], and
// sampler.go for the formulas. The time of a burst is chosen before its cost is known. If bursts
// are expensive, they become rarer and shorter.
//
// # Cost
//
// The budget covers what the analysis does beyond tracing: copying and reading the tracer's output,
// the analyses, and the estimated garbage collection for them. The analysis works for a quarter of
// a millisecond and then rests until the budget allows more. The tracer's own cost comes on top, at
// most an eighth of the time.
//
// Memory does not grow with time: it consists of the windows that are kept (a few MB, with 300
// groups 50 MB), the data that waits to be read, usually a few bursts, and about ten times the
// burst that is being read. "go run ./benchmarks/live" measures both.
//
// During a burst, /debug/pprof/trace and other callers of trace.Start get an error. Beside a
// bottle.Recorder, which ends a generation of the trace in one of ten bursts, they do so for up to a
// second after such a burst, until it is certain that trace.Stop would not end a trace of other code.
// While other code is tracing, no burst takes place, and Live.MissedBursts counts them. A call of
// trace.Stop by other code only ends the burst early.
//
// If an observer or a grouping panics, the analysis logs that (package log) and starts anew after
// one second, then two, four, and so on; after the tenth panic it ends.
//
// All methods are safe for concurrent use. Reports share memory and must not be modified.
type Continuous struct {
	opt   ContinuousOptions
	burst time.Duration // length of bursts

	starting sync.Mutex // serializes Start and Stop

	mu      sync.Mutex  // guards the fields below
	session *session    // the current one, nil if there is none
	panics  int         // since the start of the program
	panic   string      // the last one
	again   *time.Timer // restarts the analysis after a panic
	found
}

// found holds the results since Start.
type found struct {
	stream  *timeline.Stream
	windows []*window // the latest, oldest first
	total   sum       // of all windows
	missed  int       // bursts that did not take place
	lost    int       // bursts without results
}

// ErrTracing is the error of [Continuous.Start] if other code is already tracing the program.
var ErrTracing = errors.New("bottleneck: the program is being traced already")

// NewContinuous returns a Continuous that is not started.
func NewContinuous(opt ContinuousOptions) *Continuous {
	if opt.Keep <= 0 {
		opt.Keep = 60
	}
	if opt.MaxGroups <= 0 {
		opt.MaxGroups = 256
	}
	if opt.MaxPending <= 0 {
		opt.MaxPending = 64 << 20
	}
	opt.Bottle.From, opt.Bottle.To, opt.Bottle.Window = 0, 0, 0
	opt.Contention.Quick = true
	opt.Want = WantBottle | WantContention | WantTasks
	return &Continuous{opt: opt, burst: burstLength}
}

// Start starts the analysis with a burst, and discards the results of an earlier one. It does
// nothing if the analysis is already running. It fails with [ErrTracing] if other code has called
// trace.Start.
func (c *Continuous) Start() error {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.Enabled() {
		return nil
	}
	return c.start(false)
}

func (c *Continuous) start(anyway bool) error {
	c.stop()
	s := newSession(c)
	c.mu.Lock() // until it is known whether the previous results are discarded
	defer c.mu.Unlock()
	before := c.found
	c.found = found{stream: s.stream}
	if err := s.begin(anyway); err != nil {
		c.found = before
		return fmt.Errorf("%w: %w", ErrTracing, err)
	}
	c.session = s
	return nil
}

// maxPanics is the number of panics after which the analysis ends.
const maxPanics = 10

// afterPanic is the delay before the analysis restarts after the first panic.
var afterPanic = time.Second

// panicked records a panic of an observer or a grouping, and restarts the analysis.
func (c *Continuous) panicked(value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
	c.panic = format.Clean(fmt.Sprint(value))
	rest := afterPanic << min(c.panics-1, 6)
	if c.panics >= maxPanics {
		log.Printf("bottleneck: an observer or grouping of the continuous analysis panicked for the %dth time; the analysis ends: %s", c.panics, c.panic)
	} else {
		log.Printf("bottleneck: an observer or grouping of the continuous analysis panicked; the analysis begins anew after %v: %s", rest, c.panic)
	}
	if c.session != nil {
		c.session.halt()
		c.again = time.AfterFunc(rest, c.restart)
	}
}

// restart restarts the analysis after a panic, or ends it after too many.
func (c *Continuous) restart() {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.mu.Lock()
	due := c.again != nil && c.session != nil
	c.again = nil
	ends := c.panics >= maxPanics
	c.mu.Unlock()
	switch {
	case !due:
	case ends:
		c.stop()
	default:
		if err := c.start(true); err != nil {
			log.Printf("bottleneck: the continuous analysis cannot begin anew: %v", err)
		}
	}
}

// busy is the share of GOMAXPROCS above which a program counts as needing all of it.
const busy = 0.75

// budget returns the share of the machine that may be used, given the last graph, if any.
func (opt *ContinuousOptions) budget(g *bottle.Graph) float64 {
	share := opt.Budget
	if share == 0 {
		share = 0.02
	}
	if g != nil {
		var running time.Duration
		for i := range g.Boxes {
			running += g.Boxes[i].Running
		}
		if float64(running) <= busy*float64(g.Procs)*float64(g.Wall) {
			return share
		}
	}
	return share / 2
}

// Stop ends the analysis and leaves no goroutines. The results, including the last window, can
// still be read. It does nothing if there is no analysis.
func (c *Continuous) Stop() {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.stop()
}

func (c *Continuous) stop() {
	c.mu.Lock()
	s := c.session
	c.session = nil
	if c.again != nil {
		c.again.Stop()
		c.again = nil
	}
	c.mu.Unlock()
	if s != nil {
		s.end()
	}
}

// Enabled reports whether the analysis is running: Start was called, and Stop was not called since.
// It returns false while the analysis rests after a panic.
func (c *Continuous) Enabled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil && c.again == nil
}

// Read returns the results since Start, up to the last complete window.
func (c *Continuous) Read() *Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live(c.total.read(c.opt.MaxGroups))
}

// Last returns the results of the windows in the last d before the end of the latest one, if they
// are still kept. If d is 0, it returns those of the latest window.
func (c *Continuous) Last(d time.Duration) *Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.windows)
	// Compare times of the trace: the wall clock may be set.
	for first > 0 && (first == len(c.windows) || c.windows[len(c.windows)-1].info.End-c.windows[first-1].info.End < timeline.Time(d)) {
		first--
	}
	return c.live(mergeWindows(c.windows[first:], c.opt.MaxGroups))
}

// Windows returns one report for each window that is kept, oldest first.
func (c *Continuous) Windows() []*Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Live, len(c.windows))
	for i := range c.windows {
		out[i] = c.live(mergeWindows(c.windows[i:i+1], c.opt.MaxGroups))
	}
	return out
}

// add adds a complete window.
func (c *Continuous) add(w *window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.windows) >= c.opt.Keep {
		c.windows = append(c.windows[:0], c.windows[len(c.windows)-c.opt.Keep+1:]...)
	}
	c.windows = append(c.windows, w)
	c.total.add(w, c.opt.MaxGroups)
}

// errNeedsSnapshot is the reason why a Live has no speedup estimate.
var errNeedsSnapshot = errors.New("no estimate of the speedup while the analysis goes on: it needs a snapshot (AnalyzeRecorder)")

// live makes the report of a merged window; w may be nil.
func (c *Continuous) live(w *window) *Live {
	l := &Live{}
	l.SpeedupErr = errNeedsSnapshot
	if c.stream != nil {
		l.Stream = c.stream.Stats()
	}
	l.Panics, l.Panic = c.panics, c.panic
	l.MissedBursts, l.LostBursts = c.missed, c.lost
	if w == nil {
		l.Info = &timeline.Info{Size: -1}
		l.Bottle = &bottle.Graph{GroupBy: c.opt.Bottle.Group.String(), Offered: c.opt.Bottle.Offered}
		l.Contention = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
		l.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Accuracy: "upper-bound"}
		return l
	}
	info, graph, waits, tasks := w.info, *w.graph, *w.waits, *w.tasks
	graph.Boxes = slices.Clone(graph.Boxes)
	l.Info, l.Bottle, l.Contention, l.Tasks = &info, &graph, &waits, &tasks
	l.From, l.To, l.Covered, l.Windows = w.from, w.to, w.sample.seen, w.sample.bursts
	l.CutBursts = w.sample.cut
	if all := info.End - info.Start; all > 0 {
		l.Coverage = float64(l.Covered) / float64(all)
	}
	if t := w.throttling; t.Periods > 0 {
		l.Throttled = float64(t.Throttled) / float64(t.Periods)
	}
	l.IdleError, l.WidestError = w.sample.errors(&graph)
	for _, text := range []string{l.estimate(&w.sample), l.missing(), l.throttled()} {
		if text != "" {
			graph.Warnings = append(slices.Clip(graph.Warnings), text)
			waits.Warnings = append(slices.Clip(waits.Warnings), text)
			tasks.Warnings = append(slices.Clip(tasks.Warnings), text)
		}
	}
	if l.Ledger = w.ledger; l.Ledger != nil {
		l.Verdict = c.judge(l)
		graph.Verdict = l.Verdict
	}
	return l
}

// judge makes the verdict of a merged window. The verdict states that it is as uncertain as the
// numbers. Bursts do not show which goroutines never end.
func (c *Continuous) judge(l *Live) *verdict.Verdict {
	waits := *l.Contention
	waits.Unfinished = nil
	graph := *l.Bottle
	if c.opt.Bottle.Offered || c.opt.Bottle.Group.String() != bottle.ByFunction.String() {
		graph.Boxes = nil // the verdict requires groups by function
	}
	v := diagnose.New(diagnose.Results{Ledger: l.Ledger, Graph: &graph, Contention: &waits})
	for _, text := range l.Bottle.Warnings {
		if !slices.Contains(v.Warnings, text) {
			v.Warnings = append(v.Warnings, text)
		}
	}
	if l.Ledger.Of(ledger.NoWork) > l.Ledger.Capacity/10 {
		v.Warnings = append(v.Warnings, "The end of a wait that is longer than a burst of tracing is not seen: such time counts as time without work.")
	}
	return v
}

// count changes results other than windows.
func (c *Continuous) count(change func(*found)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.found)
}
