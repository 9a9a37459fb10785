package timeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// The replay is the one state machine behind every analysis. It takes the
// generations in order and, for each:
//
//  1. Finds or makes the goroutine behind every local number. A goroutine that
//     nothing is known of yet was in the state of its status for as long as
//     the generation lasts: statuses are written lazily, just before the
//     first event of a goroutine, so nothing happened to it before. In the first
//     generation these are the states at the first instant of the trace.
//  2. Gives names to those that the generation can name, before any interval is shown.
//  3. Walks the records: each ends an interval of one goroutine and begins the next.
//     A system call keeps its P until that P goes idle; then the interval is
//     split into one with and one without P.
//  4. Carries what is open (states, block stacks, ranges, regions, tasks) into
//     the next generation. Its statuses repeat what is known; they change nothing.
//
// At the end every living goroutine leaves for Unknown.

const assistRange = "GC mark assist"

// replay holds what is carried between generations: it grows with the live
// goroutines, open tasks and ranges, not with the events.
type replay struct {
	observers []Observer
	version   int
	stacks    *stackTable

	gomaxprocs uint64 // as told last
	now        Time
	begun      bool
	origin     Time       // when the trace begins, if that is not when the replay does; else 0
	from       Time       // when the observers join; far away if they have
	joining    []Observer // who then do
	gs         map[int64]*Goroutine
	kept       map[int64]*Goroutine // those that lived before a gap, until the generation after it was shown
	indexes    []int                // free Goroutine.Index values
	nextIdx    int
	sysProc    map[int32]*Goroutine // by P: the goroutine in a system call that holds it
	procs      []*Goroutine         // the same, for small numbers of P
	detached   detached             // goroutines in C without a P
	renamed    renamed
	unplaced   Time // in system calls without a call chain
	tasks      map[uint64]openTask
	open       map[rangeKey]Time // ranges that belong to no goroutine
	naming

	local   []*Goroutine // by local number of the generation at hand
	reasons []reasonKind // likewise
	d       *decoded
	// What is shown next, kept here so that showing it allocates nothing.
	tr          Transition
	shownRange  Range
	shownMetric Metric

	info Info

	gate    *gate  // stops the clock; nil if there is no such
	skipped Time   // for which it stood still
	until   Time   // what happened later is left out, if it is not 0
	breathe func() // is called again and again, if it is not nil

	meter   *memory.Meter
	relieve func()       // gives back the memory of what comes next, if it is not nil
	full    *memoryError // why the replay stopped in the middle of a generation
}

// pause is called when so many records, or goroutines, were looked at, and reports whether memory
// came to the limit.
func (r *replay) pause(n int) bool {
	if r.breathe != nil {
		r.breathe()
	}
	return n&(1<<11-1) == 0 && r.exceeded()
}

// exceeded looks whether memory comes to the limit, and notes it.
func (r *replay) exceeded() bool {
	if !r.meter.Exceeded() {
		return false
	}
	if r.relieve != nil {
		r.relieve()
		r.relieve = nil
		if !r.meter.Exceeded() {
			return false
		}
	}
	r.full = &memoryError{limit: r.meter.Limit(), holds: fmt.Sprintf("the analyses of %s at the same time, %s and %s need more",
		format.Plural(len(r.gs), "goroutine", "goroutines"), format.Plural(r.stacks.count(), "call chain", "call chains"), format.Plural(len(r.tasks), "open task", "open tasks"))}
	return true
}

type openTask struct {
	typ    string
	parent uint64
	start  Time
}

type rangeKey struct {
	name string
	proc int32 // −1 for global
}

func newReplay(version int, stacks *stackTable, observers []Observer) *replay {
	return &replay{
		observers: observers,
		from:      never,
		version:   version,
		stacks:    stacks,
		gs:        map[int64]*Goroutine{},
		sysProc:   map[int32]*Goroutine{},
		tasks:     map[uint64]openTask{},
		open:      map[rangeKey]Time{},
		naming:    newNaming(),
	}
}

