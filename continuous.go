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
)

// ContinuousOptions configures [Continuous]. The zero value is ready to use.
type ContinuousOptions struct {
	// Options are those of the analyses. Name, Want, Progress, Last, Single, Plan, Speedup,
	// Bottle.From, To and Window are not used, and Contention is always Quick: roots and
	// owners' activity are in snapshots. With Bottle.Stacks, each window keeps the call chains
	// of its boxes, some 100 bytes each, and so do profiles of the graph. Observers are called
	// on a goroutine of their own, and see the bursts with gaps between them.
	Options
	// Budget is how much of the machine's processor time may be used, as in
	// timeline.StreamOptions; 0 means 0.02. While the program itself keeps more than three
	// quarters of GOMAXPROCS busy, only half of it is used: it is then taken from the program.
	Budget float64
	// Keep is how many windows, one for each burst of tracing, are kept for Last; 0 means 60.
	Keep int
	// MaxGroups bounds the boxes of each graph, the rows of each contention profile, and the
	// classes of tasks: what is more is put together as others. 0 means 256.
	MaxGroups int
	// MaxPending bounds the bytes of the trace that wait to be read; 0 means 64 MB. A burst
	// ends early when its trace comes to a quarter of that.
	MaxPending int64
}

// Continuous analyzes the running program all the time, with bounded memory and within a budget of
// processor time: the totals since its start can be read at any moment, and what happened in the
// last seconds.
//
//	live := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
//	if err := live.Start(); err != nil {
//		log.Print(err) // the program goes on without
//	}
//	defer live.Stop()
//
// It traces the program (runtime/trace.Start) in bursts of 0.1 s at random times, one a second or
// so, which are its windows. Each burst is weighed by the time that it stands for: totals are
// unbiased estimates for all of the time, and shares come with 95 % confidence intervals: see
// [Live], and for the formulas sampler.go. When a burst takes place is decided before it is known
// what it will cost, and what was traced is always analyzed; where that costs much, as with
// millions of events a second, bursts become rarer, and half or a quarter as long.
//
// # Cost
//
// The budget is for all that the analysis does beyond tracing: copying what the tracer writes,
// reading it, the analyses, and the garbage collector's work for them, by estimate. It is booked
// while it is spent: the analysis works for a quarter of a millisecond and then rests until the
// budget allows the next one, so it takes one processor for a moment only. What the tracer takes
// itself, to record events, is not in it; it does so for an eighth of the time at most. Live.Stream
// has what was used.
//
// The memory does not grow with time: the windows that are kept, of MaxGroups rows each (a few MB);
// what waits to be read, MaxPending at most, but mostly no more than a few bursts; and, while a
// burst is read, some ten times its bytes. "go run ./benchmarks/live" measures both.
//
// A program has one trace.Start: during a burst, /debug/pprof/trace and whatever else calls
// trace.Start gets an error (take raw traces from a bottle.Recorder, which may run at the same
// time). While something else has it, no burst takes place, and Live.Sampling counts those that are
// missing; Start fails with [ErrTracing] then. Continuous does not stop traces that it has not
// started: a call of trace.Stop by something else ends the burst early, and no more than that.
//
// When an observer or a grouping panics, the analysis logs that (package log) and begins anew after
// a second, then two, four, and so on; after the tenth panic it ends. Live.Panics counts them.
//
// All methods may be called at the same time. Reports share memory with each other: do not change
// what is in them.
type Continuous struct {
	opt   ContinuousOptions
	burst time.Duration // how long bursts are

	starting sync.Mutex // Start and Stop, one at a time

	mu      sync.Mutex  // guards what follows
	session *session    // the one under way, nil if there is none
	panics  int         // since the program began
	panic   string      // the last one
	again   *time.Timer // starts the analysis anew after a panic
	found
}

// found is what was found since Start.
type found struct {
	stream  *timeline.Stream
	windows []*window // the latest, oldest first
	total   sum       // of all
	since   sum       // of those since ReadReset
	missed  int       // bursts that did not take place
	lost    int       // bursts that gave nothing
}

// ErrTracing is the error of [Continuous.Start] when the program is being traced already by
// something else.
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

