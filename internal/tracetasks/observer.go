// Package tracetasks finds the tasks of a program in an execution trace: its regions, its user
// tasks, or its goroutines and the requests that they serve.
//
// The result is a [granularity.Profile].
// benchmarks/pass measures what it adds to reading the trace.
package tracetasks

import (
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Granularity from a trace. The trace shows when each goroutine ran. A region is a task that
// executes on one goroutine, and regions nest. So for each goroutine
//
//	running time at t = Σ intervals on a processor, up to t
//	total of a region = running time at its end − at its start
//	self              = total − Σ total of the regions directly nested in it
//
// The self times of a region and of everything nested in it sum to the outermost total, as in the
// shadow stack of measured tasks. In a trace without regions, the whole life of a goroutine is a
// region, and a request that it serves is nested in it: see goroutines.go.

// Options configures an [Observer]. The zero value is ready to use. Package bottleneck describes
// the first fields, Options.Tasks.
type Options struct {
	Tasks, AggregateNested bool
	// Window, if positive, makes the observer compute a profile of each stretch of that length instead
	// of one of the whole pass: see [Observer.Windows]. A task belongs to the window in which it ended.
	Window time.Duration
	// Begins and Ends, if not nil, are called when a request, a region or a user task begins and
	// ends, for an analysis of the time in between. The class of a user task ends in " (task)".
	// The goroutine is that on which it ends; it is nil if the end is not in the trace.
	Begins func(now timeline.Time)
	Ends   func(g *timeline.Goroutine, class string, stack *timeline.Stack, begin, now timeline.Time)
}

// begins calls Options.Begins and reports whether Ends must be called.
func (o *Observer) begins(now timeline.Time) bool {
	if o.opt.Begins != nil {
		o.opt.Begins(now)
	}
	return o.opt.Begins != nil
}

// ends calls Options.Ends for a region or a request. g is nil if its end is not in the trace.
func (o *Observer) ends(r *openRegion, g *timeline.Goroutine, stack *timeline.Stack, now timeline.Time) {
	if r.followed {
		o.opt.Ends(g, r.site.class.Name, stack, r.start, now)
	}
	r.followed = false
}

// taskEnds calls Options.Ends for a user task.
func (o *Observer) taskEnds(t *openTask, g *timeline.Goroutine, stack *timeline.Stack, now timeline.Time) {
	if t.followed {
		o.opt.Ends(g, t.kind+" (task)", stack, t.start, now)
	}
}

// Observer computes a profile of the tasks in a pass over a trace, which it can share with other
// analyses.
//
// Each user region is a task whose class is the region's type. In a trace without regions, each
// goroutine is a task, and so is each request on a net/http connection whose handler appears in the
// call chains: see goroutines.go. [granularity.Profile].Of shows which of these the tasks are.
//
// The granularity of a region is the time for which its goroutine ran (or was in a system call that
// kept its processor), without nested regions: an upper bound of CPU time, because a trace does not
// show when the system took the thread off its core. Regions of package granularity's pools, groups
// and Do are included, with pools' names.
//
// Created is the call chain of StartRegion or, for this module's pools, that of the go statement.
// Submitted is where the region's user task began or, without one, where its goroutine was started.
// It is nil for nested regions.
//
// Samples count goroutine switches instead of context switches. Regions that began before the
// trace, or end after it, are unmeasured.
type Observer struct {
	timeline.Base
	opt Options

	goroutines byindex.Table[goroutineTasks] // by Goroutine.Index
	open       map[uint64]*openTask
	classes    map[string]*traceClass
	sites      map[traceSiteKey]*traceSite
	overflow   uint64
	regions    bool                       // the trace has some
	lives      map[lifeKey]*traceSite     // sites of goroutines and requests
	statements map[string]*timeline.Frame // by goroutine name: the go statement whose class has that name
	living     map[int64]int              // by ID: indexes of goroutines that are tasks; only if aggregated

	first      timeline.Time // of the trace
	begin, end timeline.Time
	procs      int
	machine    traceMachine
	wall       time.Time     // the wall-clock time of first; zero if unknown
	missed     timeline.Time // in gaps since begin
	windows    windows
}

// goroutineTasks is the state of a live goroutine.
type goroutineTasks struct {
	id      int64
	running timeline.Time // up to the current state
	ready   timeline.Time // likewise, time spent ready
	older   bool          // than the trace
	born    bool          // in the trace: the outermost open region is its life
	serving bool          // the innermost open region is a request
	stack   []openRegion
}

// openRegion is a region under way.
type openRegion struct {
	site      *traceSite    // nil: not a task of the profile
	start     timeline.Time // never if that was before the trace
	running   timeline.Time // of the goroutine, at the start
	ready     timeline.Time // likewise
	nested    timeline.Time // totals of regions directly nested in it
	nestOff   timeline.Time // the time off the processor in them
	nestReady timeline.Time
	task      uint64
	inner     bool // executes inside another task
	handled   bool // a request whose class is the handler
	followed  bool // Options.Begins was called
}

// never is the start of what began before the trace.
const never timeline.Time = -1

// openTask is a user task under way.
type openTask struct {
	kind    string
	start   timeline.Time
	created *timeline.Stack
	running timeline.Time // self of its regions that have ended
	ready   timeline.Time
	regions int
	// followed is set if Options.Begins was called.
	followed bool
	// site is set if user tasks are the tasks of the profile.
	site *traceSite
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	o := &Observer{opt: opt, open: map[uint64]*openTask{}, statements: map[string]*timeline.Frame{}}
	o.forget()
	if opt.AggregateNested {
		o.living = map[int64]int{}
	}
	return o
}

// forget drops all tasks that have ended.
func (o *Observer) forget() {
	o.classes, o.sites, o.lives, o.overflow = map[string]*traceClass{}, map[traceSiteKey]*traceSite{}, map[lifeKey]*traceSite{}, 0
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, _ int) {
	o.first, o.begin, o.end = t, t, t
	o.machine.begin(t)
	o.windows.width = max(0, timeline.Time(o.opt.Window))
	o.windows.next = t + o.windows.width
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	o.until(t.End)
	o.machine.transition(t)
	whole := o.wholeLives()
	if !o.regions && !whole {
		return // only the time between the beginning and the end of a region matters
	}
	g := o.goroutines.At(t.G.Index)
	switch {
	case t.State.Runs(), whole && t.State == timeline.InCUncounted:
		g.running += t.End - t.Start
	case t.State == timeline.Runnable:
		g.ready += t.End - t.Start
	case whole && !t.State.Alive():
		o.appears(g, t)
	}
	if t.To.Alive() {
		return
	}
	if whole {
		o.disappears(g, t)
	}
	for i := range g.stack {
		o.lost(g.stack[i].site, t.End)
		o.ends(&g.stack[i], nil, nil, t.End)
	}
	*g = goroutineTasks{stack: g.stack[:0]}
}

// runningAt returns the time for which the goroutine has run up to now.
func (g *goroutineTasks) runningAt(of *timeline.Goroutine, now timeline.Time) timeline.Time {
	if of.State().Runs() {
		return g.running + now - of.Since()
	}
	return g.running
}

// readyAt returns the time for which the goroutine has been ready up to now.
func (g *goroutineTasks) readyAt(of *timeline.Goroutine, now timeline.Time) timeline.Time {
	if of.State() == timeline.Runnable {
		return g.ready + now - of.Since()
	}
	return g.ready
}

func (g *goroutineTasks) push(of *timeline.Goroutine, now timeline.Time, r openRegion) {
	r.start, r.running, r.ready = now, g.runningAt(of, now), g.readyAt(of, now)
	g.stack = append(g.stack, r)
}

// pop takes the innermost region off the stack.
func (g *goroutineTasks) pop() openRegion {
	r := g.stack[len(g.stack)-1]
	g.stack = g.stack[:len(g.stack)-1]
	return r
}

// Region implements [timeline.Observer].
func (o *Observer) Region(e *timeline.Span) {
	o.until(e.Time)
	if !slices.Contains(starter.Pools, e.Task) {
		o.tasksAreRegions(e.Time)
	} else if o.wholeLives() && e.G.Serves() {
		return
	}
	g := o.goroutines.At(e.G.Index)
	switch {
	case e.Begin:
		r := openRegion{task: e.TaskID, inner: len(g.stack) > 0}
		if !o.opt.Tasks {
			r.site = o.regionSite(e, r.inner)
			r.site.class.enter(e.Time)
			r.followed = o.begins(e.Time)
		}
		g.push(e.G, e.Time, r)
	case len(g.stack) > 0 && e.Start != 0:
		r := g.pop()
		o.ends(&r, e.G, e.Stack, e.Time)
		o.ended(g, &r, e.G, e.Time)
	case !o.opt.Tasks: // it began before the trace
		o.lost(o.site(traceSiteKey{class: e.Name}), -1)
	}
}

// ended records a region that ends and subtracts it from the enclosing one.
func (o *Observer) ended(g *goroutineTasks, r *openRegion, of *timeline.Goroutine, now timeline.Time) {
	total := g.runningAt(of, now) - r.running
	wall := now - r.start
	totalOff, ready := max(wall-total, 0), g.readyAt(of, now)-r.ready
	x := traceTask{self: max(total-r.nested, 0), wall: wall, off: max(totalOff-r.nestOff, 0), ready: max(ready-r.nestReady, 0), start: r.start, end: now}
	if t := o.open[r.task]; t != nil && o.opt.Tasks {
		t.running += x.self
		t.ready += x.ready
		t.regions++
	}
	aggregated := r.inner && o.opt.AggregateNested
	if o.opt.Tasks { // a region without a task counts for the enclosing task of its goroutine
		aggregated = r.inner && r.task == 0
	}
	if len(g.stack) > 0 {
		outer := &g.stack[len(g.stack)-1]
		if aggregated {
			outer.nested += r.nested
			outer.nestOff += r.nestOff
			outer.nestReady += r.nestReady
		} else {
			outer.nested += total
			outer.nestOff += totalOff
			outer.nestReady += ready
		}
	} else if aggregated && len(o.living) > 0 {
		aggregated = o.aggregate(of, total)
	}
	if r.site == nil {
		return
	}
	c := r.site.class
	c.leave(now, o.begin)
	if aggregated {
		c.Aggregated++
		return
	}
	if r.inner {
		c.Nested++
	}
	r.site.record(&x, o.begin)
}

// lost counts a region or task that is only partly known. at is when the trace ends for it, or −1
// if its beginning was not seen. A region that is not a task of the profile has no site.
func (o *Observer) lost(s *traceSite, at timeline.Time) {
	if s == nil {
		return
	}
	s.class.Unmeasured++
	if at >= 0 {
		s.class.leave(at, o.begin)
	}
}

// Task implements [timeline.Observer].
func (o *Observer) Task(e *timeline.Span) {
	o.until(e.Time)
	if e.Begin {
		t := &openTask{kind: e.Name, start: e.Time, created: e.Stack, followed: o.begins(e.Time)}
		if o.opt.Tasks {
			key := traceSiteKey{class: e.Name, created: e.Stack}
			if e.G != nil {
				key.submitted = e.G.Creator().Stack
			}
			t.site = o.site(key)
			t.site.class.enter(e.Time)
		}
		o.open[e.TaskID] = t
		return
	}
	t := o.open[e.TaskID]
	delete(o.open, e.TaskID)
	if t != nil {
		o.taskEnds(t, e.G, e.Stack, e.Time)
	}
	switch {
	case !o.opt.Tasks:
	case t == nil:
		o.lost(o.site(traceSiteKey{class: e.Name}), -1)
	case t.regions == 0: // nothing shows what ran for it
		o.lost(t.site, e.Time)
	default:
		t.site.class.leave(e.Time, o.begin)
		wall := e.Time - t.start
		t.site.record(&traceTask{self: t.running, wall: wall, off: max(wall-t.running, 0), ready: t.ready, start: t.start, end: e.Time}, o.begin)
	}
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Span) { o.machine.stopped(e) }

// Metric implements [timeline.Observer].
func (o *Observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	if name == "/sched/gomaxprocs:threads" && value > 0 && value < 1<<20 {
		o.procs = max(o.procs, int(value))
	}
}

// Clock implements [timeline.Observer].
func (o *Observer) Clock(t timeline.Time, _ uint64, wall time.Time) {
	if o.wall.IsZero() && !wall.IsZero() {
		o.wall = wall.Add(time.Duration(o.first - t))
	}
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) {
	o.until(t)
	o.end = t
	for id, task := range o.open {
		if task.site != nil {
			o.lost(task.site, t)
		}
		o.taskEnds(task, nil, nil, t)
		delete(o.open, id)
	}
	o.machine.finish(t)
	o.endWindows(t)
}

// regionSite returns the place that a region comes from.
func (o *Observer) regionSite(e *timeline.Span, nested bool) *traceSite {
	key := traceSiteKey{class: e.Name, pool: e.Task, created: e.Stack}
	if !nested {
		key.submitted = e.G.Creator().Stack
		if t := o.open[e.TaskID]; t != nil && !ours(t.created) {
			key.submitted = t.created
		}
	}
	switch t := o.open[e.TaskID]; {
	case slices.Contains(starter.Pools, key.pool):
		key.created, key.submitted = nil, nil
		if t != nil {
			key.created = t.created
		}
	case ours(e.Stack):
		key.created = e.G.Creator().Stack
	}
	return o.site(key)
}

// ours reports whether a call chain contains only this module's code: a pool begins the regions of
// its tasks itself.
func ours(s *timeline.Stack) bool { return s != nil && len(traceFrames(s, "")) == 0 }

// isOurs reports whether a call at the leaf of a call chain belongs to the tracer, to this module,
// or to a library that starts goroutines for others.
func isOurs(f *timeline.Frame) bool {
	return strings.HasPrefix(f.Func, "runtime/trace.") || strings.HasPrefix(f.Func, "runtime.") ||
		starter.Is(f.Func) && !strings.HasSuffix(f.File, "_test.go")
}

// traceFrames returns the calls of a stack, without those of the tracer, this module and a pool that
// package instrument has changed at the leaf.
func traceFrames(s *timeline.Stack, pool string) []granularity.Frame {
	if s == nil {
		return nil
	}
	calls, instrumented := s.Frames, slices.Contains(starter.Pools, pool)
	if i := slices.IndexFunc(calls, func(f *timeline.Frame) bool {
		return !isOurs(f) && !(instrumented && strings.HasPrefix(f.Func, pool) && !strings.HasSuffix(f.File, "_test.go"))
	}); i >= 0 {
		calls = calls[i:]
	} else {
		return nil
	}
	out := make([]granularity.Frame, len(calls))
	for i, f := range calls {
		out[i] = granularity.Frame{Func: f.Func, File: f.File, Line: f.Line}
	}
	return out
}
