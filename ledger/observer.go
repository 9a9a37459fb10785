package ledger

import (
	"context"
	"io"
	"math"
	"math/bits"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Options configures a ledger. The zero value is ready to use.
type Options struct {
	// From and To bound the ledger, from the beginning of the trace. To 0 is its end.
	From, To time.Duration
	// Name is what errors call the trace.
	Name string
	// Progress is told how many bytes of how many (−1 = not known) are done.
	Progress func(done, size int64)
	// MaxMemory bounds what the heap grows by during a pass, as in timeline.Options.
	MaxMemory int64
}

// ReadTrace reads an execution trace and returns its ledger. Of a trace that is cut off or broken, it
// returns the ledger of what could be read and an error, a *timeline.Error; the ledger is nil only
// if nothing could be read.
func ReadTrace(ctx context.Context, r io.Reader, opt Options) (*Ledger, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(ctx, r, timeline.Options{Name: opt.Name, Progress: opt.Progress, MaxMemory: opt.MaxMemory}, o)
	if info.Generations == 0 {
		return nil, err
	}
	return o.Ledger(), err
}

// Observer makes a ledger in a pass over a trace, together with other observers.
type Observer struct {
	timeline.Base
	opt Options

	begin, from, to timeline.Time // of the trace; of the ledger
	missed          timeline.Time // in gaps of a live trace
	now             timeline.Time // of the ledger: 0 until from, and at rest from to on

	procs, maxProcs int // GOMAXPROCS, 0 while it is not known
	capacity        int64
	slots           []slot
	empty           int // slots that nothing occupies
	unused          int // the first that may have been empty since the beginning
	members         []member
	waiting         []*timeline.Goroutine // that run and found no slot
	unbooked        timeline.Time         // of these

	marks     marks
	nobody    timeline.Time // for how long nothing has run that is not booked yet
	who       who           // runs now
	whoSince  timeline.Time // and is counted up to
	groups    map[string]who
	names     []string // of groups
	active    []int32  // by group: goroutines that run
	distinct  int      // groups that run
	xor       who      // of their numbers
	stop      who      // the world is stopped, 0 if not
	stopper   *timeline.Goroutine
	scratch   spells
	ready     int64 // goroutines
	running   int64 // with a slot
	queue     uint64
	carry     uint64
	queueArea int64
	queued    timeline.Time
	offered   []timeline.Time

	rows     rows
	births   births
	slices   int64
	heap     heap
	sweeping map[int32]bool // by P
	version  int
}

// member is a live goroutine.
type member struct {
	g     *timeline.Goroutine
	group who
	on    bool  // it runs
	slot  int32 // it has, or had; −1 if none
	proc  int32
	since timeline.Time // up to which its running is booked
	queue uint64        // the queue's clock then
	c     bool          // in C
	call  bool          // in a system call
	site  *timeline.Frame
	// assist is where it allocated.
	inAssist bool
	assist   *timeline.Frame

	isReady bool
	readyAt timeline.Time
	mark    int32 // set when it became ready, noMark if no slot was empty
	cause   cause
	born    bool // in the time of the ledger
}

// cause is why a goroutine became ready.
type cause struct {
	wait      timeline.Wait
	site      *timeline.Frame
	waker     who // 0 if none
	wakerSite *timeline.Frame
}

// births counts goroutines by when they were started, in intervals whose length doubles when there would be too many.
type births struct {
	count  [64]int64
	length timeline.Time // of an interval
	total  int64
	ended  int64
}

func (b *births) add(t timeline.Time) {
	if b.length == 0 {
		b.length = timeline.Time(time.Millisecond)
	}
	for t/b.length >= timeline.Time(len(b.count)) {
		for i := range len(b.count) / 2 {
			b.count[i] = b.count[2*i] + b.count[2*i+1]
		}
		clear(b.count[len(b.count)/2:])
		b.length *= 2
	}
	b.count[t/b.length]++
	b.total++
}

// late is how many were started in the intervals that begin in the second half.
func (b *births) late(end timeline.Time) (n int64) {
	for i, c := range b.count {
		if timeline.Time(i)*b.length >= end/2 {
			n += c
		}
	}
	return n
}

// NewObserver returns an observer for one pass.
func NewObserver(opt Options) *Observer {
	o := &Observer{opt: opt, groups: map[string]who{}, names: []string{Nobody, Several}, active: make([]int32, 2)}
	o.groups[others] = 2
	o.names, o.active = append(o.names, others), append(o.active, 0)
	return o
}

const otherGroups who = 2

// Begin implements [timeline.Observer].
func (o *Observer) Begin(b *timeline.Begin) {
	o.version = b.Version
	o.begin = b.Time
	o.from, o.to = 0, math.MaxInt64
	if o.opt.From > 0 {
		o.from = timeline.Time(o.opt.From)
	}
	if o.opt.To > 0 {
		o.to = max(o.from, timeline.Time(o.opt.To))
	}
	o.marks.init(0)
}

// advance moves the ledger's clock to a time of the trace.
func (o *Observer) advance(t timeline.Time) {
	t = min(max(t-o.begin-o.missed, o.from), o.to) - o.from
	dt := t - o.now
	if dt <= 0 {
		return
	}
	o.now = t
	if o.procs > 0 {
		o.capacity += int64(o.procs) * int64(dt)
	}
	if o.procs > 0 && o.empty == 0 && o.ready > 0 && o.running > 0 {
		o.queued += dt
		area := uint64(dt) * uint64(o.ready)
		o.queueArea += int64(area)
		// As in package bottle: every goroutine that runs gets the same part, so one clock counts for all.
		hi, lo := bits.Mul64(area, 1<<fracBits)
		lo, c := bits.Add64(lo, o.carry, 0)
		q, rem := bits.Div64((hi+c)%uint64(o.running), lo, uint64(o.running))
		o.queue += q
		o.carry = rem
	}
	n := int(min(o.running+o.ready, maxOffered))
	for n >= len(o.offered) {
		o.offered = append(o.offered, 0)
	}
	o.offered[n] += dt
}

const (
	fracBits   = 16
	maxOffered = 4096
)

// turn counts the time up to now for who ran, before that changes.
func (o *Observer) turn() {
	if o.now == o.whoSince {
		return
	}
	if o.who == nobody {
		o.nobody += o.now - o.whoSince
	} else {
		o.marks.all[o.marks.last].spells.add(o.who, o.now-o.whoSince)
	}
	o.whoSince = o.now
}

// starts counts a goroutine of a group that runs from now on, and stops one that no longer does.
func (o *Observer) starts(w who) {
	if o.active[w]++; o.active[w] == 1 {
		o.distinct++
		o.xor ^= w
	}
}

func (o *Observer) stops(w who) {
	if o.active[w]--; o.active[w] == 0 {
		o.distinct--
		o.xor ^= w
	}
}

// look finds out who runs from now on.
func (o *Observer) look() {
	w := several
	switch {
	case o.stop != 0:
		w = o.stop
	case o.distinct == 0:
		w = nobody
	case o.distinct == 1:
		w = o.xor
	}
	if w != o.who {
		o.turn()
		o.who = w
	}
}

// setMark sets a mark, of the gap of a slot if that is not −1.
func (o *Observer) setMark(slot int32) int32 {
	o.turn()
	return o.marks.set(o.now, slot)
}

func (o *Observer) removeMark(i int32) {
	o.turn()
	o.marks.remove(i)
}

// groupOf returns the number of the group that the goroutine belongs to now.
func (o *Observer) groupOf(g *timeline.Goroutine) who {
	name := g.Name()
	if g.Label != "" {
		name = g.Label
	}
	w, ok := o.groups[name]
	if !ok {
		if len(o.names) >= maxGroups {
			return otherGroups
		}
		w = who(len(o.names))
		o.groups[name] = w
		o.names, o.active = append(o.names, name), append(o.active, 0)
	}
	return w
}

const maxGroups = 1 << 16

func (o *Observer) member(g *timeline.Goroutine) *member {
	for g.Index >= len(o.members) {
		o.members = append(o.members, member{})
	}
	m := &o.members[g.Index]
	if m.g != g {
		*m = member{g: g, group: o.groupOf(g), slot: -1, mark: noMark}
	}
	return m
}

// known returns the goroutine if it was shown, else nil.
func (o *Observer) known(g *timeline.Goroutine) *member {
	if g == nil || g.Index >= len(o.members) || o.members[g.Index].g != g {
		return nil
	}
	return &o.members[g.Index]
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	o.advance(t.End)
	m := o.member(t.G)
	if t.State == timeline.NotExist && t.G.Kind == timeline.Application && o.inside() {
		o.births.add(o.now)
		m.born = true
	}
	if t.To == timeline.NotExist && m.born {
		o.births.ended++
	}
	runs := t.To.Runs()
	if m.on {
		end := m.site // of a system call, or C: where it was called
		if !m.call && !m.c {
			end = t.G.Stack().Site()
		}
		o.book(m, end)
		if !runs {
			o.leave(m)
		}
	}
	if !m.on && !m.isReady && (runs || t.To == timeline.Runnable) {
		m.cause = cause{wait: t.Wait, site: t.Stack.Site(), wakerSite: t.WakerStack.Site()}
		if w := o.known(t.Waker); w != nil {
			m.cause.waker = w.group
		}
		switch {
		case t.State == timeline.NotExist:
			m.cause.wait, m.cause.site = timeline.WaitCreated, t.G.CreatorStack.Site()
			m.cause.wakerSite = nil
			if w, ok := o.groups[t.G.CreatorFunc]; ok && t.G.CreatorID != 0 {
				m.cause.waker = w
			}
		case t.State == timeline.Running || t.State == timeline.Unknown:
			m.cause.wait, m.cause.site = t.G.Wait(), t.G.Stack().Site()
		}
		m.isReady, m.readyAt = true, o.now
		o.ready++
		if o.empty > 0 {
			m.mark = o.setMark(-1)
		}
	}
	if m.isReady && t.To != timeline.Runnable {
		m.isReady = false
		o.ready--
		if runs {
			o.enter(m, t.G.Proc())
		}
		if m.mark != noMark {
			o.removeMark(m.mark)
			m.mark = noMark
		}
	}
	m.call, m.c = t.To == timeline.Syscall, t.To.IsC()
	m.site = nil
	if m.call || m.c {
		m.site = t.G.Stack().Site()
	}
	if !t.To.Alive() {
		m.g = nil
	}
}

func (o *Observer) inside() bool { return o.now > 0 || o.from == 0 }

// within reports whether an instant of the trace is in the ledger.
func (o *Observer) within(t timeline.Time) bool {
	t -= o.begin + o.missed
	return o.from <= t && t < o.to
}

// enter has a goroutine run.
func (o *Observer) enter(m *member, proc int32) {
	m.on, m.since, m.queue, m.proc = true, o.now, o.queue, proc
	if o.inside() && o.now < o.to-o.from {
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

// stopped reports whether a goroutine became ready because it was stopped, not because a wait of its
// own ended.
func stopped(w timeline.Wait) bool {
	return w == timeline.WaitPreempted || w == timeline.WaitYield || w == timeline.WaitRuntime
}

// free returns the slot that a goroutine takes: see slots.go. It is −1 if there is none.
func (o *Observer) free(m *member) int32 {
	if i := m.slot; i >= 0 && int(i) < len(o.slots) && !o.slots[i].occupied && o.slots[i].g == m.g {
		return i
	}
	if o.empty == 0 {
		if o.procs > 0 || len(o.slots) >= maxSlots {
			return -1
		}
		o.slots = append(o.slots, slot{}) // GOMAXPROCS is not known yet
		o.empty++
		return int32(len(o.slots) - 1)
	}
	for o.unused < len(o.slots) {
		if s := &o.slots[o.unused]; !s.occupied && s.mark == 0 {
			return int32(o.unused)
		}
		o.unused++
	}
	return o.marks.oldestGap()
}

const maxSlots = 1 << 14

// occupy ends the gap of a slot.
func (o *Observer) occupy(m *member, i int32) {
	s := &o.slots[i]
	o.turn()
	o.closeAll(m)
	o.close(s, m)
	s.occupied, s.g = true, m.g
	o.empty--
	o.running++
	m.slot, m.since, m.queue = i, o.now, o.queue
}

// leave has a goroutine no longer run.
func (o *Observer) leave(m *member) {
	m.on = false
	o.stops(m.group)
	if m.slot >= 0 {
		o.vacate(m.slot)
	}
	o.look()
}

// vacate begins a gap, unless a goroutine runs that found no slot.
func (o *Observer) vacate(i int32) {
	o.running--
	s := &o.slots[i]
	s.occupied = false
	o.empty++
	s.mark = o.setMark(i)
	for len(o.waiting) > 0 {
		m := o.known(o.waiting[0])
		o.waiting = o.waiting[1:]
		if m != nil && m.on && m.slot < 0 {
			o.unbooked += o.now - m.since
			o.occupy(m, i)
			return
		}
	}
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Label implements [timeline.Observer].
func (o *Observer) Label(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

func (o *Observer) regroup(g *timeline.Goroutine, t timeline.Time) {
	o.advance(t)
	m := o.known(g)
	if m == nil {
		return
	}
	w := o.groupOf(g)
	if w == m.group {
		return
	}
	if m.on {
		o.book(m, m.site)
		o.stops(m.group)
		o.starts(w)
	}
	m.group = w
	o.look()
}

// Range implements [timeline.Observer].
func (o *Observer) Range(e *timeline.Range) {
	o.advance(e.Time)
	if e.Name == markRange && !e.Begin {
		o.heap.marked(o.within(e.Time))
	}
	switch {
	case e.Name == assistRange:
		if m := o.known(e.G); m != nil {
			site := e.Stack.Site()
			if !e.Begin {
				site = m.assist
			}
			o.bookIfOn(m, site)
			m.inAssist, m.assist = e.Begin, nil
			if e.Begin {
				m.assist = e.Stack.Site()
			}
		}
	case e.Name == sweepRange:
		o.bookIfOn(o.known(e.G), nil)
		if e.Begin {
			if o.sweeping == nil {
				o.sweeping = map[int32]bool{}
			}
			o.sweeping[e.Proc] = true
		} else {
			delete(o.sweeping, e.Proc)
		}
	case stopOf(e.Name) != 0:
		o.bookIfOn(o.known(e.G), nil)
		o.stop, o.stopper = 0, nil
		if e.Begin {
			o.stop, o.stopper = stopOf(e.Name), e.G
		}
		o.look()
	}
}

func (o *Observer) bookIfOn(m *member, site *timeline.Frame) {
	if m != nil && m.on {
		o.book(m, site)
	}
}

// Metric implements [timeline.Observer].
func (o *Observer) Metric(e *timeline.Metric) {
	if e.Name == heapMetric {
		o.heap.metric(e, o.within(e.Time))
		return
	}
	if e.Name != procsMetric {
		return
	}
	o.advance(e.Time)
	n := int(min(e.Value, maxSlots))
	if n == o.procs || n == 0 {
		return
	}
	first := o.procs == 0
	if first {
		o.capacity = int64(n) * int64(o.now) // it has been n from the beginning
	}
	o.turn()
	if !first {
		o.closeAll(nil) // it was idle with another GOMAXPROCS
	}
	o.procs, o.maxProcs = n, max(o.maxProcs, n)
	o.resize(n, first)
}

// resize makes the slots n. The first time, they have been there from the beginning.
func (o *Observer) resize(n int, first bool) {
	o.turn()
	for len(o.slots) < n {
		s := slot{}
		if !first {
			s.mark = o.setMark(int32(len(o.slots)))
		}
		o.slots = append(o.slots, s)
		o.empty++
	}
	o.unused = min(o.unused, n)
	for len(o.slots) > n {
		i := len(o.slots) - 1
		s := &o.slots[i]
		if !s.occupied {
			o.close(s, nil)
			o.slots = o.slots[:i]
			o.empty--
			continue
		}
		// What runs there takes a slot that stays.
		for j := range o.members {
			m := &o.members[j]
			if m.g == nil || !m.on || int(m.slot) != i {
				continue
			}
			o.book(m, m.site)
			o.slots = o.slots[:i]
			o.running--
			m.slot = -1
			if k := o.free(m); k >= 0 {
				o.occupy(m, k)
			} else {
				o.waiting = append(o.waiting, m.g)
			}
			break
		}
		if len(o.slots) > i { // nothing does
			o.slots = o.slots[:i]
			o.running--
		}
	}
	for len(o.waiting) > 0 && o.empty > 0 {
		m := o.known(o.waiting[0])
		o.waiting = o.waiting[1:]
		if m != nil && m.on && m.slot < 0 {
			o.unbooked += o.now - m.since
			o.occupy(m, o.free(m))
		}
	}
}

// Sample implements [timeline.Observer].
func (o *Observer) Sample(s *timeline.Sample) {
	o.advance(s.Time)
	m := o.known(s.G)
	if m == nil || !m.on || !o.inside() || o.now >= o.to-o.from || s.Stack == nil {
		return
	}
	if o.categoryOf(m) == Code {
		o.rows.sample(m.group, s.Stack.Site())
	}
}

// Gap implements [timeline.Observer].
func (o *Observer) Gap(g *timeline.Gap) {
	o.advance(g.From)
	o.turn()
	o.closeAll(nil)
	for i := range o.slots {
		if s := &o.slots[i]; !s.occupied {
			o.close(s, nil)
			s.mark = o.setMark(int32(i))
		}
	}
	o.missed += g.To - g.From
	o.heap.size, o.heap.before = 0, 0
}

// End implements [timeline.Observer].
func (o *Observer) End(e *timeline.End) {
	o.advance(e.Time)
	if o.procs == 0 {
		o.turn()
		o.procs, o.maxProcs = len(o.slots), len(o.slots)
		o.capacity = int64(len(o.slots)) * int64(o.now)
	}
	o.turn()
	o.closeAll(nil)
	for i := range o.slots {
		if s := &o.slots[i]; !s.occupied {
			o.close(s, nil)
		}
	}
	o.slots = nil
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