// Start begins with the analysis, and with a burst, and forgets what an earlier one has found. It
// does nothing if the analysis is under way. It fails with [ErrTracing] if something else has
// called trace.Start.
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
	c.mu.Lock() // until it is known whether what was found is forgotten
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

// maxPanics is after how many panics the analysis ends.
const maxPanics = 10

// afterPanic is how long the analysis rests after a panic, the first time.
var afterPanic = time.Second

// panicked notes that an observer or a grouping has panicked, and has the analysis begin anew.
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

// restart begins anew after a panic, or ends the analysis after too many.
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

// busy is from which part of GOMAXPROCS on a program counts as one that needs all of it.
const busy = 0.75

// budget is how much of the machine may be used while the program does what the graph of a window
// says; nil if nothing is known yet.
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

// Stop ends the analysis; what was found can still be read, the last window included. It does
// nothing if there is none. No goroutine is left.
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

// Enabled reports whether the analysis goes on: Start was called, and no Stop since. It does not
// while it rests after a panic.
func (c *Continuous) Enabled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil && c.again == nil
}

// Read returns what was found since Start, up to the last whole window.
func (c *Continuous) Read() *Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live(c.total.read(c.opt.MaxGroups))
}

// ReadReset returns what was found since the last ReadReset, or since Start, so that the reports
// of all calls sum to that of Read.
func (c *Continuous) ReadReset() *Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.since.read(c.opt.MaxGroups)
	c.since = sum{}
	return c.live(w)
}

// Last returns what was found in the windows of the last d before the end of the latest, as far as
// they are kept; in the latest window alone if d is 0.
func (c *Continuous) Last(d time.Duration) *Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.windows)
	for first > 0 && (first == len(c.windows) || c.windows[len(c.windows)-1].info.End-c.windows[first-1].info.End < timeline.Time(d)) { // the wall clock may be set
		first--
	}
	return c.live(mergeWindows(c.windows[first:], c.opt.MaxGroups))
}

// Windows returns the windows that are kept, oldest first: one report each.
func (c *Continuous) Windows() []*Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Live, len(c.windows))
	for i := range c.windows {
		out[i] = c.live(mergeWindows(c.windows[i:i+1], c.opt.MaxGroups))
	}
	return out
}

// add takes a window that is complete.
func (c *Continuous) add(w *window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.windows) >= c.opt.Keep {
		c.windows = append(c.windows[:0], c.windows[len(c.windows)-c.opt.Keep+1:]...)
	}
	c.windows = append(c.windows, w)
	c.total.add(w, c.opt.MaxGroups)
	c.since.add(w, c.opt.MaxGroups)
}

// errNeedsSnapshot is why a Live has no estimate of the speedup.
var errNeedsSnapshot = errors.New("no estimate of the speedup while the analysis goes on: it needs a snapshot (AnalyzeRecorder)")

// live makes the report of windows that were put together; nil is none.
func (c *Continuous) live(w *window) *Live {
	l := &Live{}
	l.SpeedupErr = errNeedsSnapshot
	if c.stream != nil {
		l.Stream = c.stream.Stats()
	}
	l.Panics, l.Panic = c.panics, c.panic
	l.Sampling.Missed, l.Sampling.Lost = c.missed, c.lost
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
	l.Sampling.Cut = w.sample.cut
	if all := info.End - info.Start; all > 0 {
		l.Sampling.Coverage = float64(l.Covered) / float64(all)
	}
	if t := w.throttling; t.Periods > 0 {
		l.Throttled = float64(t.Throttled) / float64(t.Periods)
	}
	l.Sampling.IdleError, l.Sampling.Widest = w.sample.errors(&graph)
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

// judge makes the verdict of windows that were put together. It is as uncertain as the numbers, and
// says so. Which goroutines never end is not to be seen in bursts.
func (c *Continuous) judge(l *Live) *diagnose.Verdict {
	waits := *l.Contention
	waits.Unfinished = nil
	graph := *l.Bottle
	if c.opt.Bottle.Offered || c.opt.Bottle.Group.String() != bottle.ByFunction.String() {
		graph.Boxes = nil // the verdict is about groups by function
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

// count changes what was found besides windows.
func (c *Continuous) count(change func(*found)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.found)
}
