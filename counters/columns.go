package counters

import (
	"math"

	"github.com/bottleneck-go/bottleneck/timeline"
)

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
	ns := func(name string) *Counter {
		return &Counter{Name: name, Unit: "ns", Source: source, Accuracy: Exact}
	}
	level := func(name, unit string) *Counter {
		return &Counter{Name: name, Unit: unit, Level: true, Source: source, Accuracy: Observed}
	}
	o.cols = [numColumns]*Counter{
		ns("sched-delay"), ns("syscall"), ns("gc-assist"), ns("gc-sweep"),
		level("heap-objects", "bytes"), level("heap-goal", "bytes"), level("gomaxprocs", ""),
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(m *timeline.Metric) {
	l, ok := levelOf[m.Name]
	if !ok {
		return
	}
	o.levels[l] = int64(min(m.Value, math.MaxInt64))
	if l == levelProcs {
		o.rec.Procs = max(o.rec.Procs, int(min(m.Value, math.MaxInt32)))
	}
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Range) {
	switch {
	case e.Scope == timeline.ScopeProc && e.Name == sweepRange:
		o.sweep(e)
	case e.Scope == timeline.ScopeGoroutine && e.G != nil:
		o.goroutineRange(e)
	case e.Scope == timeline.ScopeGlobal:
		o.span(e)
	}
}

// sweep follows a sweep on a P: it is done by the goroutine that runs there.
func (o *Observer) sweep(e *timeline.Range) {
	if e.Begin {
		if q := o.quantumOf(e.G); q != nil && q.row >= 0 {
			o.sweeps[e.Proc] = sweep{e.G.Index, e.Time}
		}
		return
	}
	if s, ok := o.sweeps[e.Proc]; ok {
		o.addSweep(s, e.Time)
		delete(o.sweeps, e.Proc)
	}
}

func (o *Observer) addSweep(s sweep, until timeline.Time) {
	if q := &o.quanta[s.index]; q.row >= 0 {
		q.sums[sumSweep] += int64(until - max(s.since, q.begin))
	}
}

// settleSweep ends the share of a quantum in the sweep of its P. A sweep does not outlast it, but
// in a damaged trace.
func (o *Observer) settleSweep(q *quantum, t timeline.Time) {
	if len(o.sweeps) == 0 {
		return
	}
	for p, s := range o.sweeps {
		if s.index == q.g.Index {
			o.addSweep(s, t)
			delete(o.sweeps, p)
		}
	}
}

// goroutineRange follows assists and stop-the-world phases.
func (o *Observer) goroutineRange(e *timeline.Range) {
	world := len(e.Name) > len(worldRange) && e.Name[:len(worldRange)] == worldRange
	if world {
		o.worldSpan(e)
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

// quantumOf returns what is known of a goroutine, nil if it was not shown yet.
func (o *Observer) quantumOf(g *timeline.Goroutine) *quantum {
	if g == nil || g.Index >= len(o.quanta) || o.quanta[g.Index].g != g {
		return nil
	}
	return &o.quanta[g.Index]
}
