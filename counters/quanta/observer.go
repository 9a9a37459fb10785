package quanta

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Quanta from a trace
//
// A quantum begins when a goroutine starts running on a P and ends when it leaves the P. A system
// call that keeps its P is a part of the quantum. A row is created when the quantum begins and
// completed when it ends; its function is known at the goroutine's next transition.
//
// The trace's own counters:
//
//	sched-delay   ns, exact: for how long the goroutine was runnable before the quantum
//	syscall       ns, exact: in system calls that kept their P
//	gc-assist     ns, exact: assisting the collector's mark phase
//	gc-sweep      ns, exact: sweeping spans before it could allocate
//	heap-objects  bytes, level, observed: the live and dead objects on the heap, the latest value
//	heap-goal     bytes, level, observed: the size at which the collector's cycle should end
//	gomaxprocs    level, observed
//
// The runtime writes heap-objects when a P takes or returns a span, so the value lags by less than
// a span for each size class and P.

// Options configures a recording that is made from a trace. The zero value is ready to use.
type Options struct {
	Group bottle.Grouping // which goroutines belong together; the zero value groups by start function
	// MaxRows bounds the number of quanta, of about 100 bytes each; exceeding it is an error. 0
	// means 10 million.
	MaxRows int
	Name    string // of the recording, in errors and pages
	// Progress is called with the number of bytes read, and the total (−1 if unknown).
	Progress func(done, size int64)
	// MaxMemory bounds the growth of the heap during a pass, in bytes, as in timeline.Options. 0
	// means half of the machine's memory.
	MaxMemory int64
}

// Observer makes a Recording in a pass over a trace, together with other analyses. [ReadFile] is
// simpler if you need only the recording.
type Observer struct {
	timeline.Base
	opt Options

	rec     *Recording
	begin   timeline.Time
	end     timeline.Time
	version int
	quanta  byindex.Table[quantum] // by Goroutine.Index
	levels  [numLevels]int64
	cols    [numColumns]*Counter

	groups   map[Group]int32
	funcs    map[string]int32
	leaves   map[*timeline.Stack][2]int32 // the top function and its caller
	open     map[string]timeline.Time     // global ranges
	sweeps   map[int32]sweep              // sweep in progress, by P
	mono     int64                        // monotonic clock at the beginning, if anchored
	anchored bool
	err      error
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	if opt.MaxRows <= 0 {
		opt.MaxRows = 10_000_000
	}
	o := &Observer{opt: opt, groups: map[Group]int32{}, funcs: map[string]int32{"": 0}, leaves: map[*timeline.Stack][2]int32{nil: {}}, open: map[string]timeline.Time{}, sweeps: map[int32]sweep{}}
	o.rec = &Recording{Name: opt.Name, Funcs: []string{""}}
	o.addColumns()
	return o
}

// quantum holds the state of a live goroutine's current and previous quantum.
type quantum struct {
	g     *timeline.Goroutine
	row   int // −1 if it is not on a P
	last  int // row whose ending the next transition explains; −1 if none
	begin timeline.Time
	sums  [numSums]int64

	group      int32 // current group
	groupSince timeline.Time
	parts      []part        // time of the quantum in other groups
	world      string        // its stop-the-world range
	assist     timeline.Time // start of its assist, or of the quantum
}

// part is the time that a quantum spent in a group.
type part struct {
	group int32
	time  timeline.Time
}

// sweep is a sweep in progress on a P.
type sweep struct {
	index int // the sweeping goroutine
	since timeline.Time
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, version int) {
	o.begin, o.end, o.version = t, t, version
	for i := range o.levels {
		o.levels[i] = Unknown
	}
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	q := o.quanta.At(t.G.Index)
	if q.g != t.G {
		*q = quantum{g: t.G, row: -1, last: -1, parts: q.parts[:0]}
	}
	if q.last >= 0 {
		o.explain(q.last, t)
		q.last = -1
	}
	if t.State == timeline.Syscall && q.row >= 0 {
		q.sums[sumSyscall] += int64(t.End - t.Start)
	}
	on := t.To.OnProc()
	if q.row >= 0 && !on {
		o.close(q, t)
	}
	if t.State == timeline.Runnable {
		o.cols[sumDelay].Total += int64(t.End - t.Start)
	}
	if on && q.row < 0 {
		o.start(q, t)
	}
	if !t.To.Alive() {
		*q = quantum{row: -1, last: -1, parts: q.parts[:0]}
	}
}

