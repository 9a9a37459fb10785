package bottleneck

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/trace"
	"sync"
	"time"
	"weak"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// ContinuousOptions are the choices of [Continuous]. The zero value is right for most.
type ContinuousOptions struct {
	// Options are those of the analyses. Name, Progress, Last, Speedup, Bottle.From, To and Window are not used, and
	// Contention is always Quick: roots and owners' activity are in snapshots.
	// Observers are called on a goroutine of their own, and see gaps.
	Options
	// Budget is how much of the machine's processor time may be used, as in timeline.StreamOptions; 0 means 0.02. While the program
	// itself keeps more than three quarters of GOMAXPROCS busy, only half of it is used: it is then taken from the program.
	Budget float64
	// Horizon is for how long unused budget is kept; 0 means a minute.
	Horizon time.Duration
	// Keep is how many windows, of about a second each, are kept for Last; 0 means 60.
	Keep int
	// MaxGroups bounds the boxes of each graph, the rows of each contention profile, and the classes of tasks: what is
	// more is put together as others. 0 means 256.
	MaxGroups int
	// MaxPending bounds the bytes of the trace that wait to be read; 0 means 64 MB.
	MaxPending int64
}

// Continuous analyzes the running program all the time, with bounded memory and within a budget of processor
// time: the totals since its start can be read at any moment, and what happened in the last seconds.
//
//	live := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
//	if err := live.Start(); err != nil {
//		log.Print(err) // the program goes on without
//	}
//	defer live.Stop()
//
// It reads the trace that runtime/trace.Start makes, generation by generation, of about a second each, which are
// its windows; so what is read ends up to a second or two ago. When a generation would cost more than the budget leaves, as with
// millions of events a second, it is dropped: [Live] counts that, and no number is scaled to make up for it.
//
// # Cost
//
// The budget is for all that the analysis does beyond what a trace.FlightRecorder would: copying what the tracer writes, reading it, the
// analyses, and the garbage collector's work for them, by estimate. What the tracer takes itself, to record events, is not in it: that
// is a FlightRecorder's cost as well, and both share it when both run. Live.Stream says what was used.
//
// Measured on two processors under full load, relative to a FlightRecorder alone, with 95 % confidence intervals:
//
//	                                throughput     processor time, of the machine
//	an HTTP service                 −0.4 ± 2.4 %   +0.1 ± 1.1 %
//	the same, with both of them     −0.1 ± 2.4 %   +0.6 ± 0.7 %
//	redcon                          +1.0 ± 1.7 %   +0.6 ± 1.0 %
//	fasthttp                        +0.8 ± 1.5 %   −0.1 ± 1.1 %
//
// The memory does not grow with time: the windows that are kept, of MaxGroups rows each (a few MB); what waits to be read, MaxPending at
// most, but mostly no more than the generation under way; and, while a generation is read, some ten times its bytes. In ten minutes of 100,000
// goroutines a second that was 7 to 14 MB that lived and 41 to 63 MB from the operating system, with no trend; with millions
// of events a second up to 250 MB. "go run ./benchmarks/live" measures both.
//
// A program has one trace.Start: while Continuous has it, /debug/pprof/trace and whoever else calls trace.Start gets an
// error (take raw traces from a bottle.Recorder, which may run at the same time), and Start fails with [ErrTracing] if
// somebody else has it. Whoever calls trace.Stop ends the analysis: Enabled then tells, what was found can still be read, and Start begins
// again. Where a FlightRecorder runs as well, so that there is tracing all the same, that is known after the next garbage collection.
//
// When an observer or a grouping panics, the analysis logs that (package log/slog) and begins anew after a second, then two, four, and so on;
// after the tenth panic it ends. Live.Panics counts them.
//
// All methods may be called at the same time. Reports share memory with each other: do not change what is in them.
type Continuous struct {
	opt ContinuousOptions

	starting sync.Mutex // Start and Stop, one at a time

	mu      sync.Mutex // guards what follows
	enabled bool       // Start was called, and no Stop since
	line    weak.Pointer[line]
	panics  int         // since the program began
	panic   string      // the last one
	again   *time.Timer // starts the analysis anew after a panic
	found
}

// line is what the tracer writes to. Only the tracer has it, so it is garbage when somebody else has called trace.Stop: there is no
// other way to know, as trace.IsEnabled is true with a FlightRecorder alone.
type line struct{ *timeline.Stream }

// found is what was found since Start.
type found struct {
	stream  *timeline.Stream
	windows []*window // the latest, oldest first
	total   sum       // of all
	since   sum       // of those since ReadReset
}

// ErrTracing is the error of [Continuous.Start] when the program is being traced already by somebody else.
var ErrTracing = errors.New("bottleneck: the program is being traced already")

