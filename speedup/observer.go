package speedup

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The observer keeps N lanes and assigns each lane, at every instant, to exactly one component. The
// first rule that matches applies:
//
//  1. The world is stopped: all lanes, GCStopTheWorld or RuntimeStopTheWorld.
//  2. No worker lives; or none is running or ready while another goroutine of the application runs:
//     all lanes, Sequential (eq. 5).
//  3. Lanes with a worker: what the worker does (see ownComponent). A ready worker is charged to
//     what keeps it from running. First, each free processor accounts for one late riser. Then each
//     processor of the collector, of the runtime or tracer, and of another goroutine of the
//     application keeps one worker from running. Other workers keep the rest from running. If there
//     is a free processor for every ready worker, the time until they run belongs to what they
//     waited for, since it would not exist without the wait. It is SchedWakeup for workers that
//     waited for nothing, or if processors are free for some only.
//  4. Lanes without a worker: Imbalance after the peak, which is the first instant with the largest
//     number of live workers, or with N; Spawn before it (eq. 7). If there were at least twice as
//     many workers as ever lived at once, that instant is arbitrary, and both are NoWorker.
//
// While more than N workers live, those that have a processor get lanes first. Of the remaining
// lanes, those without a free processor go to ready workers that the collector, the runtime, the
// tracer or other goroutines keep from running. The waiting workers share the rest equally. So a
// pool with more workers than processors, all of them busy, runs on all lanes. A run with one lane
// is never charged for its other workers, and other workers keep a lane from running only if there
// are more lanes than processors. While more than N workers have a processor, they share all lanes.
//
// Nothing changes between two events, so the work for an event is a sum over the components.

// observer computes an account of Options.N lanes in one pass over a trace.
type observer struct {
	timeline.Base
	opt Options

	begin, now, next timeline.Time
	members          byindex.Table[member] // by Goroutine.Index
	counts           tally                 // workers by their own component; ready included
	risers           tally                 // ready ones by what they waited for; SchedWakeup if for nothing
	holders          [numHolders]int64     // other goroutines on processors
	live             int64                 // workers
	peak             int64
	worldGC, world   int // open stop-the-world ranges
	procs            int64

	purse       purse
	on          int64 // carry
	off         carries
	solo        purse // see account.Solo
	alone       carries
	busy, idle  int64 // Σ solo
	waking      int64 // the part of idle in which a goroutine of the program was ready
	tracer      int64 // see account.Tracer
	whole       account
	windowFrom  timeline.Time
	companyFrom timeline.Time // units.company, at windowFrom
	units       units
	scratch     [2][NumComponents]part
}

// member is a live goroutine.
type member struct {
	g *timeline.Goroutine
	// selected is the result of the selector. Only a new name or region can change it.
	selected, worker bool
	known            bool // it has been counted as a worker
	own              Component
	before           Component // of a ready worker: what it waited for
	holder           holder
	assist           bool
	state            timeline.State
	wait             timeline.Wait
	unit             unit
}

// tally is a number of workers in each component. Few components have any, and each event visits
// those that do.
type tally struct {
	of  [NumComponents + 1]int64
	has uint32 // the components with any, as bits
}

var noRisers tally // never written

func (t *tally) add(c Component, n int64) {
	t.has |= 1 << c
	if t.of[c] += n; t.of[c] == 0 {
		t.has &^= 1 << c
	}
}

// onProcs are the components of workers that have a processor (P), as bits.
const onProcs = 1<<Run | 1<<GCAssist | 1<<Syscall

// onProc returns the number of workers that have a processor.
func (t *tally) onProc() int64 { return t.of[Run] + t.of[GCAssist] + t.of[Syscall] }

// maxWindows bounds the cost of a window that is far too small.
const maxWindows = 100_000

func newObserver(opt Options) *observer {
	opt.N = max(1, opt.N)
	return &observer{opt: opt}
}

func (o *observer) Begin(t timeline.Time, _ int) {
	o.begin, o.now, o.windowFrom = t, t, t
	o.next = math.MaxInt64
	if o.opt.Window > 0 {
		o.next = after(t, o.opt.Window)
	}
}

// after returns the time d after t, saturating at the largest time.
func after(t timeline.Time, d time.Duration) timeline.Time {
	return t + min(timeline.Time(d), math.MaxInt64-t)
}

// advance accounts for the time up to t, in which nothing changed.
func (o *observer) advance(t timeline.Time) {
	for t >= o.next {
		o.spend(o.next - o.now)
		o.now = o.next
		o.turn()
		o.next = after(o.next, o.opt.Window)
		if len(o.whole.Windows) >= maxWindows {
			o.next = math.MaxInt64
		}
	}
	o.spend(t - o.now)
	o.now = t
}

