package tracewaits

import (
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// futile is how long a goroutine that was woken for a lock may run before it blocks at the
// same place again, so that it can have done nothing but find the lock taken. It does nothing in
// between that the trace would show, either: no system call, and it wakes nobody.
const futile timeline.Time = 20_000

// tracedGoroutine is what is known of a live goroutine.
type tracedGoroutine struct {
	g    *timeline.Goroutine
	name string // its present one, at latest when it was asked for,
	of   group  // which is this group
	wait waiting
	*lockState

	present presentState
	past    *past
	active  bool // running or in a system call
	since   timeline.Time
	ran     timeline.Time // on a processor, since its latest wait
	runs    stretches     // when it was active
	gaps    stretches     // when it was runnable: neither it nor what it waited for was to blame

	shown bool // what is not its own refers to it, or to its past
}

// lockState is what is known of a goroutine that waits for locks, holds them or lets go of them, as
// most do not: see tracedGoroutine.locks.
type lockState struct {
	held []heldLock // locks that it has got after waiting, the latest last
	last *hold      // the latest that it let go of with a goroutine waiting

	usual []usualHold // by place of release

	inside      []*readSection // where it was in its latest state, if it was in any,
	insideUntil timeline.Time  // which ended then

	parkedAt *tracedLock // that it waits for
	parkedIn queue
}

// noLocks is the state of all goroutines that have none. It is never written.
var noLocks lockState

// locks returns the state of a goroutine, to write to it.
func (g *tracedGoroutine) locks() *lockState {
	if g.lockState == &noLocks {
		g.lockState = &lockState{}
	}
	return g.lockState
}

// group returns the name that the goroutine has now.
func (g *tracedGoroutine) group() group {
	if g.name != g.g.Func {
		g.name, g.of = g.g.Func, groupOf(g.g.Func)
	}
	return g.of
}

// reset makes g one about which nothing is known, and keeps memory.
func (g *tracedGoroutine) reset() {
	if l := g.lockState; l != &noLocks {
		clear(l.held)
		clear(l.usual)
		*l = lockState{held: l.held[:0], usual: l.usual[:0]}
	}
	*g = tracedGoroutine{
		name: g.name, of: g.of,
		wait:      waiting{parts: g.wait.parts[:0], spans: g.wait.spans[:0]},
		lockState: g.lockState, past: g.past,
		runs: stretches{ring: g.runs.ring[:0]}, gaps: stretches{ring: g.gaps.ring[:0]},
	}
	if g.past != nil {
		g.past.reset()
	}
}

// reset makes w one of which nothing is known, and keeps memory.
func (w *waiting) reset() {
	parts, spans := w.parts[:0], w.spans[:0]
	*w = waiting{}
	w.parts, w.spans = parts, spans
}

// waiting is a wait that goes on; or that may go on: whether a wake was futile is known
// only when the goroutine blocks again, or does something else.
type waiting struct {
	open   bool
	chosen bool // it was woken, and has not run yet
	kind   timeline.Wait
	site   *callSite
	lock   *tracedLock
	flags  contention.Flags
	queue  queue
	asked  timeline.Time // when it blocked last
	by     *hold         // the release that woke it last
	wake   timeline.Time // when that was
	blocks int64         // how often it blocked: more than once if woken in vain

	wrapped        bool          // at a lock of package contention, which may tell more in the log
	began, resumed timeline.Time // when it blocked first, and when it ran again

	waited, blamed, handOff, unattributed timeline.Time
	ready, idle                           timeline.Time // after it, and the part of that in which a processor was idle
	readied                               timeline.Time // up to which that is known,
	idleThen                              timeline.Time // and for how long a processor had been idle until then
	earlier                               timeline.Time // waited before the latest cut: it is in another profile
	contended                             []stretch     // makes its lock's longer, if it is booked, not told in the log
	parts                                 []blamedPart
	spans                                 []waitSpan // only if there are windows
}

// blamedPart is a part of a wait, who is to blame for it, and what that one did during that time.
type blamedPart struct {
	owner owner
	ns    timeline.Time
	did   ledger
}

// heldLock is a lock that a goroutine has got after waiting for it.
type heldLock struct {
	site    *callSite
	at      timeline.Time // when it ran again
	pending timeline.Time // since when it had held back readers
	by      *hold         // the release that woke it

	calls       int // how many of the calls that led to the site, from the root on, have not returned since
	first, last int // between which lines of the site's function the goroutine was seen since
}

// seenAt notes that the goroutine is at a stack: locks of calls that have returned are let go of.
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

// maxApart is how many calls a Lock is at most inside of the function that its Unlock is in, too;
// see callSite.fits.
const maxApart = 3

// apart says where a call chain is, seen from the place where a lock was asked for.
type apart struct {
	known  bool // neither root is cut off
	calls  int  // how many calls they have in common, from the root on
	inside bool // it is in the function that asked, in the same call,
	line   int  // at this line
}

type recentApart struct {
	site  *callSite
	stack *timeline.Stack
	apart apart
}

// apartOf returns where s is seen from a site.
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
		return at // the root is cut off
	}
	n := 0
	for n <= a && n <= b && sameFrame(asked[a-n], now[b-n]) {
		n++
	}
	if n <= a && n <= b && outer(asked[a-n].Func) == outer(now[b-n].Func) {
		if f := now[b-n]; n == a && f.Func == asked[0].Func {
			at.inside, at.line = true, f.Line
		}
		n++
	}
	at.known, at.calls = true, n
	return at
}

