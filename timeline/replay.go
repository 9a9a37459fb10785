package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// The replay is the state machine behind every analysis. For each generation, in order, it
//
//  1. Finds or creates the goroutine of every local number. A goroutine seen for the first time was
//     in the state of its status since the beginning of the generation: the runtime writes statuses
//     lazily, just before the first event of a goroutine.
//  2. Names the goroutines that the generation can name, before any interval is shown.
//  3. Replays the records: each ends an interval of one goroutine and begins the next. A system
//     call keeps its P until that P goes idle; then the interval is split into one with and one
//     without P.
//  4. Carries open state (states, block stacks, ranges, regions, tasks) into the next generation,
//     whose statuses repeat known states and change nothing.
//
// At the end, every live goroutine changes to Unknown.

const assistRange = "GC mark assist"

// replay is the state that is carried between generations. It grows with the live goroutines and
// the open tasks and ranges, not with the events.
type replay struct {
	observers []Observer
	version   int
	stacks    *stackTable

	gomaxprocs uint64 // the latest value in the trace
	now        Time
	begun      bool
	origin     Time       // beginning of the trace, if before that of the replay; else 0
	from       Time       // time at which the joining observers are attached; never once they are
	joining    []Observer // observers to attach at from
	gs         byID       // the live goroutines
	live       int        // their number
	// kept holds the goroutines that were live before a gap, until the next generation was
	// shown.
	kept     byID
	indexes  []int // free Goroutine.Index values
	nextIdx  int
	procs    []*Goroutine // by P: the goroutine in a system call that holds it
	detached detached     // goroutines in C without a P
	renamed  renamed
	creators [64]*Creator // the latest ones, by the ID of the goroutine
	unplaced Time         // in system calls without a call chain
	tasks    map[uint64]openTask
	open     []openRange // ranges that belong to no goroutine
	naming

	local   []*Goroutine // by local number of the current generation
	reasons []reasonKind // by local number of the reason
	d       *decoded
	// Arguments of observers, kept here to avoid allocations.
	tr   Transition
	span Span

	info Info

	gate    *gate  // stops the clock; may be nil
	skipped Time   // time for which the clock was stopped
	until   Time   // later events are dropped; 0 = no limit
	breathe func() // called periodically if not nil

	meter   *memory.Meter
	relieve func()       // releases the memory of prefetched generations; may be nil
	full    *memoryError // why the replay stopped in the middle of a generation
}

// pause is called after each batch of records or goroutines, n in total. It reports whether the
// memory limit is exceeded.
func (r *replay) pause(n int) bool {
	if r.breathe != nil {
		r.breathe()
	}
	return n&(1<<11-1) == 0 && r.exceeded()
}

// exceeded reports whether the memory limit is exceeded, and records that in r.full.
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
		format.Plural(r.live, "goroutine", "goroutines"), format.Plural(r.stacks.count(), "call chain", "call chains"), format.Plural(len(r.tasks), "open task", "open tasks"))}
	return true
}

// byID holds goroutines by ID. Those with neighboring IDs, which a trace tends to show one after the
// other, share a page: a map of a million single goroutines misses the processor's caches at each
// access. The zero value is empty.
type byID struct {
	pages  map[int64]*page // by page.key
	recent [64]*page
	unused []*page
}

// page holds the goroutines with ID>>pageBits = key.
type page struct {
	key int64
	n   int
	gs  [pageSize]*Goroutine
}

const (
	pageBits = 4 // a processor reserves as many IDs at once
	pageSize = 1 << pageBits
)

// page returns the page of an ID, or nil.
func (t *byID) page(id int64) *page {
	key := id >> pageBits
	r := &t.recent[uint64(key)%uint64(len(t.recent))]
	if *r == nil || (*r).key != key {
		*r = t.pages[key]
	}
	return *r
}

// at returns the goroutine with an ID, or nil.
func (t *byID) at(id int64) *Goroutine {
	if p := t.page(id); p != nil {
		return p.gs[id&(pageSize-1)]
	}
	return nil
}

// add adds a goroutine whose ID is new.
func (t *byID) add(g *Goroutine) {
	p := t.page(g.ID)
	if p == nil {
		if n := len(t.unused); n > 0 {
			p, t.unused = t.unused[n-1], t.unused[:n-1]
		} else {
			p = new(page)
		}
		if t.pages == nil {
			t.pages = map[int64]*page{}
		}
		p.key = g.ID >> pageBits
		t.pages[p.key] = p
	}
	p.gs[g.ID&(pageSize-1)] = g
	p.n++
}