// start begins a quantum. Its thread and P are those of the new interval, which ends later: see
// close.
func (o *Observer) start(q *quantum, t *timeline.Transition) {
	r := o.rec
	if len(r.Begin) >= o.opt.MaxRows {
		if o.err == nil {
			o.err = fmt.Errorf("more than %d quanta by %v of the trace: a shorter trace is needed, or a larger limit", o.opt.MaxRows, time.Duration(t.End-o.begin))
			if o.opt.Name != "" {
				o.err = fmt.Errorf("%s: %w", o.opt.Name, o.err)
			}
		}
		return
	}
	q.row, q.begin = len(r.Begin), t.End
	q.sums = [numSums]int64{sumDelay: Unknown}
	if t.State == timeline.Runnable {
		q.sums[sumDelay] = int64(t.End - t.Start)
	} else if t.State == timeline.SyscallBlocked || t.State == timeline.Waiting || t.State.IsC() {
		q.sums[sumDelay] = 0
	}
	q.group, q.groupSince = o.groupOf(q), t.End
	q.assist = t.End
	r.Goroutine = append(r.Goroutine, q.g.ID)
	r.Group = append(r.Group, q.group)
	r.Thread = append(r.Thread, -1)
	r.Proc = append(r.Proc, -1)
	r.Begin = append(r.Begin, int64(t.End-o.begin))
	r.Duration = append(r.Duration, 0)
	r.Ending = append(r.Ending, Cut)
	r.Wait = append(r.Wait, timeline.WaitNone)
	r.Func = append(r.Func, 0)
	r.Caller = append(r.Caller, 0)
	for i := range o.cols {
		o.cols[i].Values = append(o.cols[i].Values, Unknown)
	}
}

// close ends the current quantum with the transition t.
func (o *Observer) close(q *quantum, t *timeline.Transition) {
	r, i := o.rec, q.row
	r.Thread[i], r.Proc[i] = t.Thread, t.Proc
	r.Duration[i] = int64(t.End - q.begin)
	r.Ending[i], r.Wait[i] = endingOf(t)
	if r.Ending[i] == Exited {
		r.Func[i] = numberOf(t.G.Func, o.funcs, &o.rec.Funcs) // it returned from there
	} else {
		q.last = i
	}
	o.settleGroup(q, t.End)
	r.Group[i] = longest(q)
	if q.g.InRange(assistRange) {
		q.sums[sumAssist] += int64(t.End - max(q.assist, q.begin))
	}
	for c, v := range q.sums {
		o.cols[c].Values[i] = v
		if c != sumDelay {
			o.cols[c].Total += v
		}
	}
	for l, v := range o.levels {
		o.cols[numSums+l].Values[i] = v
	}
	q.row, q.parts = -1, q.parts[:0]
}

// endingOf returns the ending of the quantum that t ends, and what it waited for.
func endingOf(t *timeline.Transition) (Ending, timeline.Wait) {
	switch w := t.G.Wait(); t.To {
	case timeline.Waiting:
		return Blocked, w
	case timeline.SyscallBlocked:
		return SyscallBlocked, w
	case timeline.InCDetached, timeline.InCUncounted:
		return InC, w
	case timeline.NotExist:
		return Exited, timeline.WaitNone
	case timeline.Unknown:
		return Cut, timeline.WaitNone
	case timeline.Runnable:
		switch w {
		case timeline.WaitPreempted:
			return Preempted, timeline.WaitNone
		case timeline.WaitYield:
			return Yielded, timeline.WaitNone
		case timeline.WaitSyscall:
			return SyscallBlocked, w
		case timeline.WaitC:
			return InC, w
		}
	}
	return OtherEnding, timeline.WaitNone
}

// explain completes the ending of a quantum, from the interval after it.
func (o *Observer) explain(row int, t *timeline.Transition) {
	r := o.rec
	top := o.leaf(t.Stack)
	r.Func[row], r.Caller[row] = top[0], top[1]
	if t.State == timeline.Waiting && t.Reason == "preempted" { // suspended, not blocked
		r.Ending[row], r.Wait[row] = Preempted, timeline.WaitNone
	}
}