// generation replays one generation. upTo bounds its times when it is not 0.
func (r *replay) generation(d *decoded) {
	if len(d.gs) == 0 && len(d.chunks) == 0 {
		return
	}
	start := d.base
	if d.hasReal {
		start = d.firstReal
	}
	if r.until != 0 {
		start = min(start, r.until)
	}
	if !r.begun {
		if r.origin != 0 {
			r.begin(min(r.origin, start))
		} else {
			r.begin(start)
		}
		r.now = start
	}
	r.d = d
	if d.instead != nil {
		r.note(fmt.Sprintf("The fast decoder could not read a part of the trace (%v). The one of golang.org/x/exp/trace read it: the results are those of that, reading takes longer.", d.instead))
	}
	if d.hasReal {
		r.advance(start)
	}
	if r.now >= r.from {
		r.join(r.now)
	}
	if r.enter(r.now); r.full != nil {
		return
	}
	t, from := d.base, r.from
replaying:
	for records := range d.all() {
		for i := range records {
			if i&(1<<6-1) == 0 && r.pause(i) {
				return
			}
			rec := &records[i]
			t += Time(rec.head >> 8)
			if t > r.until && r.until != 0 {
				break replaying
			}
			if t >= from {
				r.join(t)
				from = never
			}
			switch code := uint8(rec.head); code {
			default:
				r.step(rec, r.tick(t))
			case codeProcIdle:
				if rec.x == 1 { // a status
					r.procIdle(rec.g, r.now)
				} else {
					r.procIdle(rec.g, r.tick(t))
				}
			case codeSkip:
				t += Time(int64(uint32(rec.x)) | int64(rec.y)<<32)
			case codeRangeBegin, codeRangeEnd:
				r.rangeEvent(rec, code == codeRangeBegin, r.tick(t))
			case codeRangeActive:
				r.rangeEvent(rec, true, r.now) // a status: its time says nothing
			case codeMetric:
				r.metric(rec, r.tick(t))
			case codeAux:
				r.aux(&d.aux[rec.g], t)
			}
		}
	}
	r.info.Events += int64(d.events)
	r.info.Generations++
	if d.hasReal {
		if r.until != 0 && (d.past || d.lastReal > r.until) {
			d.lastReal = r.until
		}
		r.advance(d.lastReal) // a P may have come or gone last
		r.info.End = max(r.info.End, r.now)
	}
	r.d = nil
}

// note adds a sentence to the notes of the pass, once.
func (r *replay) note(s string) {
	if !slices.Contains(r.info.Notes, s) {
		r.info.Notes = append(r.info.Notes, s)
	}
}

// tick moves the clock of the pass to t. Generations hardly overlap, as their real events are
// behind barriers in the runtime; but a thread that the operating system took off its core while it
// wrote the last event of a generation can be milliseconds late, and what the others did during
// that time belongs to the next one.
func (r *replay) tick(t Time) Time {
	if t-r.skipped < r.now {
		r.info.Reordered++
		return r.now
	}
	return r.advance(t)
}

// advance moves the clock to t, unless it is later already. The time for which it stands still is
// left out.
func (r *replay) advance(t Time) Time {
	if t -= r.skipped; t > r.now {
		if r.gate.stopped() {
			r.skipped += t - r.now
		} else {
			r.now = t
		}
	}
	return r.now
}

func (r *replay) begin(t Time) {
	r.begun, r.now = true, t
	r.info.Start, r.info.End = t, t
	b := &Begin{Time: t, Version: r.version}
	for _, o := range r.observers {
		o.Begin(b)
	}
}

// enter does steps 1 and 2 for a generation that begins at t.
func (r *replay) enter(t Time) {
	d := r.d
	r.local = slices.Grow(r.local[:0], len(d.gs))[:len(d.gs)]
	clear(r.local)
	r.reasonKinds()
	for i := range d.gs {
		r.local[i] = r.gs[d.gs[i].id]
	}
	r.prepareNames()
	for i := range d.gs {
		if i&(1<<6-1) == 1<<6-1 && r.pause(i+1) {
			return
		}
		l := &d.gs[i]
		if g := r.local[i]; g != nil {
			if before := g.Name(); r.baptise(g, l) {
				r.renamed.add(g, before, t)
				for _, o := range r.observers {
					o.Named(g, t)
				}
			}
			continue
		}
		if l.status == Unknown {
			continue // born later in this generation, or only mentioned
		}
		r.local[i] = r.appear(int32(i), t)
	}
	for _, i := range slices.Sorted(maps.Keys(r.firsts)) {
		if g := r.local[i]; g != nil {
			r.turn(g, r.firsts[i], t)
		}
	}
}