// spend gives dt to all lanes.
func (o *observer) spend(dt timeline.Time) {
	if o.counts.onProc()+o.holders[holdsApplication] > 1 {
		o.units.company += dt
	}
	o.spendSolo(int64(dt))
	all := int64(dt) * int64(o.opt.N)
	switch {
	case dt == 0:
	case o.worldGC > 0:
		o.purse.ns[GCStopTheWorld] += all
	case o.world > 0:
		o.purse.ns[RuntimeStopTheWorld] += all
	case o.sequential():
		o.purse.ns[Sequential] += all
	default:
		o.spendLanes(int64(dt))
	}
}

func (o *observer) sequential() bool {
	return o.live == 0 || o.counts.has&(onProcs|1<<ready) == 0 && o.holders[holdsApplication] > 0
}

// spendLanes does steps 3 and 4.
func (o *observer) spendLanes(dt int64) {
	on, nOn, busy := &o.scratch[0], 0, int64(0)
	for left := o.counts.has & onProcs; left != 0; left &= left - 1 {
		c := Component(bits.TrailingZeros32(left))
		on[nOn] = part{c, o.counts.of[c]}
		nOn++
		busy += o.counts.of[c]
	}
	lanes := int64(o.opt.N)
	if lanesOn := min(lanes, busy); lanesOn > 0 {
		o.purse.share(&o.on, dt, lanesOn, busy, on[:nOn])
		lanes -= lanesOn
	}
	lanes -= o.without(&o.purse, &o.off, dt, busy, min(lanes, o.live-busy))
	o.purse.ns[Imbalance] += dt * lanes
}

// spendSolo gives dt to each goroutine that has a processor, or to the single lane if all workers
// wait.
func (o *observer) spendSolo(dt int64) {
	if dt == 0 {
		return
	}
	workers := o.counts.onProc()
	others, tracer := o.others()-o.holders[holdsTracer], int64(0)
	if workers+others == 0 {
		tracer = min(o.holders[holdsTracer], 1) // the tracer alone determines the length of the run
		others = tracer
	}
	o.tracer += dt * (o.holders[holdsTracer] - tracer)
	o.busy += dt * (workers + others)
	if workers+others == 0 {
		o.idle += dt
		if o.counts.of[ready]+o.holders[holdsReady] > 0 {
			o.waking += dt
		}
	}
	switch {
	case o.worldGC > 0, o.world > 0, o.sequential():
		c := Sequential
		if o.worldGC > 0 {
			c = GCStopTheWorld
		} else if o.world > 0 {
			c = RuntimeStopTheWorld
		}
		o.solo.ns[c] += dt * max(1, workers+others)
	case workers+others > 0:
		o.solo.ns[Run] += dt * o.counts.of[Run]
		o.solo.ns[GCAssist] += dt * o.counts.of[GCAssist]
		o.solo.ns[Syscall] += dt * o.counts.of[Syscall]
		o.solo.ns[GCWorkers] += dt * o.holders[holdsGC]
		o.solo.ns[SchedRuntime] += dt * (o.holders[holdsRuntime] + tracer)
		o.solo.ns[SchedApplication] += dt * o.holders[holdsApplication]
	default: // all workers wait
		o.without(&o.solo, &o.alone, dt, 0, 1)
	}
}

// others returns the number of goroutines, other than workers, that have a processor.
func (o *observer) others() int64 {
	return o.holders[holdsGC] + o.holders[holdsRuntime] + o.holders[holdsTracer] + o.holders[holdsApplication]
}

// free returns the number of processors that no goroutine has, if busy workers have one.
func (o *observer) free(busy int64) int64 {
	taken := busy + o.others()
	if o.procs == 0 && taken == 0 { // GOMAXPROCS is not known, but at least one P is free
		return o.counts.of[ready]
	}
	return max(0, o.procs-taken)
}

// carries are the remainders of divisions: see [purse.share].
type carries struct{ kept, waiting int64 }