// NewContinuous returns a Continuous that is not started.
func NewContinuous(opt ContinuousOptions) *Continuous {
	if opt.Keep <= 0 {
		opt.Keep = 60
	}
	if opt.MaxGroups <= 0 {
		opt.MaxGroups = 256
	}
	opt.Bottle.From, opt.Bottle.To, opt.Bottle.Window = 0, 0, 0
	opt.Contention.Quick = true
	return &Continuous{opt: opt}
}

// Start begins with the analysis, and forgets what an earlier one has found. It does nothing if the analysis is
// under way. It fails with [ErrTracing] if somebody else has called trace.Start.
func (c *Continuous) Start() error {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.Enabled() {
		return nil
	}
	return c.start()
}

func (c *Continuous) start() error {
	c.stop() // what somebody else has ended: its goroutine, too
	a := newAnalyses(&c.opt.Options)
	clock := &wallClock{}
	var stream *timeline.Stream
	stream = timeline.NewStream(timeline.StreamOptions{
		Budget: c.opt.budget(nil), Horizon: c.opt.Horizon, MaxPending: c.opt.MaxPending, MaxMemory: c.opt.MaxMemory,
		AfterGeneration: func(g *timeline.Generation) {
			w := a.window(g, clock, c.opt.MaxGroups)
			stream.SetBudget(c.opt.budget(w.graph))
			c.add(w)
		},
		Panicked: c.panicked,
	}, append([]timeline.Observer{clock}, a.observers(&c.opt.Options)...)...)
	to := &line{stream}
	c.mu.Lock() // a reading meanwhile would see that nothing was found, which may not stay so
	defer c.mu.Unlock()
	before := c.found
	c.found = found{stream: stream}
	if err := trace.Start(to); err != nil {
		c.found = before
		return fmt.Errorf("%w: %w", ErrTracing, err)
	}
	c.enabled, c.line = true, weak.Make(to)
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
		slog.Error("bottleneck: an observer or grouping of the continuous analysis panicked again; the analysis ends", "panic", c.panic, "panics", c.panics)
	} else {
		slog.Error("bottleneck: an observer or grouping of the continuous analysis panicked; the analysis begins anew", "panic", c.panic, "panics", c.panics, "after", rest)
	}
	if c.enabled {
		c.again = time.AfterFunc(rest, c.restart)
	}
}

// restart begins anew after a panic, or ends the analysis after too many.
func (c *Continuous) restart() {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.mu.Lock()
	due := c.again != nil && c.traced()
	c.again = nil
	ends := c.panics >= maxPanics
	c.mu.Unlock()
	switch {
	case !due:
	case ends:
		c.stop()
	default:
		if err := c.start(); err != nil {
			slog.Error("bottleneck: the continuous analysis cannot begin anew", "error", err)
		}
	}
}

// busy is from which part of GOMAXPROCS on a program counts as one that needs all of it.
const busy = 0.75

// budget is how much of the machine may be used while the program does what the graph of a window says; nil if nothing
// is known yet.
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

// Stop ends the analysis; what was found can still be read, the last window included, as far as the budget goes. It does
// nothing if there is none. No goroutine is left.
func (c *Continuous) Stop() {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.stop()
}

func (c *Continuous) stop() {
	c.mu.Lock()
	stream, enabled, traced := c.stream, c.enabled, c.traced()
	c.enabled = false
	if c.again != nil {
		c.again.Stop()
		c.again = nil
	}
	c.mu.Unlock()
	if traced { // else trace.Stop would end what others have started, a FlightRecorder even
		trace.Stop()
	}
	if enabled {
		stream.Close() // what was wrong is in Live.Stream
	}
}

// Enabled reports whether the analysis goes on. It does not while it rests after a panic.
func (c *Continuous) Enabled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traced() && c.again == nil
}

// traced reports whether the tracer writes for us.
func (c *Continuous) traced() bool { return c.enabled && trace.IsEnabled() && c.line.Value() != nil }

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

// Last returns what was found in the windows of the last d before the end of the latest, as far as they are
// kept; in the latest window alone if d is 0.
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
	if w == nil {
		l.Info = &timeline.Info{Size: -1}
		l.Bottle = &bottle.Graph{GroupBy: c.opt.Bottle.Group.String(), Offered: c.opt.Bottle.Offered}
		l.Contention = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred}
		l.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Accuracy: "upper-bound"}
		return l
	}
	info := w.info
	l.Info, l.Bottle, l.Contention, l.Tasks = &info, w.graph, w.waits, w.tasks
	l.From, l.To, l.Covered, l.Windows = w.from, w.to, w.graph.Wall, w.info.Generations
	return l
}