// appear makes a goroutine that existed before the trace, or before anything was known of it.
func (r *replay) appear(i int32, t Time) *Goroutine {
	l := &r.d.gs[i]
	g := r.add(l.id)
	g.cur.since = t
	r.recall(g)
	r.baptise(g, l)
	r.first(g, i)
	stack := r.stackAt(l.stack)
	cur := interval{state: l.status, since: t, proc: -1, thread: -1}
	switch l.status {
	case Waiting:
		cur.wait, cur.stack = WaitOther, stack
		if stack != nil {
			cur.wait, cur.stack = stack.parked, stack.block
		}
		if cur.wait == WaitOther && g.Kind != Application {
			cur.wait = WaitRuntime // system goroutines park for reasons of their own
		}
	case Runnable:
		cur.wait = WaitOther
	case Running:
		cur.thread, cur.proc = r.threadAt(l.thread), l.proc
	case Syscall:
		cur.wait, cur.stack = WaitSyscall, stack
		g.ofC = g.ofC || g.Start == callback
		cur.thread, cur.proc = r.threadAt(l.thread), l.proc
		if r.version < firstGenerational {
			cur.proc = -1 // told with the P of the teller; the world was stopped, so the call has none
		}
		r.placeSyscall(g, &cur)
	}
	if l.assist {
		g.others().ranges = []openRange{{assistRange, t}}
	}
	r.change(g, &cur, nil, nil)
	if l.assist {
		r.showRange(&Range{Time: t, Start: t, Name: assistRange, Begin: true, Scope: ScopeGoroutine, G: g, Proc: -1})
	}
	return g
}

// add makes a goroutine in the state Unknown.
func (r *replay) add(id int64) *Goroutine {
	g := &Goroutine{ID: id}
	if n := len(r.indexes); n > 0 {
		g.Index = r.indexes[n-1]
		r.indexes = r.indexes[:n-1]
	} else {
		g.Index = r.nextIdx
		r.nextIdx++
	}
	g.cur = interval{since: r.now, proc: -1, thread: -1}
	r.gs[id] = g
	r.info.Goroutines++
	r.info.MaxLive = max(r.info.MaxLive, len(r.gs))
	return g
}

// change ends the interval of g and begins cur. Whether a goroutine that is in C without a P counts
// as running is decided here: see c.go.
func (r *replay) change(g *Goroutine, cur *interval, waker *Goroutine, wakerStack *Stack) {
	was, is := g.cur.state, cur.state
	if was.OnProc() {
		r.detached.onProc--
	}
	if is.OnProc() {
		r.detached.onProc++
	}
	if was.detached() {
		r.detached.remove(g)
	}
	if is.detached() {
		cur.state = r.enterDetached(g)
	}
	r.show(g, cur, waker, wakerStack)
	if r.detached.n > 0 && is != Unknown {
		r.balance(cur.since)
	}
}

// show ends the interval of g and begins cur.
func (r *replay) show(g *Goroutine, cur *interval, waker *Goroutine, wakerStack *Stack) {
	old := &g.cur
	tr := &r.tr
	tr.G = g
	tr.State, tr.Start, tr.End = old.state, old.since, cur.since
	tr.Wait, tr.Reason, tr.Stack = old.wait, old.reason, old.stack
	tr.Thread, tr.Proc = old.thread, old.proc
	tr.Waker, tr.WakerStack = waker, wakerStack
	tr.To = cur.state
	g.cur = *cur
	if tr.Stack == nil && tr.Wait == WaitSyscall && tr.State != Runnable {
		r.unplaced += tr.End - tr.Start
	}
	if tr.State.IsC() {
		r.info.InC += tr.End - tr.Start
		if !g.wasInC {
			g.wasInC = true
			r.info.GoroutinesInC++
		}
	}
	for _, o := range r.observers {
		o.Transition(tr)
	}
}