// mayEndAt reports whether the lock may still be held when its owner lets go of it at r: the
// function in which that happens was not left since, and not seen behind the line of r or before
// that of the Lock.
func (h *heldLock) mayEndAt(r *callSite) bool {
	a, b := h.site.frames, r.frames
	n := 0
	for n < len(a) && n < len(b) && sameFrame(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	if h.calls < min(n+1, len(a)) {
		return false
	}
	if n != len(a)-1 || n >= len(b) || len(a) == 0 {
		return true
	}
	lock, unlock := a[0], b[len(b)-1-n]
	return lock.Func != unlock.Func || lock.Line > unlock.Line || h.first >= lock.Line && h.last <= unlock.Line
}

// track notes when the goroutine was active.
func (g *tracedGoroutine) track(t *timeline.Transition) {
	g.present.set(t)
	if g.past != nil {
		g.past.transition(t)
	}
	if t.State.Runs() {
		g.ran += t.End - t.Start
	}
	if t.State == timeline.Runnable {
		g.gaps.add(stretch{t.Start, t.End})
	}
	if active(t.State) == active(t.To) {
		return
	}
	if g.active = active(t.To); g.active {
		g.since = t.End
		return
	}
	g.runs.add(stretch{g.since, t.End})
}

// finish notes a wait that is over, unless its parts have been noted already.
func (g *tracedGoroutine) finish(t *timeline.Transition) {
	if g.past != nil {
		g.past.finish(t)
	}
}

func active(s timeline.State) bool {
	return s.Runs() || s == timeline.SyscallBlocked || s == timeline.InCUncounted
}

func lockWait(w timeline.Wait) bool {
	const locks = 1<<timeline.WaitMutex | 1<<timeline.WaitRWMutexWriter | 1<<timeline.WaitRWMutexReader | 1<<timeline.WaitOnce
	return locks>>w&1 != 0
}

// woken does a wait that was ended, but for the time until the goroutine runs.
func (o *Observer) woken(g *tracedGoroutine, t *timeline.Transition) {
	at, kind := o.places.of(t.Stack), waitOf(&t.Interval)
	var waker *tracedGoroutine
	if t.Waker != nil {
		if waker = o.goroutine(t.Waker); !waker.wait.chosen {
			o.commit(waker) // it is past its own wait
		}
	}
	w := &g.wait
	lock := lockWait(t.Wait)
	again := lock && g.inVain(at.site)
	requeued := again && w.queue == at.queue
	if !again {
		o.commit(g)
		w.open, w.kind, w.site = true, kind, at.site
		w.wrapped, w.began = lock && at.wrapped, t.Start
		if lock {
			w.flags = at.flags & contention.Reacquire
		}
	}
	w.chosen, w.wake, w.readied, w.idleThen = true, t.End, t.End, o.idle.until(t.End)
	w.blocks++
	waited := o.cuts.since(t.Start, t.End)
	w.waited += waited
	w.earlier += t.End - t.Start - waited
	switch {
	case lock:
		o.lockWoken(g, t, at, requeued)
	case t.Waker == nil:
		w.lock = o.pseudoLock(kind, at.site)
		w.unattributed += waited
		o.windows.noteNobody(w, unattributedSpan, t.Start, t.End)
	default:
		w.lock = o.pseudoLock(kind, at.site)
		by := o.ownerOf(waker, o.places.of(t.WakerStack))
		by.flags = 0
		if t.Wait == timeline.WaitCond {
			by.flags = contention.Signaller
		}
		o.blameWaker(g, waker, t, by, waited)
	}
}

// waitOf returns what a goroutine waits for in an interval: for the collector if that suspended it.
func waitOf(i *timeline.Interval) timeline.Wait {
	if suspended(i) {
		return timeline.WaitGC
	}
	return i.Wait
}

// inVain reports whether the goroutine, which blocks for a lock at a site, was woken for it before,
// but found it taken. Who waits for readers, or for a writer as a reader, has the lock when it is
// woken.
func (g *tracedGoroutine) inVain(at *callSite) bool {
	w := &g.wait
	return w.open && w.site == at && lockWait(w.kind) && w.queue == exclusiveQueue && g.ran <= futile
}

// blameWaker blames the waker for the last part of a wait that is for no lock, which is all of it
// unless there was a cut.
func (o *Observer) blameWaker(g, waker *tracedGoroutine, t *timeline.Transition, by owner, waited timeline.Time) {
	waker.shown = waker.shown || o.windows != nil
	p, w := waker.past, &g.wait
	var did *ledger
	if waited > 0 {
		part := w.newPart(by)
		part.ns, did = waited, &part.did
		p.addBetween(did, t.End-waited, t.End)
		w.blamed += waited
	}
	o.windows.noteBlame(w, by, t.Start, t.End, t.End-t.Start, p)
	if g.past == nil {
		return
	}
	on := doingOf(w.kind)
	g.past.addWaiting(t.End-waited, on, false)
	g.past.addBlamed(t.End-waited, t.End, on, by, p, did)
}

// lockWoken does the end of a wait for a lock.
func (o *Observer) lockWoken(g *tracedGoroutine, t *timeline.Transition, at *place, requeued bool) {
	w := &g.wait
	w.asked, w.queue = t.Start, at.queue
	if t.Waker == nil || at == o.places.dropped {
		w.lock, w.by = o.lockOf(at.site), nil
		w.unattributed += o.cuts.since(t.Start, t.End)
		o.windows.noteNobody(w, unattributedSpan, t.Start, t.End)
		return
	}
	h := &hold{to: t.End, queue: at.queue, asked: t.Start, requeued: requeued}
	w.lock = o.release(h, t, at, w)
	w.by = h
	if h.queue == readerQueue {
		w.lock.unclaimed++
	}
	o.contendedIn(w.lock, h, w)
	n := int32(w.lock.waits())
	w.lock.waiters = max(w.lock.waiters, n)
	o.windows.waiters(w.lock, h.to, n)
	o.cut(g, h)
}

// resumed does the end of a wait whose goroutine runs again.
func (o *Observer) resumed(g *tracedGoroutine, t timeline.Time) {
	w := &g.wait
	w.chosen, w.resumed = false, t
	o.readied(w, t)
	g.ran = 0
	if w.by == nil || !lockWait(w.kind) {
		return
	}
	w.by.ran = t
	w.claim(t)
	g.locks()
	if i := g.waitedAt(w.site); i >= 0 {
		g.held = slices.Delete(g.held, i, i+1) // let go of unseen, or not got at all
	}
	if len(g.held) >= maxHeld {
		g.held = slices.Delete(g.held, 0, 1)
	}
	h := heldLock{site: w.site, at: t, pending: t, by: w.by, calls: len(w.site.frames), first: math.MaxInt}
	if w.queue == writerQueue {
		h.pending = w.asked
	}
	g.held = append(g.held, h)
}

// readied adds the time up to t in which a goroutine that was woken did not run.
func (o *Observer) readied(w *waiting, t timeline.Time) {
	idle := o.idle.until(t)
	w.ready += t - w.readied
	w.idle += min(t-w.readied, idle-w.idleThen)
	o.windows.noteNobody(w, readySpan, w.readied, t)
	if o.windows != nil {
		o.windows.note(w, waitSpan{from: w.readied, to: t, ns: min(t-w.readied, idle-w.idleThen), what: idleSpan})
	}
	w.readied, w.idleThen = t, idle
}

// idleTime is for how long a processor was idle: fewer goroutines ran than GOMAXPROCS, and the
// world was not stopped.
type idleTime struct {
	procs, active, stopped int
	at, sum                timeline.Time
}

// until returns the time up to t, which is not before that of an earlier call.
func (i *idleTime) until(t timeline.Time) timeline.Time {
	if i.active < i.procs && i.stopped == 0 {
		i.sum += t - i.at
	}
	i.at = t
	return i.sum
}

// transition notes that a goroutine took a processor, or let go of it.
func (i *idleTime) transition(t *timeline.Transition) {
	if was, is := t.State.OnProc(), t.To.OnProc(); was != is {
		i.until(t.End)
		if i.active--; is {
			i.active += 2
		}
	}
}

// maxHeld is how many locks are remembered that a goroutine has waited for and not been seen to let
// go of.
const maxHeld = 16

// waitedAt returns the index of the lock that g has got at a site, or −1.
func (g *tracedGoroutine) waitedAt(s *callSite) int {
	return slices.IndexFunc(g.held, func(h heldLock) bool { return h.site == s })
}

// blame adds a part to the wait. The owner did during that time what is in the ledger, which is as
// long.
func (w *waiting) blame(by owner, ns timeline.Time, did *ledger) {
	if ns <= 0 {
		return
	}
	w.blamed += ns
	p := w.part(by)
	p.ns += ns
	p.did.merge(did)
}

// blameOnly is blame for an owner that did one thing all the time.
func (w *waiting) blameOnly(by owner, ns timeline.Time, did doing) {
	if ns <= 0 {
		return
	}
	w.blamed += ns
	p := w.part(by)
	p.ns += ns
	p.did.add(did, ns)
}

// part returns the part of an owner, which is new if it is not one of the latest.
func (w *waiting) part(by owner) *blamedPart {
	for i := len(w.parts) - 1; i >= 0 && i >= len(w.parts)-16; i-- {
		if w.parts[i].owner == by {
			return &w.parts[i]
		}
	}
	return w.newPart(by)
}

// newPart returns the part of an owner that has none yet.
func (w *waiting) newPart(by owner) *blamedPart {
	n := len(w.parts)
	if n == cap(w.parts) {
		w.parts = append(w.parts, blamedPart{})
	} else {
		w.parts = w.parts[:n+1]
	}
	p := &w.parts[n] // field by field, as the copy of a whole part waits for its fields
	p.owner.g, p.owner.group, p.owner.site, p.owner.flags = by.g, by.group, by.site, by.flags
	p.ns = 0
	p.did.did, p.did.blocked, p.did.causes = [blockedOn]timeline.Time{}, nil, nil
	return p
}

// commit books the wait of g, if it has one and it is over.
func (o *Observer) commit(g *tracedGoroutine) {
	w := &g.wait
	if !w.open {
		return
	}
	if !o.keep(g, w) {
		o.book(g, w)
	}
	w.reset()
}

// bookContended adds what w has made longer in the time in which its lock was held while a
// goroutine waited.
func (o *Observer) bookContended(w *waiting) {
	for _, s := range w.contended {
		w.lock.root().contended += s.end - s.start
		o.windows.contended(w.lock, s.start, s.end, s.end-s.start)
	}
	w.contended = nil
}

// book adds a wait to the profile.
func (o *Observer) book(g *tracedGoroutine, w *waiting) {
	o.bookContended(w)
	o.rows.add(g, w, o.opt.Goroutines)
	o.windows.book(g, w, o.opt.Goroutines)
	w.lock.longest = max(w.lock.longest, w.waited+w.earlier)
}

// pseudoLock returns what stands for a lock in waits for something else.
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
