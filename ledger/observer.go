package ledger

import (
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a ledger. The zero value is ready to use.
type Options struct {
	// From and To bound the ledger, from the beginning of the trace. To 0 means the end.
	From, To time.Duration
	// Stacks requests the call chains of the lost capacity: see [Ledger.Stacks].
	Stacks bool
	// Group names the group of a goroutine of the program; nil groups by function. It is called
	// when the goroutine appears, is renamed, or begins or ends a user region.
	Group func(*timeline.Goroutine) string
}

// Observer computes a ledger in a pass over a trace that it can share with other observers.
type Observer struct {
	timeline.Base
	opt Options

	offset, length timeline.Time // start of the ledger in the trace, including gaps of a live trace; its longest wall time
	now            timeline.Time // time of the ledger: 0 up to offset, and constant from length on

	procs, maxProcs int           // GOMAXPROCS, 0 while unknown
	procsSince      timeline.Time // capacity is counted up to here
	capacity        int64
	slots           []slot
	gaps            gaps
	empty           int // slots that nothing occupies
	members         byindex.Table[member]
	runs            []*run                                  // unused
	assists         map[*timeline.Goroutine]*timeline.Stack // where those in a mark assist allocated
	waiting         []*timeline.Goroutine                   // running goroutines that found no slot
	unbooked        timeline.Time                           // running time of these

	history  history
	idle     timeline.Time // time in which nothing ran that is not booked yet
	kept     timeline.Time // the part of idle left for the next goroutine that had waited
	who      who           // runs now
	whoSince timeline.Time // if who is none, the time up to which idle is counted
	groups   groups
	active   []int32 // by group: goroutines that run
	helps    []bool  // by group: it is the runtime's or the tracer's
	program  ranks   // groups of the program that run
	helpers  ranks   // others that run
	stop     who     // the world is stopped, 0 if not
	stopper  *timeline.Goroutine
	stopped  *timeline.Stack // where the program last had the runtime stop the world
	ready    int64           // goroutines
	queuing  int64           // those of them that are not the tracer's or the runtime's
	running  int64           // goroutines with a slot
	// queue is in ns·goroutines. It grows only while all slots are occupied, so each running
	// goroutine gets 1/procs of it: part is the sum of these.
	queue         timeline.Time
	part, inverse float64 // inverse is 1/procs
	queued        timeline.Time
	locked        int           // goroutines that wait for a lock
	lockedTime    timeline.Time // in which there were some
	lockedPart    float64       // of the gap that is closed
	offered       []timeline.Time
	wait, latency spells // of the gap that is closed

	rows    rows
	born    int64
	slices  int64
	heap    heap
	threads threads
	version int
}

// member is a live goroutine. There may be millions.
type member struct {
	g *timeline.Goroutine
	*run
	waitedAt    timeline.Time // its wait began; 0 if unknown
	thread      int64         // of its latest slices; see threads.go
	group       who
	slot        int32  // its current or latest slot; −1 if none
	slicesThere uint16 // on that thread, up to pinnedSlices + 1
	on          bool   // it runs
	isReady     bool
	queues      bool // it is ready, and not the tracer's or the runtime's
	c, call     bool // in C, in a system call
	inAssist    bool
	locked      bool     // it waits for a lock
	base        category // what it does, unless it is known better: catCode if it is of the program
}

// run is the state of a goroutine that runs or is ready, or of the latest one of a slot.
type run struct {
	since  timeline.Time   // its running is booked up to here
	part   float64         // of the queue, at since
	stack  *timeline.Stack // where it entered its current system call or C call
	ready  mark            // when it became ready
	marked bool            // a slot was empty then, so a gap may ask for it
	sweeps bool            // to pay for an allocation
	cause  cause
}

// cause is why a goroutine became ready.
type cause struct {
	stack      *timeline.Stack
	wakerStack *timeline.Stack
	waker      who // 0 if none
	wait       timeline.Wait
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	return &Observer{opt: opt, gaps: gaps{noSlot, noSlot}, history: newHistory(), groups: newGroups(), active: make([]int32, 3), helps: make([]bool, 3), assists: map[*timeline.Goroutine]*timeline.Stack{}}
}

// Begin implements [timeline.Observer].
func (o *Observer) Begin(t timeline.Time, version int) {
	o.version = version
	from, to := timeline.Time(min(max(o.opt.From, 0), math.MaxInt64/4)), timeline.Time(math.MaxInt64)
	if o.opt.To > 0 {
		to = max(from, timeline.Time(o.opt.To))
	}
	o.offset, o.length = t+from, to-from
}

// advance moves the ledger's clock to a time of the trace.
func (o *Observer) advance(t timeline.Time) {
	t = min(t-o.offset, o.length)
	dt := t - o.now
	if dt <= 0 {
		return
	}
	o.now = t
	if o.locked > 0 {
		o.lockedTime += dt
	}
	n := o.running
	if o.queuing > 0 {
		n += o.queuing
		if o.empty == 0 && o.procs > 0 {
			o.queued += dt
			o.queue += dt * timeline.Time(o.queuing)
			o.part += float64(dt*timeline.Time(o.queuing)) * o.inverse
		}
	}
	if n >= int64(len(o.offered)) {
		n = o.offers(n)
	}
	o.offered[n] += dt
}

const maxOffered = 4096

// offers makes room for a number of running and ready goroutines, and returns the element that
// counts them.
func (o *Observer) offers(n int64) int64 {
	n = min(n, maxOffered)
	for n >= int64(len(o.offered)) {
		o.offered = append(o.offered, 0)
	}
	return n
}

// turn counts the time up to now in which nothing ran.
func (o *Observer) turn() {
	if o.who == none {
		o.idle += o.now - o.whoSince
	}
	o.whoSince = o.now
}

// ranks are groups that run.
type ranks struct {
	distinct int
	xor      who // of their numbers
}

// ranks returns those that a group belongs to.
func (o *Observer) ranks(w who) *ranks {
	if o.helps[w] {
		return &o.helpers
	}
	return &o.program
}

// starts counts one more running goroutine of a group, and stops one fewer.
func (o *Observer) starts(w who) {
	if o.active[w]++; o.active[w] == 1 {
		r := o.ranks(w)
		r.distinct++
		r.xor ^= w
	}
}

func (o *Observer) stops(w who) {
	if o.active[w]--; o.active[w] == 0 {
		r := o.ranks(w)
		r.distinct--
		r.xor ^= w
	}
}

// look determines who runs from now on. The collector's workers count only if nothing else runs: a
// goroutine that allocates while the others have nothing to do runs alone.
func (o *Observer) look() {
	r := &o.program
	if r.distinct == 0 {
		r = &o.helpers
	}
	w := several
	switch {
	case o.stop != 0:
		w = o.stop
	case r.distinct == 0:
		w = none
	case r.distinct == 1 && r.xor < maxClocks:
		w = r.xor
	}
	if w != o.who {
		o.turn()
		o.who = w
		o.history.begin(o.now, w)
		if o.history.full() {
			o.fold()
		}
	}
}

func (o *Observer) member(g *timeline.Goroutine) *member {
	m := o.members.At(g.Index)
	if m.g != g {
		if m.locked {
			o.locked--
		}
		o.rest(m)
		*m = member{g: g, group: o.groupOf(g), base: baseOf(g), slot: noSlot}
	}
	return m
}

// runOf gives the goroutine a run, unless it has one.
func (o *Observer) runOf(m *member) {
	if m.run != nil {
		return
	}
	if n := len(o.runs); n > 0 {
		m.run, o.runs = o.runs[n-1], o.runs[:n-1]
	} else {
		m.run = &run{}
	}
}

// rest takes the run of a goroutine that no longer needs it.
func (o *Observer) rest(m *member) {
	if m.run != nil {
		m.stack, m.marked, m.sweeps = nil, false, false
		o.runs = append(o.runs, m.run)
		m.run = nil
	}
}

// rests reports whether the goroutine neither runs nor is ready and is not the latest one of its
// slot.
func (o *Observer) rests(m *member) bool {
	return !m.on && !m.isReady && (m.slot < 0 || int(m.slot) >= len(o.slots) || o.slots[m.slot].g != m.g)
}

// groupOf returns the number of the group that the goroutine belongs to now.
func (o *Observer) groupOf(g *timeline.Goroutine) who {
	name := g.Name()
	switch {
	case g.Label() != "":
		name = g.Label()
	case o.opt.Group != nil && g.Kind == timeline.Application:
		name = o.opt.Group(g)
	}
	w := o.groups.number(name)
	for int(w) >= len(o.active) {
		o.active, o.helps = append(o.active, 0), append(o.helps, false)
	}
	if o.active[w] == 0 {
		o.helps[w] = baseOf(g) != catCode
	}
	return w
}

// known returns the member of a goroutine that has been seen, or nil.
func (o *Observer) known(g *timeline.Goroutine) *member {
	if g == nil {
		return nil
	}
	if m := o.members.Known(g.Index); m != nil && m.g == g {
		return m
	}
	return nil
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	o.advance(t.End)
	m := o.member(t.G)
	if locks := t.To == timeline.Waiting && t.G.Wait().Lock(); locks != m.locked {
		if m.locked = locks; locks {
			o.locked++
		} else {
			o.locked--
		}
	}
	if t.State == timeline.NotExist && t.G.Kind == timeline.Application && o.inside() {
		o.born++
	}
	runs := t.To.Runs()
	if m.on {
		end := m.stack // of a system call, or C: where it was called
		if !m.call && !m.c {
			end = t.G.Stack()
		}
		o.book(m, end, t.To == timeline.Waiting)
		if t.To == timeline.Waiting {
			m.waitedAt = o.now
		}
		if !runs {
			o.threads.ran(m, t.Thread, t.To == timeline.Waiting)
			o.leave(m)
		}
	}
	if !m.on && !m.isReady && (runs || t.To == timeline.Runnable) {
		o.runOf(m)
		m.cause.wait, m.cause.stack, m.cause.wakerStack, m.cause.waker = t.Wait, t.Stack, t.WakerStack, 0
		if w := o.known(t.Waker); w != nil {
			m.cause.waker = w.group
		}
		switch {
		case t.State == timeline.NotExist:
			m.cause.wait, m.cause.stack = timeline.WaitCreated, t.G.Creator().Stack
			m.cause.wakerStack = nil
			if t.G.Creator().ID != 0 {
				m.cause.waker = o.groups.known(t.G.Creator().Func)
			}
		case t.State == timeline.Running || t.State == timeline.Unknown:
			m.cause.wait, m.cause.stack = t.G.Wait(), t.G.Stack()
		}
		m.isReady = true
		m.ready.begin(o.now)
		o.ready++
		if m.base != catTracer && m.base != catRuntime {
			m.queues = true
			o.queuing++
		}
		if o.empty > 0 {
			if o.history.becomes(m); o.history.full() {
				o.fold()
			}
		}
	}
	if m.isReady && t.To != timeline.Runnable {
		m.isReady = false
		o.ready--
		if m.queues {
			m.queues = false
			o.queuing--
		}
		if runs {
			o.enter(m)
		}
		m.marked = false
	}
	m.call, m.c = t.To == timeline.Syscall, t.To.IsC()
	switch {
	case !t.To.Alive():
		if m.inAssist {
			delete(o.assists, t.G)
		}
		m.g = nil
		o.rest(m)
	case m.run == nil:
	case o.rests(m):
		o.rest(m)
	default:
		m.stack = nil
		if m.call || m.c {
			m.stack = t.G.Stack()
		}
	}
}

// inside reports whether the ledger has begun.
func (o *Observer) inside() bool { return o.now > 0 || o.opt.From <= 0 }

// within reports whether an instant of the trace is in the ledger.
func (o *Observer) within(t timeline.Time) bool {
	t -= o.offset
	return t >= 0 && t < o.length
}

// enter makes a goroutine run.
func (o *Observer) enter(m *member) {
	m.on, m.since, m.part, m.sweeps = true, o.now, o.part, false
	if o.inside() && o.now < o.length {
		o.slices++
	}
	o.starts(m.group)
	if i := o.free(m); i >= 0 {
		o.occupy(m, i)
	} else {
		m.slot = -1
		o.waiting = append(o.waiting, m.g)
	}
	o.look()
}

// stopped reports whether a goroutine became ready because it was stopped, not because its own wait
// ended.
func stopped(w timeline.Wait) bool {
	return w == timeline.WaitPreempted || w == timeline.WaitYield || w == timeline.WaitRuntime
}

// free returns the slot that a goroutine takes (see slots.go), or −1 if there is none.
func (o *Observer) free(m *member) int32 {
	if i := m.slot; i >= 0 && int(i) < len(o.slots) && !o.slots[i].occupied && o.slots[i].g == m.g {
		return i
	}
	if o.empty == 0 {
		if o.procs > 0 || len(o.slots) >= maxSlots {
			return -1
		}
		o.addSlot() // GOMAXPROCS is not yet known
	}
	return o.gaps.first
}

// addSlot adds a slot that has been empty from the beginning.
func (o *Observer) addSlot() {
	o.slots = append(o.slots, slot{mark: mark{clocks: beginning}})
	o.empty++
	o.gaps.beginFirst(o.slots, int32(len(o.slots)-1))
}

const maxSlots = 1 << 14

// occupy ends the gap of a slot.
func (o *Observer) occupy(m *member, i int32) {
	s := &o.slots[i]
	o.turn()
	o.closeAll(m)
	o.close(s, m)
	o.gaps.end(o.slots, i)
	before := s.occupant()
	s.occupied, s.g, s.m = true, m.g, m
	if before != nil && before != m && o.rests(before) {
		o.rest(before)
	}
	o.empty--
	o.running++
	m.slot, m.since, m.part = i, o.now, o.part
}

// leave makes a goroutine stop running.
func (o *Observer) leave(m *member) {
	m.on = false
	o.stops(m.group)
	if m.slot >= 0 {
		o.vacate(m.slot)
	}
	o.look()
}

// vacate begins a gap, unless a running goroutine without a slot takes the slot.
func (o *Observer) vacate(i int32) {
	o.running--
	o.slots[i].occupied = false
	o.empty++
	o.beginGap(i)
	o.seat()
}

// beginGap begins the gap of a slot.
func (o *Observer) beginGap(i int32) {
	o.gaps.begin(o.slots, i, o.now)
	o.slots[i].locked = o.lockedTime
}

// seat gives empty slots to running goroutines without one.
func (o *Observer) seat() {
	for len(o.waiting) > 0 && o.empty > 0 {
		m := o.known(o.waiting[0])
		o.waiting = o.waiting[1:]
		if m != nil && m.on && m.slot < 0 {
			o.unbooked += o.now - m.since
			o.occupy(m, o.free(m))
		}
	}
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Label implements [timeline.Observer].
func (o *Observer) Label(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Region implements [timeline.Observer].
func (o *Observer) Region(e *timeline.Span) {
	if o.opt.Group != nil {
		o.regroup(e.G, e.Time)
	}
}

func (o *Observer) regroup(g *timeline.Goroutine, t timeline.Time) {
	o.advance(t)
	m := o.known(g)
	if m == nil {
		return
	}
	w, base := o.groupOf(g), baseOf(g)
	if w == m.group && base == m.base {
		return
	}
	if m.on {
		o.book(m, m.stack, false)
		o.stops(m.group)
		o.starts(w)
	}
	m.group, m.base = w, base
	o.look()
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Span) {
	o.advance(e.Time)
	if e.Name == timeline.MarkPhase && !e.Begin {
		o.heap.marked(o.within(e.Time) && !e.Stopped)
	}
	switch {
	case e.Name == assistRange:
		if m := o.known(e.G); m != nil {
			stack := e.Stack
			if !e.Begin {
				stack = o.assists[e.G]
			}
			o.bookIfOn(m, stack)
			m.inAssist = e.Begin
			if delete(o.assists, e.G); e.Begin {
				o.assists[e.G] = e.Stack
			}
		}
	case e.Name == sweepRange:
		if m := o.known(e.G); m != nil && m.on {
			o.book(m, nil, false)
			m.sweeps = e.Begin
		}
	case stopOf(e.Name) != 0:
		o.bookIfOn(o.known(e.G), e.Stack)
		o.stop, o.stopper = 0, nil
		if e.Begin {
			o.stop, o.stopper = stopOf(e.Name), e.G
			if o.stop == stopRuntime {
				o.stopped = e.Stack
			}
		}
		o.look()
	}
}

func (o *Observer) bookIfOn(m *member, stack *timeline.Stack) {
	if m != nil && m.on {
		o.book(m, stack, false)
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(t timeline.Time, name string, value uint64, stopped bool) {
	if name == heapMetric {
		o.heap.metric(value, o.within(t) && !stopped)
		return
	}
	if name != procsMetric {
		return
	}
	o.advance(t)
	n := int(min(value, maxSlots))
	if n == o.procs || n == 0 {
		return
	}
	first := o.procs == 0
	o.turn()
	if !first {
		o.closeAll(nil) // idle under another GOMAXPROCS
	}
	o.setProcs(n)
	o.resize(n, first)
}

// setProcs changes GOMAXPROCS from now on. The first value applies from the beginning.
func (o *Observer) setProcs(n int) {
	if o.procs > 0 {
		o.countCapacity()
	}
	o.procs, o.maxProcs, o.inverse = n, max(o.maxProcs, n), 1/float64(n)
}

// countCapacity counts the capacity up to now.
func (o *Observer) countCapacity() {
	o.capacity += int64(o.procs) * int64(o.now-o.procsSince)
	o.procsSince = o.now
}

// resize sets the number of slots to n. The first time, they exist from the beginning.
func (o *Observer) resize(n int, first bool) {
	for len(o.slots) < n {
		if first {
			o.addSlot()
			continue
		}
		o.slots = append(o.slots, slot{})
		o.empty++
		o.beginGap(int32(len(o.slots) - 1))
	}
	for len(o.slots) > n {
		i := int32(len(o.slots) - 1)
		s := &o.slots[i]
		if !s.occupied {
			o.close(s, nil)
			o.gaps.end(o.slots, i)
			o.slots = o.slots[:i]
			o.empty--
			continue
		}
		m := s.occupant()
		o.slots = o.slots[:i]
		o.running--
		if m == nil || !m.on || m.slot != i {
			continue // no longer runs
		}
		// The goroutine that runs there moves to a slot that remains.
		o.book(m, m.stack, false)
		m.slot = noSlot
		if k := o.free(m); k >= 0 {
			o.occupy(m, k)
		} else {
			o.waiting = append(o.waiting, m.g)
		}
	}
	o.seat()
}

// Sample implements [timeline.Observer].
func (o *Observer) Sample(t timeline.Time, g *timeline.Goroutine, stack *timeline.Stack) {
	o.advance(t)
	m := o.known(g)
	if m == nil || !m.on || !o.inside() || o.now >= o.length || stack == nil {
		return
	}
	if o.category(m) == catCode {
		o.rows.sample(m.group, stack)
	}
}

// Gap implements [timeline.Observer].
func (o *Observer) Gap(from, to timeline.Time) {
	o.advance(from)
	o.turn()
	o.closeAll(nil)
	for i := range o.slots {
		if s := &o.slots[i]; !s.occupied {
			o.close(s, nil)
			o.gaps.end(o.slots, int32(i))
			o.beginGap(int32(i))
		}
	}
	o.offset += to - from
	o.heap.size, o.heap.before = 0, 0
}

// End implements [timeline.Observer].
func (o *Observer) End(t timeline.Time) {
	o.advance(t)
	if o.procs == 0 {
		o.procs, o.maxProcs = len(o.slots), len(o.slots)
	}
	o.countCapacity()
	o.turn()
	o.closeAll(nil)
	for i := range o.slots {
		if s := &o.slots[i]; !s.occupied {
			o.close(s, nil)
		}
	}
	o.slots = nil
}

// Finish ends the pass at a time of the trace, while goroutines may still run, and returns its
// ledger.
func (o *Observer) Finish(t timeline.Time) *Ledger {
	o.advance(t)
	for m := range o.members.All() {
		if m.g != nil && m.on {
			o.book(m, m.stack, false)
			o.leave(m)
		}
	}
	o.End(t)
	return o.Ledger()
}

// Names of the runtime.
const (
	assistRange = "GC mark assist"
	sweepRange  = "GC incremental sweep"
	procsMetric = "/sched/gomaxprocs:threads"
)

func stopOf(name string) who {
	const stop = "stop-the-world ("
	if len(name) < len(stop) || name[:len(stop)] != stop {
		return 0
	}
	switch reason := name[len(stop):]; {
	case len(reason) > 2 && reason[:2] == "GC":
		return stopGC
	case reason == "start trace)" || reason == "stop trace)":
		return stopTracer
	}
	return stopRuntime
}