// step replays one transition of a goroutine.
func (r *replay) step(rec *record, t Time) {
	from, to := stepStates(uint8(rec.head))
	g := r.local[rec.g]
	if from == NotExist || g == nil {
		g = r.birth(rec, t, from == NotExist)
	}
	old := &g.cur
	if old.state != from && !(from == Syscall && old.state.inSyscall()) {
		r.info.Inconsistent++
	}
	cur := interval{state: to, since: t, proc: -1, thread: -1}
	var waker *Goroutine
	var wakerStack *Stack
	switch to {
	case Running:
		cur.thread, cur.proc = r.threadAt(rec.x), rec.y
		if r.tracked != nil && r.tracked[rec.g] != 0 {
			r.turn(g, r.next[r.turned], t)
			r.turned++
		}
	case Runnable:
		switch from {
		case Waiting:
			if old.wait != WaitNetwork && old.wait != WaitSleep { // else whoever happened to poll
				waker, wakerStack = r.localAt(rec.x), r.stackAt(rec.y)
			}
			cur.wait, cur.stack = old.wait, old.stack
		case Running:
			cur.wait, cur.stack = WaitOther, r.stackAt(rec.y)
			if rec.x >= 0 {
				cur.reason, cur.wait = r.d.reasons[rec.x], r.reasons[rec.x].stop
			}
		case NotExist:
			cur.wait = WaitCreated
			waker, wakerStack = r.localAt(rec.x), r.stackAt(rec.y)
		default:
			cur.wait, cur.stack = WaitSyscall, old.stack
			if old.wait == WaitC || old.wait == WaitCThread {
				cur.wait = old.wait
			}
		}
	case Waiting:
		if from == Running {
			cur.reason, cur.wait, cur.stack = r.block(rec)
		} else {
			cur.wait = WaitCoroutine // born blocked
			waker, wakerStack = r.localAt(rec.x), r.stackAt(rec.y)
		}
	case Syscall:
		r.enterSyscall(rec, from, g, &cur)
	}
	if old.state == Syscall || old.state == InC {
		r.dropProc(old.proc, g)
	}
	if cur.stack != nil && cur.stack.fromC {
		g.ofC = true
	}
	if g.Label != "" && (to == Waiting || to == NotExist) {
		r.label(g, "", t)
	}
	r.change(g, &cur, waker, wakerStack)
	if to == NotExist {
		r.exit(rec.g, g)
	}
}

// reasonKind is what a reason of the generation says by itself.
type reasonKind struct {
	block, stop Wait
	byStack     bool // the call chain says more
}

// reasonKinds classifies the reasons of a generation, once each.
func (r *replay) reasonKinds() {
	r.reasons = r.reasons[:0]
	for _, reason := range r.d.reasons {
		k := reasonKind{block: waitOf(reason, nil), stop: waitOfStop(reason)}
		k.byStack = reason == "sync" || reason == "select" || reason == "chan send"
		if k.block == WaitCoroutine && r.version < 23 {
			k.block = WaitOther // coroutine switches came with Go 1.23
		}
		r.reasons = append(r.reasons, k)
	}
}

// block returns the reason and the wait of a goroutine that blocks.
func (r *replay) block(rec *record) (reason string, w Wait, s *Stack) {
	s = r.stackAt(rec.y)
	if rec.x < 0 {
		return "", WaitOther, s
	}
	k := &r.reasons[rec.x]
	reason = r.d.reasons[rec.x]
	if k.byStack {
		return reason, s.blockWait(reason), s
	}
	return reason, k.block, s
}

func (r *replay) enterSyscall(rec *record, from State, g *Goroutine, cur *interval) {
	cur.wait = WaitSyscall
	if from == Running {
		cur.thread, cur.proc, cur.stack = g.cur.thread, g.cur.proc, r.stackAt(rec.y)
	} else {
		cur.thread, cur.proc = r.threadAt(rec.x), rec.y
	}
	r.placeSyscall(g, cur)
}