// remove removes the goroutine with an ID, if there is one.
func (t *byID) remove(id int64) {
	p := t.page(id)
	if p == nil || p.gs[id&(pageSize-1)] == nil {
		return
	}
	p.gs[id&(pageSize-1)] = nil
	if p.n--; p.n == 0 {
		delete(t.pages, p.key)
		t.recent[uint64(p.key)%uint64(len(t.recent))] = nil
		t.unused = append(t.unused, p)
	}
}

// all calls yield for the goroutines, in no particular order.
func (t *byID) all(yield func(*Goroutine) bool) {
	for _, p := range t.pages {
		for _, g := range p.gs {
			if g != nil && !yield(g) {
				return
			}
		}
	}
}

type openTask struct {
	typ    string
	parent uint64
	start  Time
}

func newReplay(version int, stacks *stackTable, observers []Observer) *replay {
	return &replay{
		observers: observers,
		from:      never,
		version:   version,
		stacks:    stacks,
		tasks:     map[uint64]openTask{},
		naming:    newNaming(),
	}
}

// generation replays one generation.
func (r *replay) generation(d *decoded) {
	if d.gs.n == 0 && len(d.chunks) == 0 {
		return
	}
	start, until := d.start(), cmp.Or(d.until, r.until)
	if until != 0 {
		start = min(start, until)
	}
	if !r.begun {
		r.begin(min(cmp.Or(r.origin, start), start))
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
	for k := range d.chunks { // an iterator would make the variables of the loop slow
		records := d.chunk(k)
		for i := range records {
			if i&(1<<6-1) == 0 && r.pause(i) {
				return
			}
			rec := &records[i]
			t += Time(rec.head >> 8)
			if t > until && until != 0 {
				break replaying
			}
			if t >= from {
				r.join(t)
				from = never
			}
			switch code := uint8(rec.head); code {
			default:
				if r.gate == nil && t > r.now {
					r.now = t // as tick does, without a call
				} else {
					r.tick(t)
				}
				r.step(rec, r.now)
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
				r.rangeEvent(rec, true, r.now) // a status: its time is meaningless
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
		last := d.lastReal
		if until != 0 {
			last = min(last, until)
		}
		r.advance(last) // the last event may be the start or stop of a P
		r.info.End = max(r.info.End, r.now)
	}
	r.d = nil
}

// note adds a sentence to the notes of the pass, unless it is empty or already there.
func (r *replay) note(s string) {
	if s != "" && !slices.Contains(r.info.Notes, s) {
		r.info.Notes = append(r.info.Notes, s)
	}
}

// tick moves the clock of the pass to t. Generations overlap very little. However, if the operating
// system preempts a thread while it writes the last event of a generation, that event can be
// milliseconds late.
func (r *replay) tick(t Time) Time {
	if t-r.skipped < r.now {
		r.info.Reordered++
		return r.now
	}
	return r.advance(t)
}

// advance moves the clock to t, unless it is already later. It excludes the time for which the
// clock is stopped.
func (r *replay) advance(t Time) Time {
	if before := r.now + r.skipped; t > before {
		if r.gate == nil {
			r.now = t
			return t
		}
		on := r.gate.pass(before, t)
		r.now += on
		r.skipped += t - before - on
	}
	return r.now
}

func (r *replay) begin(t Time) {
	r.begun, r.now = true, t
	r.info.Start, r.info.End = t, t
	r.gate.begin(t)
	for _, o := range r.observers {
		o.Begin(t, r.version)
	}
}

// enter performs steps 1 and 2 for a generation that begins at t.
func (r *replay) enter(t Time) {
	d := r.d
	r.local = slices.Grow(r.local[:0], d.gs.n)[:d.gs.n]
	clear(r.local)
	r.reasonKinds()
	for i := range int32(d.gs.n) {
		if l := d.gs.at(i); l.status != Unknown || l.source != fromCreation { // else it is born later
			r.local[i] = r.gs.at(l.id)
		}
	}
	for _, i := range d.lost {
		r.find(i)
	}
	r.prepareNames()
	for i := range int32(d.gs.n) {
		if i&(1<<6-1) == 1<<6-1 && r.pause(int(i)+1) {
			return
		}
		l := d.gs.at(i)
		if g := r.local[i]; g != nil {
			if before := g.Name(); r.setName(g, l) {
				r.renamed.add(g, before, t)
				for _, o := range r.observers {
					o.Named(g, t)
				}
			}
			continue
		}
		if l.status == Unknown {
			continue // created later in this generation, or only mentioned
		}
		r.local[i] = r.appear(int32(i), t)
	}
	for i := range r.tracked {
		if g := r.local[i]; g != nil && r.tracked[i].serves {
			r.turn(g, r.tracked[i].first, t)
		}
	}
}

// find finds the coroutine i, whose end is its only event in the generation: it has run on the
// thread since before. Without a previous generation, it is unknown, and keeps its synthetic ID.
func (r *replay) find(i int32) {
	thread, _ := r.d.placeOf(r.d.gs.at(i))
	for g := range r.gs.all {
		if g.cur.state == Running && g.cur.thread == r.threadAt(thread) && (r.local[i] == nil || g.ID < r.local[i].ID) {
			r.local[i] = g
		}
	}
}

// appear adds a goroutine that existed before the trace, or before its first event.
func (r *replay) appear(i int32, t Time) *Goroutine {
	l := r.d.gs.at(i)
	g := r.add(l.id)
	g.cur.since = t
	r.recall(g)
	r.setName(g, l)
	r.first(g, i)
	stack := r.stackAt(l.stack)
	thread, proc := r.d.placeOf(l)
	cur := interval{state: l.status, since: t, proc: -1, thread: -1}
	switch l.status {
	case Waiting:
		cur.wait, cur.stack = WaitOther, stack
		if stack != nil {
			cur.wait, cur.stack = stack.parked, stack.block
		}
		if cur.wait == WaitOther && g.Kind != Application {
			cur.wait = WaitRuntime // system goroutines park for their own reasons
		}
	case Runnable:
		cur.wait = WaitOther
	case Running:
		cur.thread, cur.proc = r.threadAt(thread), proc
	case Syscall:
		cur.wait, cur.stack = WaitSyscall, stack
		g.ofC = g.ofC || g.Start == callback
		cur.thread, cur.proc = r.threadAt(thread), proc
		if r.version < firstGenerational {
			// The status was written with the P of the writing goroutine. The world was
			// stopped, so the call has no P.
			cur.proc = -1
		}
		r.placeSyscall(g, &cur)
	}
	if l.assist {
		g.extra().ranges = []openRange{{assistRange, -1, t}}
	}
	r.change(g, &cur, nil, nil)
	if l.assist {
		r.showRange(&Span{Time: t, Start: t, Name: assistRange, Begin: true, OfG: true, G: g, Proc: -1})
	}
	return g
}

// add adds a goroutine in the state Unknown.
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
	r.gs.add(g)
	r.info.Goroutines++
	r.live++
	r.info.MaxLive = max(r.info.MaxLive, r.live)
	return g
}

// change ends the interval of g and begins cur. It also decides whether goroutines in C without a P
// count as running: see c.go.
func (r *replay) change(g *Goroutine, cur *interval, waker *Goroutine, wakerStack *Stack) {
	was, is := g.cur.state, cur.state
	r.detached.onProc += int(onProcs>>is&1) - int(onProcs>>was&1) // without branches: they cannot be predicted
	if was.detached() {
		r.detached.remove(g)
	}
	if is.detached() {
		cur.state = r.enterDetached(g)
	}
	r.show(g, cur, waker, wakerStack)
	if len(r.detached.list) > 0 && is != Unknown {
		r.balance(cur.since)
	}
}

// show ends the interval of g and begins cur.
func (r *replay) show(g *Goroutine, cur *interval, waker *Goroutine, wakerStack *Stack) {
	old := &g.cur
	tr := &r.tr
	tr.G = g
	tr.State, tr.Start, tr.End = old.state, old.since, cur.since
	tr.Wait, tr.Reason, tr.Stack = old.wait, old.why(), old.stack
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
		if r.tracked != nil && r.tracked[rec.g].serves {
			r.turn(g, r.next[r.turned], t)
			r.turned++
		}
	case Runnable:
		switch from {
		case Waiting:
			// Otherwise the waker is whichever goroutine polled.
			if old.wait != WaitNetwork && old.wait != WaitSleep {
				waker, wakerStack = r.localAt(rec.x), r.stackAt(rec.y)
			}
			cur.wait, cur.stack = old.wait, old.stack
		case Running:
			cur.wait, cur.stack = WaitOther, r.stackAt(rec.y)
			if rec.x >= 0 {
				cur.reason, cur.wait = &r.d.reasons[rec.x], r.reasons[rec.x].stop
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
			cur.wait = WaitCoroutine // created blocked
			waker, wakerStack = r.localAt(rec.x), r.stackAt(rec.y)
		}
	case Syscall:
		if cur.wait = WaitSyscall; from == Running {
			cur.thread, cur.proc, cur.stack = old.thread, old.proc, r.stackAt(rec.y)
		} else {
			cur.thread, cur.proc = r.threadAt(rec.x), rec.y
		}
		r.placeSyscall(g, &cur)
	}
	if old.state == Syscall || old.state == InC {
		r.dropProc(old.proc, g)
	}
	if cur.stack != nil && cur.stack.fromC {
		g.ofC = true
	}
	if g.Extra != nil && g.Extra.Label != "" && (to == Waiting || to == NotExist) {
		r.label(g, "", t)
	}
	r.change(g, &cur, waker, wakerStack)
	switch {
	case to == NotExist:
		r.exit(rec.g, g)
	case from == Running && r.tracked != nil && r.tracked[rec.g].serves:
		r.turn(g, rec.y, t) // it waits where the interval ended
	}
}

// reasonKind is the classification of a reason.
type reasonKind struct {
	block, stop Wait
	byStack     int // index in Stack.wait of what the call chain makes of block, −1 if nothing
}

// reasonKinds classifies each reason of the generation.
func (r *replay) reasonKinds() {
	r.reasons = r.reasons[:0]
	for _, reason := range r.d.reasons {
		k := reasonKind{waitOf(reason, nil), waitOfStop(reason), slices.Index(byStack[:], reason)}
		if k.block == WaitCoroutine && r.version < 23 {
			k.block = WaitOther // coroutine switches exist since Go 1.23
		}
		r.reasons = append(r.reasons, k)
	}
}

// block returns the reason, the wait and the call chain of a goroutine that blocks.
func (r *replay) block(rec *record) (reason *string, w Wait, s *Stack) {
	s = r.stackAt(rec.y)
	if rec.x < 0 {
		return nil, WaitOther, s
	}
	k := &r.reasons[rec.x]
	if w = k.block; k.byStack >= 0 && s != nil {
		w = s.wait[k.byStack]
	}
	return &r.d.reasons[rec.x], w, s
}

// birth adds the goroutine of a creation event or, in a damaged trace, one that an event mentions
// without a preceding status.
func (r *replay) birth(rec *record, t Time, created bool) *Goroutine {
	l := r.d.gs.at(rec.g)
	if old := cmp.Or(r.local[rec.g], r.gs.at(l.id)); old != nil {
		r.info.Inconsistent++
		r.local[rec.g] = old
		return old
	}
	g := r.add(l.id)
	r.local[rec.g] = g
	r.setName(g, l)
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
	by := Creator{Stack: r.stackAt(rec.y)}
	if of := r.localAt(rec.x); of != nil {
		by.ID, by.Func, by.Task = of.ID, of.Func, of.UserTask()
	}
	if by != (Creator{}) {
		g.By = r.creator(&by)
	}
	return g
}

// creator returns a Creator equal to by: the latest one of that goroutine, if possible.
func (r *replay) creator(by *Creator) *Creator {
	at := &r.creators[uint64(by.ID)%uint64(len(r.creators))]
	if *at == nil || **at != *by {
		*at = new(Creator)
		**at = *by
	}
	return *at
}

func (r *replay) exit(local int32, g *Goroutine) {
	r.gate.exits(g)
	r.gs.remove(g.ID)
	r.live--
	r.local[local] = nil
	r.indexes = append(r.indexes, g.Index)
}

// label sets the label of a goroutine. The runtime also labels the goroutine that runs next on the
// processor of a stopped mark worker, which may be one of the program; those labels are ignored.
func (r *replay) label(g *Goroutine, label string, t Time) {
	if label != "" && g.start != nil && g.Kind != GC {
		return
	}
	if label != g.Label() {
		g.extra().Label = label
	}
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
	r.closeAll()
	r.note(r.info.NoteC())
	r.note(r.noteUnplaced())
	if r.gate != nil && r.gate.opt.Spans == nil {
		r.note(r.gate.note(r.now-r.info.Start, r.skipped))
	}
	r.note(r.renamed.note(r.info.Start))
	for _, o := range r.observers {
		o.End(r.now)
	}
}

// The holder of a P matters in system calls: a goroutine keeps its P there until it is taken.

// procIdle: the goroutine that held p in a system call, if any, lost it.
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

// placeSyscall sets the state of a goroutine that enters a system call or C.
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

// withoutProc returns the state that follows s, a system call or C, when the P is taken.
func withoutProc(s State) State {
	if s == InC {
		return InCDetached
	}
	return SyscallBlocked
}

// inSyscall reports whether the runtime treats the state as a system call.
func (s State) inSyscall() bool { return s == Syscall || s == SyscallBlocked || s.IsC() }

func (r *replay) holdProc(p int32, g *Goroutine) {
	for int(p) >= len(r.procs) {
		r.procs = append(r.procs, nil)
	}
	r.procs[p] = g
}

func (r *replay) holder(p int32) *Goroutine {
	if p < 0 || int(p) >= len(r.procs) {
		return nil
	}
	return r.procs[p]
}

func (r *replay) dropProc(p int32, g *Goroutine) {
	if g != nil && r.holder(p) == g {
		r.procs[p] = nil
	}
}

// gap shows that generations are missing before d, or that no trace was running. Every live
// goroutine changes to Unknown now; those that d contains come back.
func (r *replay) gap(d *decoded) {
	from := r.now
	r.leave()
	r.now = max(from, d.start())
	for _, o := range r.observers {
		o.Gap(from, r.now)
	}
}

// leave changes every live goroutine to Unknown and resets the state.
func (r *replay) leave() {
	r.closeAll()
	r.kept = r.gs
	r.gs = byID{}
	r.indexes, r.nextIdx, r.live = nil, 0, 0
	r.procs = nil
	r.tasks = map[uint64]openTask{}
	r.open = nil
}

// forget releases the memory of live goroutines after a generation that could not be read to its
// end because of the memory limit.
func (r *replay) forget() {
	r.leave()
	r.full, r.kept, r.d = nil, byID{}, nil
	r.forgetStacks()
}

// ofGoroutine is the approximate number of bytes that the replay and all analyses keep for a live
// goroutine.
const ofGoroutine = 2048

// living returns the live goroutines, ordered by ID.
func (r *replay) living() []*Goroutine {
	return slices.SortedFunc(r.gs.all, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
}

// closeAll changes every live goroutine to Unknown.
func (r *replay) closeAll() {
	for _, g := range r.living() {
		r.change(g, &interval{since: r.now, proc: -1, thread: -1}, nil, nil)
	}
}

// recall restores the name and creator of a goroutine that was known before a gap.
func (r *replay) recall(g *Goroutine) {
	k := r.kept.at(g.ID)
	if k == nil {
		return
	}
	r.info.Goroutines-- // it was already counted
	g.Func, g.Start, g.Kind = k.Func, k.Start, k.Kind
	g.start, g.basis, g.named, g.varies, g.renamed, g.By = k.start, k.basis, k.named, k.varies, k.renamed, k.By
	if k.Extra != nil && k.Extra.launcher != "" {
		g.extra().launcher = k.Extra.launcher
	}
}

// Limits of what an endless pass carries from generation to generation, besides live goroutines.
const (
	maxStreamStacks = 1 << 16
	maxStreamTasks  = 1 << 16
)

// bound discards state that would grow without bound: call chains if there are too many, and tasks
// that never end. Equal call chains then no longer have the same pointer as before.
func (r *replay) bound() {
	if r.stacks.size() > maxStreamStacks {
		r.forgetStacks()
	}
	if r.meter != nil && int64(r.live) > r.meter.Limit()/ofGoroutine {
		r.forget()
	}
	if len(r.tasks) > maxStreamTasks {
		r.tasks = map[uint64]openTask{}
	}
}

func (r *replay) forgetStacks() {
	r.stacks = newStackTable()
	number := r.number // existing start functions refer to it
	r.naming = newNaming()
	r.number = number
}

// size returns the approximate number of call chains or frames.
func (t *stackTable) size() int { return max(len(t.stacks), len(t.frames)/4) }