// without gives lanes to workers that have no processor and returns the number of lanes.
func (o *observer) without(to *purse, carry *carries, dt, busy, lanes int64) int64 {
	if lanes == 0 {
		return 0
	}
	parts, n := &o.scratch[1], 0
	ready, kept := o.counts.of[ready], int64(0)
	free := o.free(busy)
	late, rising := min(ready, free), free >= ready
	keep := func(c Component, most int64) {
		if k := min(ready-late-kept, most); k > 0 {
			parts[n] = part{c, k}
			n++
			kept += k
		}
	}
	keep(GCWorkers, o.holders[holdsGC])
	keep(SchedRuntime, o.holders[holdsRuntime]+o.holders[holdsTracer])
	keep(SchedApplication, o.holders[holdsApplication])
	given := min(kept, max(0, lanes-free))
	if given > 0 {
		to.share(&carry.kept, dt, given, kept, parts[:n])
	}
	if given == lanes {
		return lanes
	}

	left, waiting := lanes-given, o.live-busy-given
	ready -= given
	each := int64(1)     // the count of a worker
	if left == waiting { // a lane each
	} else if late*waiting >= ready*left {
		late = ready
	} else { // more lanes than processors
		each, late, ready = left, late*waiting, ready*left
	}
	risers := &noRisers
	if n = 0; rising { // then each is 1
		risers = &o.risers
	} else {
		parts[0], parts[1], n = part{SchedWakeup, late}, part{SchedWorkers, ready - late}, 2
	}
	for left := (o.counts.has | risers.has) &^ (onProcs | 1<<NumComponents); left != 0; left &= left - 1 {
		c := Component(bits.TrailingZeros32(left))
		parts[n] = part{c, o.counts.of[c]*each + risers.of[c]}
		n++
	}
	to.share(&carry.waiting, dt, left, waiting*each, parts[:n])
	return lanes
}

// turn closes the current window.
func (o *observer) turn() {
	w := &account{N: o.opt.N, Start: time.Duration(o.windowFrom - o.begin), Wall: time.Duration(o.now - o.windowFrom), Procs: int(o.procs), Peak: int(o.peak)}
	o.purse.empty(&w.Time, int64(w.Wall)*int64(w.N))
	o.on, o.off, o.alone = 0, carries{}, carries{}
	o.solo.empty(&w.Solo, o.busy+o.idle)
	w.Idle, w.Company = time.Duration(o.idle), time.Duration(o.units.company-o.companyFrom)
	w.Waking, w.Tracer = time.Duration(o.waking), time.Duration(o.tracer)
	o.busy, o.idle, o.waking, o.tracer, o.companyFrom = 0, 0, 0, 0, o.units.company
	o.windowFrom = o.now
	if o.opt.Window > 0 && w.Wall > 0 {
		o.whole.Windows = append(o.whole.Windows, w)
	}
	o.whole.add(w)
}

// leave takes a member out of all counts.
func (o *observer) leave(m *member) {
	if !m.state.Alive() {
		return
	}
	if !m.worker {
		o.holders[m.holder]--
		return
	}
	o.counts.add(m.own, -1)
	if m.own == ready {
		o.risers.add(m.before, -1)
	}
	o.live--
}

// enter adds a member to the counts of its current state.
func (o *observer) enter(m *member) {
	alive := m.state.Alive()
	was := m.worker
	m.worker = alive && (m.selected || m.worker && o.opt.by.stays)
	if !alive {
		return
	}
	if !m.worker {
		m.holder = holderOf(m.g, m.state)
		o.holders[m.holder]++
		return
	}
	if !m.known {
		m.known = true
		o.whole.Workers++
	}
	own := ownComponent(m.state, m.wait, m.assist)
	if own == ready {
		if !was || onProcs>>m.own&1 != 0 {
			m.before = SchedWakeup
		} else if m.own != ready {
			m.before = m.own
		}
		o.risers.add(m.before, 1)
	}
	m.own = own
	o.counts.add(m.own, 1)
	o.live++
	if o.live > o.peak {
		o.newPeak()
	}
}

// newPeak records a new peak of live workers: lanes without a worker until now were Spawn.
func (o *observer) newPeak() {
	if o.peak < int64(o.opt.N) {
		for _, a := range append(o.whole.Windows, &o.whole) {
			a.Time[Spawn] += a.Time[Imbalance]
			a.Time[Imbalance] = 0
		}
		o.purse.ns[Spawn] += o.purse.ns[Imbalance]
		o.purse.ns[Imbalance] = 0
	}
	o.peak = o.live
}

func (o *observer) Transition(t *timeline.Transition) {
	o.advance(t.End)
	m := o.members.At(t.G.Index)
	if m.g != t.G {
		*m = member{g: t.G, assist: t.G.InRange(assistRange), selected: o.opt.by.selects(t.G)}
	}
	o.settleUnit(m)
	o.leave(m)
	m.state, m.wait = t.To, t.G.Wait()
	o.enter(m)
	if !t.To.Alive() {
		m.g = nil
	}
}

