package tracewaits

import (
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// futile is the maximum time that a goroutine that was woken for a lock runs before it blocks at
// the same place again, if it has only found the lock taken. In between, it does nothing that the
// trace would show: no system call, and no wake-up.
const futile timeline.Time = 20_000

// tracedGoroutine is the state of a live goroutine; g is nil once it has exited.
type tracedGoroutine struct {
	g    *timeline.Goroutine
	wait *waiting // &noWait unless it is open
	*lockState

	past *past
	presentState

	begun   bool // it started in the trace, at past.first
	shown   bool // others refer to its past
	inGroup bool // it waits for a WaitGroup
}

// lockState is the state of a goroutine that waits for locks, holds them or releases them. Most
// goroutines do not: see tracedGoroutine.locks.
type lockState struct {
	held []heldLock // locks that it got after waiting, latest last
	last *hold      // the latest release with a goroutine waiting

	usual []usualHold // by place of release

	inside      []*readSection // the sections of its latest state, if any,
	insideUntil timeline.Time  // which ended then

	parkedAt *tracedLock // the lock that it waits for
	parkedIn queue

	done timeline.Time // when it last ended a wait for a WaitGroup; 0 if never
}

// noLocks is the state of all goroutines that use no locks. It is never written.
var noLocks lockState

// locks returns the lockState of a goroutine for writing.
func (g *tracedGoroutine) locks() *lockState {
	if g.lockState == &noLocks {
		g.lockState = &lockState{}
	}
	return g.lockState
}

// noWait is the wait of all goroutines without an open one. It is never written.
var noWait = waiting{lockWaiting: &noLockWaiting}

// newWait gives g an empty wait.
func (o *Observer) newWait(g *tracedGoroutine) *waiting {
	if n := len(o.spareWaits); n > 0 {
		g.wait, o.spareWaits = o.spareWaits[n-1], o.spareWaits[:n-1]
	} else {
		w := &struct {
			waiting
			one [1]blamedPart // room for parts: most waits have one
		}{}
		w.lockWaiting, w.parts = &noLockWaiting, w.one[:0]
		g.wait = &w.waiting
	}
	return g.wait
}

// endWait takes the wait of g away. It keeps memory for reuse.
func (o *Observer) endWait(g *tracedGoroutine) {
	w := g.wait
	g.wait = &noWait
	if w == &noWait || len(o.spareWaits) >= maxSpare {
		return
	}
	parts, l := w.parts[:0], w.lockWaiting
	*w = waiting{} // in place: a literal with the slices would be copied
	w.parts, w.lockWaiting = parts, l
	if l != &noLockWaiting {
		clear(l.sums)
		*l = lockWaiting{contended: l.contended[:0], sums: l.sums[:0]}
	}
	o.spareWaits = append(o.spareWaits, w)
}

// waiting is a wait that continues, or may continue: whether a wake-up was futile is known only
// when the goroutine blocks again or does something else.
type waiting struct {
	open    bool
	chosen  bool // it was woken, and has not run yet
	wrapped bool // at a lock of package contention, which may log the wait
	kind    timeline.Wait
	queue   queue
	flags   uint32
	site    *callSite
	lock    *tracedLock
	wake    timeline.Time // the time of that wake-up
	blocks  int64         // number of times it blocked: more than one after futile wake-ups

	began, resumed timeline.Time // when it first blocked, and when it ran again

	piece
	waited   timeline.Time
	readied  timeline.Time // end of the time after the wait so far,
	idleThen timeline.Time // and the total idle time until then
	earlier  timeline.Time // the time waited before the latest cut, which is in another profile
	*lockWaiting
}

// lockWaiting has the fields that few waits need: those for locks, and all with Options.Window. See
// waiting.forLock.
type lockWaiting struct {
	asked  timeline.Time // when it last blocked
	by     *hold         // the release that last woke it
	pieces []piece       // the latest first; only with Options.Window
	sums   []*spanSum    // sums of many owners, whose blame is not in parts
	// contended is added to lockFacts.contended if the wait is booked as inferred, not as logged.
	contended []stretch
}

// noLockWaiting is the lockWaiting of all other waits. It is never written.
var noLockWaiting lockWaiting

// forLock returns the lockWaiting of w for writing.
func (w *waiting) forLock() *lockWaiting {
	if w.lockWaiting == &noLockWaiting {
		w.lockWaiting = &lockWaiting{}
	}
	return w.lockWaiting
}

// piece has the times of a wait, or of its part in one window.
type piece struct {
	at    timeline.Time // a time in the window
	times waitTimes
	parts []blamedPart
}

// waitTimes has the time of each kind.
type waitTimes [spanKinds]timeline.Time

func (t *waitTimes) add(u *waitTimes) {
	for what, ns := range u {
		t[what] += ns
	}
}

// waited returns the time until the wake-up.
func (t *waitTimes) waited() timeline.Time {
	return t[unattributedSpan] + t[handOffSpan] + t[blamedSpan]
}

type spanKind uint8

const (
	unattributedSpan spanKind = iota
	handOffSpan
	blamedSpan
	readySpan // after the wait,
	idleSpan  // the part of readySpan in which a processor (P) was idle
	spanKinds
)

// blamedPart is the part of a wait that is blamed on an owner, and what that owner did during it.
type blamedPart struct {
	owner owner
	ns    timeline.Time
	did   ledger
}

// heldLock is a lock that a goroutine got after waiting for it.
type heldLock struct {
	site    *callSite
	at      timeline.Time // when it ran again
	pending timeline.Time // when it began to hold back readers
	by      *hold         // the release that woke it

	// calls is the number of calls that led to the site, from the root, that have not returned
	// since.
	calls       int
	first, last int // range of lines of the site's function where the goroutine was seen since
}

// seenAt notes that the goroutine is at a stack: locks whose calls have returned are considered
// released.
func (o *Observer) seenAt(g *tracedGoroutine, s *timeline.Stack) {
	n := 0
	for i := range g.held {
		h := &g.held[i]
		if a := o.apartOf(h.site, s); a.known {
			h.calls = min(h.calls, a.calls)
			if a.inside {
				h.first, h.last = min(h.first, a.line), max(h.last, a.line)
			}
		}
		if h.calls > len(h.site.frames)-maxApart {
			if n < i {
				g.held[n] = *h
			}
			n++
		}
	}
	clear(g.held[n:])
	g.held = g.held[:n]
}

// maxApart is the maximum number of calls between a Lock and the function that also contains its
// Unlock; see callSite.fits.
const maxApart = 3

// apart is the position of a call chain relative to the place where a lock was asked for.
type apart struct {
	known  bool // neither root is truncated
	calls  int  // number of calls in common, from the root
	inside bool // it is in the function that asked, in the same call,
	line   int  // at this line
}

type recentApart struct {
	site  *callSite
	stack *timeline.Stack
	apart apart
}

// apartOf returns the position of s relative to a site, cached.
func (o *Observer) apartOf(site *callSite, s *timeline.Stack) *apart {
	e := &o.apart[(slotOf(s, recentPlaces)+uintptr(site.id))%recentPlaces]
	if e.site != site || e.stack != s {
		e.site, e.stack, e.apart = site, s, site.apart(s.Frames)
	}
	return &e.apart
}

func (s *callSite) apart(now []*timeline.Frame) (at apart) {
	asked := s.frames
	a, b := len(asked)-1, len(now)-1
	if a < 0 || b < 0 || len(asked) >= maxTraceFrames || len(now) >= maxTraceFrames || outer(asked[a].Func) != outer(now[b].Func) {
		return at // the root is truncated
	}
	n := inCommon(asked, now)
	if n <= a && n <= b && outer(asked[a-n].Func) == outer(now[b-n].Func) {
		if f := now[b-n]; n == a && f.Func == asked[0].Func {
			at.inside, at.line = true, f.Line
		}
		n++
	}
	at.known, at.calls = true, n
	return at
}

// mayEndAt reports whether the lock may still be held when its owner releases it at r: the function
// of the release has not returned since, and the goroutine was not seen after the line of r or
// before that of the Lock.
func (h *heldLock) mayEndAt(r *callSite) bool {
	a, b := h.site.frames, r.frames
	n := inCommon(a, b)
	if h.calls < min(n+1, len(a)) {
		return false
	}
	if n != len(a)-1 || n >= len(b) || len(a) == 0 {
		return true
	}
	lock, unlock := a[0], b[len(b)-1-n]
	return lock.Func != unlock.Func || lock.Line > unlock.Line || h.first >= lock.Line && h.last <= unlock.Line
}

// track records what the goroutine did, and its new state.
func (g *tracedGoroutine) track(t *timeline.Transition) {
	g.presentState.set(t)
	g.begun = g.begun || t.State == timeline.NotExist
	g.past.transition(t)
}

// born returns when the goroutine started, 0 if that was before the trace.
func (g *tracedGoroutine) born() timeline.Time {
	if g.begun {
		return g.past.first
	}
	return 0
}

func active(s timeline.State) bool {
	return s.Runs() || s == timeline.SyscallBlocked || s == timeline.InCUncounted
}

func lockWait(w timeline.Wait) bool {
	const locks = 1<<timeline.WaitMutex | 1<<timeline.WaitRWMutexWriter | 1<<timeline.WaitRWMutexReader | 1<<timeline.WaitOnce
	return locks>>w&1 != 0
}

// woken processes the end of a wait, except for the time until the goroutine runs.
func (o *Observer) woken(g *tracedGoroutine, t *timeline.Transition) {
	at, kind := o.places.of(t.Stack), waitOf(t)
	var waker *tracedGoroutine
	if t.Waker != nil {
		if waker = o.goroutine(t.Waker); waker.wait.open && !waker.wait.chosen {
			o.commit(waker) // its own wait is over
		}
	}
	w := g.wait
	lock := lockWait(t.Wait)
	again := lock && g.inVain(at.site)
	requeued := again && w.queue == at.queue
	if !again {
		if w.open {
			o.commit(g)
		}
		w = o.newWait(g)
		w.open, w.kind, w.site = true, kind, at.site
		w.wrapped, w.began = lock && (at.wrapped || o.logs.sync && !at.own), t.Start
		if lock {
			w.flags = at.flags & contention.Reacquire
		}
	}
	w.chosen, w.wake, w.readied, w.idleThen = true, t.End, t.End, o.idle.until(t.End)
	w.blocks++
	waited := o.cuts.since(t.Start, t.End)
	w.waited += waited
	w.earlier += t.End - t.Start - waited
	if lock {
		o.lockWoken(g, t, at, requeued)
		return
	}
	w.lock = o.pseudoLock(kind, at.site)
	if t.Waker == nil {
		o.unowned(w, unattributedSpan, t.End-waited, t.End)
		return
	}
	from := o.places.of(t.WakerStack)
	by := o.ownerAs(waker.g, from.site, 0)
	switch t.Wait {
	case timeline.WaitWaitGroup:
		o.blameGroup(g, waker, t, by, waited)
		return
	case timeline.WaitCond:
		by.flags = contention.Signaler
	case timeline.WaitChanReceive, timeline.WaitSelect:
		by.flags = from.flags & contention.Closer
	}
	o.blameWaker(g, waker, t, &by, waited)
}

// waitOf returns the kind of wait of an interval: the collector if it suspended the goroutine.
func waitOf(i *timeline.Transition) timeline.Wait {
	if suspended(i) {
		return timeline.WaitGC
	}
	return i.Wait
}

// inVain reports whether the goroutine, which blocks for a lock at a site, was woken for it before
// but found it taken. A writer that waited for readers, and a reader that waited for a writer, hold
// the lock when they are woken.
func (g *tracedGoroutine) inVain(at *callSite) bool {
	w := g.wait
	return w.open && w.site == at && lockWait(w.kind) && w.queue == exclusiveQueue && g.past.ranSince(w.resumed, futile) <= futile
}

// blameWaker blames the waker for the last part of a wait that is not for a lock. That part is the
// whole wait unless there was a cut.
func (o *Observer) blameWaker(g, waker *tracedGoroutine, t *timeline.Transition, by *owner, waited timeline.Time) {
	waker.shown = waker.shown || o.windows != nil
	p, w := o.pastOf(waker), g.wait
	var did *ledger
	if waited > 0 {
		part := w.newPart(by)
		part.ns, did = waited, &part.did
		p.addBetween(did, t.End-waited, t.End)
		w.times[blamedSpan] += waited
		if o.windows != nil {
			o.windows.blame(w, by, t.End-waited, t.End, waited, did, p)
		}
	}
	on := doingOf[w.kind]
	if !o.roots() {
		g.past.add(t.End, on, nil)
		return
	}
	g.past.addWaiting(t.End-waited, on, false)
	g.past.addBlamed(t.End-waited, t.End, on, by, p, did)
}

// lockWoken processes the end of a wait for a lock.
func (o *Observer) lockWoken(g *tracedGoroutine, t *timeline.Transition, at *place, requeued bool) {
	w := g.wait
	w.forLock().asked, w.queue = t.Start, at.queue
	if t.Waker == nil || at == o.places.dropped {
		w.lock, w.by = o.lockOf(at.site), nil
		o.unowned(w, unattributedSpan, max(t.Start, o.cuts.at), t.End)
		return
	}
	h := &hold{to: t.End, queue: at.queue, asked: t.Start, requeued: requeued}
	w.lock = o.release(h, t, at, w)
	w.by = h
	if h.queue == readerQueue {
		w.lock.unclaimed++
	}
	o.contendedIn(w.lock, h, w)
	o.released(w.lock, h.to, w.lock.waits())
	o.cut(g, h)
}

// resumed processes the end of a wait whose goroutine runs again.
func (o *Observer) resumed(g *tracedGoroutine, t timeline.Time) {
	w := g.wait
	w.chosen, w.resumed = false, t
	o.readied(w, t)
	if !lockWait(w.kind) {
		o.commit(g) // it cannot go on
		return
	}
	if w.by == nil {
		return
	}
	w.by.ran = t
	w.claim(t)
	g.locks()
	// If it waited there before, it released the lock unseen, or never had it.
	g.held = slices.DeleteFunc(g.held, func(h heldLock) bool { return h.site == w.site })
	if len(g.held) >= maxHeld {
		g.held = slices.Delete(g.held, 0, 1)
	}
	h := heldLock{site: w.site, at: t, pending: t, by: w.by, calls: len(w.site.frames), first: math.MaxInt}
	if w.queue == writerQueue {
		h.pending = w.asked
	}
	g.held = append(g.held, h)
}

// readied adds the time up to t in which a woken goroutine did not run.
func (o *Observer) readied(w *waiting, t timeline.Time) {
	idle := o.idle.until(t)
	o.spend(w, readySpan, w.readied, t, t-w.readied)
	o.spend(w, idleSpan, w.readied, t, min(t-w.readied, idle-w.idleThen))
	w.readied, w.idleThen = t, idle
}

// idleTime is the total time in which a processor (P) was idle: fewer goroutines ran than
// GOMAXPROCS, and the world was not stopped.
type idleTime struct {
	procs, active, stopped int
	at, sum                timeline.Time
}

// until returns the total up to t, which is not before that of an earlier call.
func (i *idleTime) until(t timeline.Time) timeline.Time {
	if i.active < i.procs && i.stopped == 0 {
		i.sum += t - i.at
	}
	i.at = t
	return i.sum
}

// transition notes that a goroutine took or released a processor (P).
func (i *idleTime) transition(t *timeline.Transition) {
	if was, is := t.State.OnProc(), t.To.OnProc(); was != is {
		i.until(t.End)
		if i.active--; is {
			i.active += 2
		}
	}
}

// maxHeld is the maximum number of locks remembered per goroutine that it waited for and was not
// seen to release.
const maxHeld = 16

// unowned adds a part of a wait without an owner: hand-off or unattributed.
func (o *Observer) unowned(w *waiting, what spanKind, from, to timeline.Time) {
	o.spend(w, what, from, to, to-from)
}

// spend adds ns of the time between two instants to a wait.
func (o *Observer) spend(w *waiting, what spanKind, from, to, ns timeline.Time) {
	if ns > 0 {
		w.times[what] += ns
		if o.windows != nil {
			o.windows.spend(w, what, from, to, ns)
		}
	}
}

// blame blames an owner with the past q for ns of the time between two instants. did is what it did
// then; its total is ns.
func (o *Observer) blame(w *waiting, by *owner, from, to, ns timeline.Time, did *ledger, q *past) {
	if ns > 0 {
		w.blame(by, ns, did)
		if o.windows != nil {
			o.windows.blame(w, by, from, to, ns, did, q)
		}
	}
}

func (p *piece) blame(by *owner, ns timeline.Time, did *ledger) {
	p.times[blamedSpan] += ns
	part := p.part(by)
	part.ns += ns
	part.did.merge(did)
}

// part returns the part of an owner: a new one if it is not among the latest.
func (p *piece) part(by *owner) *blamedPart {
	for i := len(p.parts) - 1; i >= 0 && i >= len(p.parts)-16; i-- {
		if p.parts[i].owner.is(by) {
			return &p.parts[i]
		}
	}
	return p.newPart(by)
}

func (p *piece) newPart(by *owner) *blamedPart {
	n := len(p.parts)
	if n == cap(p.parts) {
		p.parts = append(p.parts, blamedPart{})
	} else {
		p.parts = p.parts[:n+1]
	}
	part := &p.parts[n] // field by field: a copy of a whole part waits for its fields
	part.owner.g, part.owner.group, part.owner.site, part.owner.flags = by.g, by.group, by.site, by.flags
	part.ns = 0
	part.did = ledger{}
	return part
}

// commit books the wait of g, if it has a finished one.
func (o *Observer) commit(g *tracedGoroutine) {
	switch w := g.wait; {
	case !w.open:
	case o.keep(g.g, w):
		g.wait = &noWait
	default:
		o.book(g.g, w)
		o.endWait(g)
	}
}

// bookContended adds the time by which w extended the contended time of its lock, in which it was
// held while a goroutine waited.
func (o *Observer) bookContended(w *waiting) {
	if len(w.contended) == 0 {
		return // and write nothing: it may be noLockWaiting
	}
	for _, s := range w.contended {
		o.contend(w.lock, s.start, s.end, s.end-s.start)
	}
	w.contended = w.contended[:0]
}

// book adds a wait to the profile.
func (o *Observer) book(g *timeline.Goroutine, w *waiting) {
	o.bookContended(w)
	if row := o.rows.add(g, w); o.windows != nil {
		o.windows.book(g, w, row)
	}
	w.lock.longest = max(w.lock.longest, w.waited+w.earlier)
}

// waitedFor returns what a wait at a site is for.
func (o *Observer) waitedFor(kind timeline.Wait, s *callSite) *tracedLock {
	if lockWait(kind) {
		return o.lockOf(s)
	}
	return o.pseudoLock(kind, s)
}

// pseudoLock returns the stand-in for a lock in waits for something else.
func (o *Observer) pseudoLock(wait timeline.Wait, s *callSite) *tracedLock {
	if s.pseudo != nil && s.pseudoFor == wait {
		return s.pseudo
	}
	k := pseudoKey{wait: wait}
	name := ""
	switch wait {
	case timeline.WaitSleep:
		name = "[timer]"
	case timeline.WaitNetwork, timeline.WaitGC, timeline.WaitSyscall:
		name = "[" + wait.String() + "]"
	default:
		k.class = s.class()
	}
	l := o.pseudo[k]
	if l == nil {
		o.locks++
		l = &tracedLock{id: o.locks, name: name, class: k.class}
		o.pseudo[k] = l
	}
	s.pseudo, s.pseudoFor = l, wait
	return l
}