// leaf returns the top function of a call stack, the innermost one outside the runtime, and its
// caller.
func (o *Observer) leaf(s *timeline.Stack) [2]int32 {
	top, ok := o.leaves[s]
	if ok {
		return top
	}
	i := max(0, slices.IndexFunc(s.Frames, func(f *timeline.Frame) bool { return !runtimeFrame(f.Func) }))
	for k := range top {
		if i+k < len(s.Frames) {
			top[k] = numberOf(s.Frames[i+k].Func, o.funcs, &o.rec.Funcs)
		}
	}
	o.leaves[s] = top
	return top
}

// runtimeFrame reports whether a function belongs to the runtime, or is an entry into it that other
// packages declare.
func runtimeFrame(fn string) bool {
	return strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "internal/runtime/") || strings.Contains(fn, ".runtime_")
}

// numberOf returns the index of v in a list, to which it is added if it is not known.
func numberOf[T comparable](v T, known map[T]int32, list *[]T) int32 {
	i, ok := known[v]
	if !ok {
		i = int32(len(*list))
		*list = append(*list, v)
		known[v] = i
	}
	return i
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) {
	o.end = t
	for _, name := range slices.Sorted(maps.Keys(o.open)) {
		o.addSpan(name, o.open[name], t)
	}
	clear(o.open)
}