// birth makes the goroutine of a creation event; or one that an event names
// though nothing told of it before, which a well-formed trace has not.
func (r *replay) birth(rec *record, t Time, created bool) *Goroutine {
	l := &r.d.gs[rec.g]
	if old := r.gs[l.id]; old != nil {
		r.info.Inconsistent++
		r.local[rec.g] = old
		return old
	}
	g := r.add(l.id)
	r.local[rec.g] = g
	r.baptise(g, l)
	r.first(g, rec.g)
	g.cur.since = t
	if !created {
		r.info.Inconsistent++
		return g
	}
	g.cur.state = NotExist
	if _, to := stepStates(uint8(rec.head)); to == Syscall {
		g.ofC = true
		return g // a thread that C created
	}
	g.CreatorStack = r.stackAt(rec.y)
	if by := r.localAt(rec.x); by != nil {
		g.CreatorID, g.CreatorFunc = by.ID, by.Func
		g.Task = by.UserTask()
	}
	return g
}

func (r *replay) exit(local int32, g *Goroutine) {
	r.gate.exits(g)
	delete(r.gs, g.ID)
	r.local[local] = nil
	r.indexes = append(r.indexes, g.Index)
}

// label sets the label of a goroutine. The runtime labels what runs next on the processor of a mark
// worker that was stopped, too, which may be a goroutine of the program.
func (r *replay) label(g *Goroutine, label string, t Time) {
	if label != "" && g.start != nil && g.Kind != GC {
		return
	}
	g.Label = label
	for _, o := range r.observers {
		o.Label(g, t)
	}
}

func (r *replay) localAt(i int32) *Goroutine {
	if i < 0 {
		return nil
	}
	return r.local[i]
}

func (r *replay) stackAt(i int32) *Stack {
	if i < 0 {
		return nil
	}
	return r.d.stacks[i]
}

func (r *replay) threadAt(i int32) int64 {
	if i < 0 {
		return -1
	}
	return r.d.threads[i]
}

// end closes everything that is open.
func (r *replay) end() {
	if !r.begun {
		return
	}
	if r.from != never {
		r.join(r.now)
	}
	for _, g := range r.living() {
		r.change(g, &interval{since: r.now, proc: -1, thread: -1}, nil, nil)
	}
	if note := r.info.NoteC(); note != "" {
		r.info.Notes = append(r.info.Notes, note)
	}
	if note := r.noteUnplaced(); note != "" {
		r.info.Notes = append(r.info.Notes, note)
	}
	if r.gate != nil {
		r.info.Notes = append(r.info.Notes, r.gate.note(r.now-r.info.Start, r.skipped))
	}
	if note := r.renamed.note(r.info.Start); note != "" {
		r.info.Notes = append(r.info.Notes, note)
	}
	e := &End{Time: r.now}
	for _, o := range r.observers {
		o.End(e)
	}
}

// Who holds which P matters in system calls: a goroutine keeps its P there until somebody takes it.

// procIdle: the goroutine that held P in a system call, if any, lost it.
func (r *replay) procIdle(p int32, t Time) {
	g := r.holder(p)
	if g == nil {
		return
	}
	r.dropProc(p, g)
	cur := g.cur
	cur.state = withoutProc(cur.state)
	cur.since, cur.proc = t, -1
	r.change(g, &cur, nil, nil)
}

// placeSyscall puts a goroutine that enters a system call, or C, into the state that it has there.
func (r *replay) placeSyscall(g *Goroutine, cur *interval) {
	switch {
	case cur.stack != nil && cur.stack.inC:
		cur.state, cur.wait = InC, WaitC
	case cur.stack == nil && g.ofC:
		cur.wait = WaitCThread
	}
	if cur.proc < 0 {
		cur.state = withoutProc(cur.state)
	} else {
		r.holdProc(cur.proc, g)
	}
}

// withoutProc returns the state in which a goroutine is that was in s, a system call or C, when its
// P is taken.
func withoutProc(s State) State {
	if s == InC {
		return InCDetached
	}
	return SyscallBlocked
}

// inSyscall reports whether the state is a system call to the runtime.
func (s State) inSyscall() bool { return s == Syscall || s == SyscallBlocked || s.IsC() }