// again updates the counts of a member, if it has been seen.
func (o *observer) again(g *timeline.Goroutine, t timeline.Time) *member {
	o.advance(t)
	if g == nil {
		return nil
	}
	m := o.members.At(g.Index)
	if m.g != g {
		return nil
	}
	o.leave(m)
	m.assist, m.selected = g.InRange(assistRange), o.opt.by.selects(g)
	o.enter(m)
	return m
}

func (o *observer) Named(g *timeline.Goroutine, t timeline.Time) { o.again(g, t) }

func (o *observer) Label(g *timeline.Goroutine, t timeline.Time) { o.again(g, t) }

func (o *observer) Region(e *timeline.Span) {
	if m := o.again(e.G, e.Time); m != nil && o.opt.Unit != "" && e.Name == o.opt.Unit {
		o.regionUnit(m, e.Begin)
	}
}

func (o *observer) Range(e *timeline.Span) {
	o.advance(e.Time)
	if e.OfG && e.Name == assistRange {
		o.again(e.G, e.Time)
		return
	}
	if !strings.HasPrefix(e.Name, worldRange) {
		return
	}
	open := &o.world
	if strings.HasPrefix(e.Name, worldRange+"GC") {
		open = &o.worldGC
	}
	if e.Begin {
		*open++
	} else if *open > 0 { // it may have begun before the trace
		*open--
	}
}

func (o *observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	if name == "/sched/gomaxprocs:threads" {
		o.advance(t)
		o.procs = int64(min(value, 1<<31))
		o.whole.Procs = max(o.whole.Procs, int(o.procs))
	}
}

func (o *observer) End(t timeline.Time) {
	o.advance(t)
	o.turn()
	if int64(o.whole.Workers) >= 2*o.peak {
		for _, a := range append(o.whole.Windows, &o.whole) {
			a.Time[NoWorker] = a.Time[Spawn] + a.Time[Imbalance]
			a.Time[Spawn], a.Time[Imbalance] = 0, 0
		}
	}
}

// Account returns the account of the pass, once it has ended.
func (o *observer) Account() *account {
	a := o.whole
	a.N, a.Peak = o.opt.N, int(o.peak)
	if o.opt.Unit != "" {
		a.Units = o.units.sum()
	}
	return &a
}

// Units of equal work are user regions of one type that the program marks. They show in a single
// run what one worker would need for a unit: nothing disturbed a unit that ran while no other
// goroutine of the program did. The extra time of the other units is hardware interference or
// parallel overhead: the remainder of eq. 3, which an estimate cannot determine otherwise.

// unitTimes sums up the units of equal work in a run.
type unitTimes struct {
	Count   int           // units that began and ended in the run
	Running time.Duration // running time of their goroutines inside of them, summed
	Alone   int           // units during which no other goroutine of the program ran
	// Median is the running time of a unit that ran alone; 0 if there was none.
	Median time.Duration
}

// leastAlone is the minimum number of units that ran alone for an estimate.
const leastAlone = 3

// maxAlone bounds the times kept. The first ones represent all.
const maxAlone = 10_000

// units collects the units of a run.
type units struct {
	company timeline.Time // time so far in which more than one goroutine of the application ran
	count   int
	run     timeline.Time
	alone   int
	times   []timeline.Time
}

// unit is the open unit of a goroutine.
type unit struct {
	depth           int // of regions of the type; the outermost is the unit
	run, company    timeline.Time
	since, together timeline.Time // now and units.company, when last settled
}

// settleUnit accounts for a goroutine's time in its unit until now.
func (o *observer) settleUnit(m *member) {
	u := &m.unit
	if u.depth == 0 {
		return
	}
	if m.state == timeline.Running {
		u.run += o.now - u.since
		u.company += o.units.company - u.together
	}
	u.since, u.together = o.now, o.units.company
}

// regionUnit begins or ends a unit.
func (o *observer) regionUnit(m *member, begin bool) {
	u := &m.unit
	if begin {
		if u.depth == 0 {
			*u = unit{since: o.now, together: o.units.company}
		}
		u.depth++
		return
	}
	if u.depth == 0 {
		return // it began before the trace
	}
	o.settleUnit(m)
	if u.depth--; u.depth > 0 {
		return
	}
	o.units.count++
	o.units.run += u.run
	if u.company*100 <= u.run {
		o.units.alone++
		if len(o.units.times) < maxAlone {
			o.units.times = append(o.units.times, u.run)
		}
	}
}

func (u *units) sum() *unitTimes {
	s := &unitTimes{Count: u.count, Running: time.Duration(u.run), Alone: u.alone}
	if n := len(u.times); n > 0 {
		slices.Sort(u.times)
		s.Median = time.Duration(u.times[n/2])
	}
	return s
}