// Recording returns the recording after the pass, or an error if it had too many quanta.
func (o *Observer) Recording() (*Recording, error) {
	if o.err != nil {
		return nil, o.err
	}
	r := o.rec
	r.Wall = time.Duration(o.end - o.begin)
	r.GoVersion = (&timeline.Info{Version: o.version}).GoVersion()
	r.Counters = r.Counters[:0]
	for _, c := range o.cols {
		r.Counters = append(r.Counters, *c)
	}
	r.Counters[sumDelay].settle()
	slices.SortStableFunc(r.Spans, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
	return r, nil
}

// The counters that are sums over a quantum, in the order of the columns.
const (
	sumDelay = iota
	sumSyscall
	sumAssist
	sumSweep
	numSums
)

// The counters that are levels; their columns follow.
const (
	levelHeap = iota
	levelGoal
	levelProcs
	numLevels
)

const numColumns = numSums + numLevels

const (
	assistRange = "GC mark assist"
	sweepRange  = "GC incremental sweep"
	worldRange  = "stop-the-world ("
)

// levelOf maps the metrics of a trace to levels.
var levelOf = map[string]int{
	"/memory/classes/heap/objects:bytes": levelHeap,
	"/gc/heap/goal:bytes":                levelGoal,
	"/sched/gomaxprocs:threads":          levelProcs,
}

func (o *Observer) addColumns() {
	const source = "execution trace"
	for i, name := range []string{"sched-delay", "syscall", "gc-assist", "gc-sweep"} {
		o.cols[i] = &Counter{Name: name, Unit: "ns", Source: source, Accuracy: Exact}
	}
	for i, unit := range []string{"bytes", "bytes", ""} {
		o.cols[numSums+i] = &Counter{Name: []string{"heap-objects", "heap-goal", "gomaxprocs"}[i], Unit: unit, Level: true, Source: source, Accuracy: Observed}
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	l, ok := levelOf[name]
	if !ok {
		return
	}
	o.levels[l] = int64(min(value, math.MaxInt64))
	if l == levelProcs {
		o.rec.Procs = max(o.rec.Procs, int(min(value, math.MaxInt32)))
	}
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Span) {
	switch {
	case e.OfG && e.G != nil:
		o.goroutineRange(e)
	case e.OfG:
	case e.Proc >= 0 && e.Name == sweepRange:
		o.sweep(e)
	case e.Proc < 0:
		o.span(e)
	}
}

// sweep follows a sweep on a P, which the goroutine that runs there executes.
func (o *Observer) sweep(e *timeline.Span) {
	if e.Begin {
		if q := o.quantumOf(e.G); q != nil && q.row >= 0 {
			o.sweeps[e.Proc] = sweep{e.G.Index, e.Time}
		}
		return
	}
	if s, ok := o.sweeps[e.Proc]; ok {
		delete(o.sweeps, e.Proc)
		if q := o.quanta.At(s.index); q.row >= 0 { // a sweep does not outlast the quantum
			q.sums[sumSweep] += int64(e.Time - max(s.since, q.begin))
		}
	}
}

// goroutineRange follows assists and stop-the-world phases.
func (o *Observer) goroutineRange(e *timeline.Span) {
	world := strings.HasPrefix(e.Name, worldRange)
	if world { // it affects all goroutines
		o.span(e)
	}
	q := o.quantumOf(e.G)
	if q == nil {
		return
	}
	switch {
	case world:
		q.world = ""
		if e.Begin {
			q.world = e.Name
		}
	case e.Name == assistRange && e.Begin:
		q.assist = e.Time
	case e.Name == assistRange && q.row >= 0:
		q.sums[sumAssist] += int64(e.Time - max(q.assist, q.begin))
	}
	o.regroup(e.G, e.Time)
}

// quantumOf returns the state of a goroutine, or nil if it has not been seen yet.
func (o *Observer) quantumOf(g *timeline.Goroutine) *quantum {
	if g == nil {
		return nil
	}
	if q := o.quanta.At(g.Index); q.g == g {
		return q
	}
	return nil
}

// A quantum belongs to the group in which its goroutine spent most of it. A short assist of the
// collector during an allocation leaves the quantum in the application, as a bottle graph does with
// most of its time.

// groupOf returns the current group of a goroutine.
func (o *Observer) groupOf(q *quantum) int32 {
	name, kind := o.opt.Group.BoxOf(q.g, q.world)
	return numberOf(Group{Name: name, Kind: kind}, o.groups, &o.rec.Groups)
}

// regroup updates the group of a goroutine.
func (o *Observer) regroup(g *timeline.Goroutine, t timeline.Time) {
	q := o.quantumOf(g)
	if q == nil || q.row < 0 {
		return
	}
	if now := o.groupOf(q); now != q.group {
		o.settleGroup(q, t)
		q.group = now
	}
}

// settleGroup adds the time that the quantum has spent in its group until now.
func (o *Observer) settleGroup(q *quantum, t timeline.Time) {
	d := t - q.groupSince
	q.groupSince = t
	for i := range q.parts {
		if q.parts[i].group == q.group {
			q.parts[i].time += d
			return
		}
	}
	q.parts = append(q.parts, part{q.group, d})
}

// longest returns the group with most of the quantum's time, the latest if equal.
func longest(q *quantum) int32 {
	best := q.parts[0]
	for _, p := range q.parts[1:] {
		if p.time >= best.time {
			best = p
		}
	}
	return best.group
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Label implements [timeline.Observer].
func (o *Observer) Label(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Region implements [timeline.Observer].
func (o *Observer) Region(e *timeline.Span) { o.regroup(e.G, e.Time) }

// span follows a range of the whole program, such as a mark phase.
func (o *Observer) span(e *timeline.Span) {
	if e.Begin {
		o.open[e.Name] = e.Time
		return
	}
	delete(o.open, e.Name)
	o.addSpan(e.Name, e.Start, e.Time)
}

func (o *Observer) addSpan(name string, from, to timeline.Time) {
	o.rec.Spans = append(o.rec.Spans, Span{Name: name, Begin: int64(max(from, o.begin) - o.begin), End: int64(to - o.begin)})
}

// Log implements [timeline.Observer].
func (o *Observer) Log(l *timeline.Log) {
	if l.Category != archive.MarkCategory {
		return
	}
	m := Marker{Time: int64(l.Time - o.begin), Text: l.Message}
	if l.G != nil {
		m.Goroutine = l.G.ID
	}
	o.rec.Markers = append(o.rec.Markers, m)
}

// Clock implements [timeline.Observer].
func (o *Observer) Clock(t timeline.Time, mono uint64, wall time.Time) {
	if o.anchored {
		return
	}
	o.anchored = true
	since := t - o.begin
	o.mono = int64(mono) - int64(since)
	o.rec.Start = wall.Add(-time.Duration(since))
}