const smallProcs = 1024

func (r *replay) holdProc(p int32, g *Goroutine) {
	switch {
	case p < 0:
	case p < smallProcs:
		for int(p) >= len(r.procs) {
			r.procs = append(r.procs, nil)
		}
		r.procs[p] = g
	default:
		r.sysProc[p] = g
	}
}

func (r *replay) holder(p int32) *Goroutine {
	switch {
	case p < 0:
		return nil
	case int(p) < len(r.procs):
		return r.procs[p]
	case p < smallProcs:
		return nil
	}
	return r.sysProc[p]
}

func (r *replay) dropProc(p int32, g *Goroutine) {
	if r.holder(p) != g {
		return
	}
	if p < smallProcs {
		r.procs[p] = nil
	} else {
		delete(r.sysProc, p)
	}
}

// gap shows that generations are missing before d, or that there was no trace for a while: whatever
// lives leaves for Unknown now, and comes back as far as d tells of it.
func (r *replay) gap(d *decoded, g *Gap) {
	to := d.base
	if d.hasReal {
		to = d.firstReal
	}
	g.From, g.To = r.now, max(r.now, to)
	r.leave()
	r.now = g.To
	for _, o := range r.observers {
		o.Gap(g)
	}
}

// leave shows that whatever lives leaves for Unknown.
func (r *replay) leave() {
	live := r.living()
	for _, lg := range live {
		r.change(lg, &interval{since: r.now, proc: -1, thread: -1}, nil, nil)
	}
	r.kept = r.gs
	r.gs = make(map[int64]*Goroutine, len(live))
	r.indexes, r.nextIdx = nil, 0
	r.sysProc, r.procs = map[int32]*Goroutine{}, nil
	r.tasks = map[uint64]openTask{}
	r.open = map[rangeKey]Time{}
}

// forget gives back the memory of what lives: a generation could not be read to its end without
// more.
func (r *replay) forget() {
	r.leave()
	r.full, r.kept, r.d = nil, nil, nil
	r.gs = map[int64]*Goroutine{}
	r.forgetStacks()
}

// ofGoroutine is about how many bytes the replay and all analyses keep for a live goroutine.
const ofGoroutine = 2048

// living returns the living goroutines in the order of their ids.
func (r *replay) living() []*Goroutine {
	live := make([]*Goroutine, 0, len(r.gs))
	for _, g := range r.gs {
		live = append(live, g)
	}
	sortByID(live)
	return live
}

// recall gives a goroutine that was known before a gap its name and creator again.
func (r *replay) recall(g *Goroutine) {
	k := r.kept[g.ID]
	if k == nil {
		return
	}
	r.info.Goroutines-- // it was counted already
	g.Func, g.Start, g.Kind = k.Func, k.Start, k.Kind
	g.start, g.root, g.site, g.named, g.varies = k.start, k.root, k.site, k.named, k.varies
	if k.rare != nil {
		g.others().launcher = k.rare.launcher
	}
	g.CreatorID, g.CreatorFunc, g.CreatorStack, g.Task = k.CreatorID, k.CreatorFunc, k.CreatorStack, k.Task
}

// What a pass that never ends may carry from generation to generation besides what lives.
const (
	maxStreamStacks = 1 << 16
	maxStreamTasks  = 1 << 16
)

// bound forgets what would grow for ever: call chains that are many, and tasks that never end.
// Equal call chains are then not the same pointers as before.
func (r *replay) bound() {
	if r.stacks.size() > maxStreamStacks {
		r.forgetStacks()
	}
	if r.meter != nil && int64(len(r.gs)) > r.meter.Limit()/ofGoroutine {
		r.forget()
	}
	if len(r.tasks) > maxStreamTasks {
		r.tasks = map[uint64]openTask{}
	}
}

func (r *replay) forgetStacks() {
	r.stacks = newStackTable()
	number := r.number // old start functions remember it
	r.naming = newNaming()
	r.number = number
}

// size is about how many call chains or frames there are.
func (t *stackTable) size() int { return max(len(t.stacks), (len(t.frames)+len(t.others))/4) }
