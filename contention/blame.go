package contention

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// Blame for a wait
//
// After P. Hofer, D. Gnedt, A. Schörgenhumer, H. Mössenböck, "Efficient Tracing and Versatile
// Analysis of Lock Contention in Java Applications on the Virtual Machine Level", ICPE 2016: for
// each contention, record the waiter and the owners of the lock during the wait, with their call
// chains; record nothing for a lock without waiters; and work after the lock has been released.
//
//  1. A lock counts its registered waiters. While the count is zero, Lock and Unlock do nothing
//     else: an owner that no goroutine waits for leaves no trace.
//  2. A waiter records the time and the number of the last exit (exits.go), increments the count,
//     records its call chain, and blocks. When it has the lock, it does the first two again. It
//     stays registered until its Unlock, which records the wait.
//  3. An owner that gets the lock while waiters are registered records the time. An owner without a
//     time got the lock before any waiter came, or within the 50 ns in which one registered: it is
//     blamed from the beginning of the wait.
//  4. An owner that leaves while waiters remain takes the next exit number and records when it came
//     and left. When the lock is free again, it adds its call chain and settles its own wait. If it
//     takes the lock again before a waiter wakes up, it extends its last exit.
//  5. To settle a wait, it is divided at the exits during it (split.go). Time without an owner is
//     hand-off: the time until the scheduler ran the next owner. If an exit has no call chain yet,
//     because its owner was preempted right after the release, the wait is deferred (account.go).
//
// Nothing here runs in a goroutine of its own, so the runtime still reports a deadlock of the
// program's locks.

// now returns the monotonic time in nanoseconds; never 0.
func now() int64 { return monotime.Now() | 1 }

// tracker is a lock and the data of its wrapper, which is read only under contention.
type tracker[L any] struct {
	mu L
	// waiters is the number of registered waiters: goroutines that wait, and an owner whose
	// Unlock has something to record.
	waiters atomic.Int32
	st      atomic.Pointer[state]
}

// state is the data of a lock, made when the lock is first waited for or named.
type state struct {
	history
	arrivals atomic.Uint32 // the goroutines that have come to wait
	// first is when the first one of the present waiters came, and came when the first one did since
	// holds of a run pass unseen, or 0.
	first, came atomic.Int64
	extended    atomic.Uint64 // the exits that were merged into an earlier one
	sampling    sampling
	info        *lockInfo
	rw          bool                    // of an RWMutex
	account     atomic.Pointer[account] // the account in which waits for this lock were last recorded

	// Data of the current exclusive owner, guarded by the lock itself.
	since   int64    // when it got the lock; 0: before any present waiter came; or unseen
	pending int64    // for an RWMutex: when it began to hold back readers
	own     wait     // its own wait, if own.account is set
	forward *forward // what its exits inside Cond.Wait refer to, if there were any
	run     run
	long    longCycles

	// Readers of an RWMutex that got the lock while a goroutine waited.
	mu      sync.Mutex
	readers []reader
	granted int64 // when a writer left
}

// wait is one contention, from the request of a lock until it is granted.
type wait struct {
	_ incomparable

	account     *account   // where to record it; nil: nowhere
	more        []*account // of the other Collectors
	chain       *callstack.Chain
	g           uint64
	start, end  int64
	granted     int64 // for a reader: when the writer left that admitted it; 0 if unknown
	history     *history
	pinned      *chunk // has exit first, or will have the one after it
	first, last uint64 // the exits during the wait are those in (first, last]
	lost        uint64 // exits during the wait that could not be recorded
	weight      int64  // how many times its time counts,
	long        int64  // of these, for long waits of its own row
	// count is the number of contentions that it counts: more than 1 if others were only timed;
	// see sampling.go.
	count   int64
	missing *exit   // the first exit whose owner was unknown at the last attempt to settle
	waiters int32   // number of waiters when this one was granted the lock
	flight  *flight // its place while in progress, if it has one
	kind    kindID
	flags   uint32
}

// took returns the length of the wait.
func (w *wait) took() int64 { return w.end - w.start }

// state returns the lock's state, made at first use.
func (t *tracker[L]) state() *state {
	if st := t.st.Load(); st != nil {
		return st
	}
	_, rw := any(&t.mu).(*wordRWMutex)
	t.st.CompareAndSwap(nil, &state{info: newLockInfo(), rw: rw})
	return t.st.Load()
}

// register raises the number of registered waiters, for one that came at an instant.
func (t *tracker[L]) register(at int64) {
	if t.waiters.Add(1) == 1 {
		t.state().first.Store(at)
	}
	t.word().raise()
}

// word returns the lock as a word. Registered waiters keep it from the single-instruction form.
func (t *tracker[L]) word() word { return any(&t.mu).(word) }

// word is a lock that changes its form while goroutines are registered. raiseOwn is raise for its
// owner.
type word interface {
	raise()
	raiseOwn()
	lower()
}

// deregister decrements the number of registered waiters and returns it. The caller has the lock,
// unless it is a reader.
func (t *tracker[L]) deregister() int32 {
	n := t.waiters.Add(-1)
	t.word().lower()
	return n
}

func (t *tracker[L]) created(name string) {
	t.state().info.created.Store(lastingChains().Capture())
	t.setName(name)
}

func (t *tracker[L]) setName(name string) {
	if name != "" {
		t.state().info.name.Store(&name)
	}
}

// draw decides whether a wait that begins now is recorded whole, if collection is on.
func (t *tracker[L]) draw() draw {
	if st := t.st.Load(); st != nil {
		if c := current.Load(); c != nil && !c.exact {
			return st.draw()
		}
	}
	return always
}

// arrive registers the caller as a waiter. It returns false if collection is off or the wait was
// not drawn; in the latter case, it sets only the start and the account of w.
func (t *tracker[L]) arrive(w *wait, d draw, kind kindID, flags uint32) bool {
	s := current.Load()
	if s == nil {
		return false
	}
	st := t.state()
	if d.passed() {
		w.start = now()
		w.enter(st, s)
		w.kind, w.flags = kind, flags
		return false
	}
	// In this order, the owners of exits up to first have left, or extended them, before
	// the start, even if the caller was preempted in between: those who held the lock after
	// it left by later exits.
	w.history, w.lost = &st.history, st.lost.Load()
	w.pinned, w.first = st.pin()
	st.came.CompareAndSwap(0, now())
	st.arrivals.Add(1)
	w.start = now()
	w.enter(st, s)
	w.kind, w.flags = kind, flags
	w.weight, w.count = 1, 1
	if kind == kindMutex {
		t.register(w.start)
	} else {
		t.registerBesideReaders(w.start)
	}
	// The waiter is registered: the following code delays no other goroutine.
	w.chain = s.capture(unsafe.Pointer(w))
	w.g = s.goid()
	w.begun()
	w.account.firstSeen(w.chain, unsafe.Pointer(w))
	st.info.flights.begin(w)
	st.reconsider(w.start)
	return true
}

// begun counts a wait that begins and was drawn.
func (w *wait) begun() {
	w.account.begun.Add(1)
	for _, a := range w.more {
		a.begun.Add(1)
	}
}

// acquired records that the caller, a registered waiter, got the lock exclusively. The hold begins
// after the profiler's own work, some 100 ns if another processor had the lock before. That work
// counts as hand-off, as in leave.
func (t *tracker[L]) acquired(w *wait) {
	st := t.st.Load()
	if st.run.passing {
		st.catchUp(now())
	}
	w.lost = st.lost.Load() - w.lost
	w.waiters = t.waiters.Load()
	w.last = st.seq.Load()
	w.over()
	st.info.flights.holds(w)
	st.pending = w.start
	st.own = *w
	st.since = now()
	st.own.end = st.since
	st.info.flights.since.Store(st.since)
}

// bargedIn records that the caller got the lock without waiting while others wait.
func (t *tracker[L]) bargedIn() {
	st := t.st.Load()
	st.pending = 0
	if st.run.left != 0 && st.pass() {
		st.since = unseen
		return
	}
	st.since = now()
	st.catchUp(st.since)
}

// release has the work left for when the lock is free.
type release struct {
	st       *state
	released int64
	left     int64 // when the profiler's work under the lock was done, if that is timed
	own      wait
	exit     *exit
	chunk    *chunk
	number   uint64 // of the exit
	forward  *forward
	inWait   bool // the lock is released in Cond.Wait
}

// leave prepares the release of the lock by its exclusive owner, which still holds it. The hold
// ends here. The time until the lock is free is the profiler's work, and counts as hand-off.
func (t *tracker[L]) leave(r *release) {
	r.released = now()
	st := t.st.Load()
	r.st = st
	if st.since == unseen {
		// A waiter came during the hold. For the earlier waiters, the known part of the hold
		// begins there.
		st.since = max(st.came.Load(), st.last().released)
		st.catchUp(st.since)
	}
	n := t.waiters.Load()
	if st.own.account != nil {
		r.own = st.own
		st.own.account = nil
		st.info.flights.since.Store(0)
		n = t.deregister()
	}
	if st.forward != nil {
		r.forward = st.forward
		st.forward = nil
		n = t.deregister()
	}
	if n > 0 {
		if st.rw { // a reader that has left may still be about to record that
			st.mu.Lock()
			st.forgetStrays()
			st.granted = r.released
		}
		if r.inWait || !st.extend(r) {
			st.exit(r)
		}
		if st.rw {
			st.mu.Unlock()
		}
	}
	st.since = 0
	if r.exit != nil || n > 0 {
		r.time()
	}
}

// time measures the time that the release takes under the lock, once in timedReleases.
func (r *release) time() {
	if uint64(r.released)*0x9E3779B97F4A7C15>>32%timedReleases == 0 { // a hash, as clocks step
		r.left = now()
	}
}

// exit records that the exclusive owner leaves.
func (st *state) exit(r *release) {
	e, c := st.next()
	if e == nil {
		return
	}
	st.run.end()
	r.exit, r.chunk = e, c
	if e.acquired = st.since; e.acquired == 0 {
		e.acquired = st.first.Load()
	}
	e.pending = st.pending
	e.arrivals = st.arrivals.Load()
	e.g = callstack.Goid()
	e.released = r.released
	r.number = st.publish()
}

// extend adds the hold to the last exit, if that was by the same owner and nothing has happened
// since that matters to any waiter. No other goroutine uses that exit: an owner in between would
// have left an exit of its own. The call chain is captured under the lock here, which costs 10 to
// 70 ns.
func (st *state) extend(r *release) bool {
	e := st.last()
	if e == nil || e.shared || e.pending != 0 || st.pending != 0 || e.arrivals != st.arrivals.Load() ||
		e.g == 0 || e.g != callstack.Goid() || r.own.account != nil {
		return false
	}
	chain := e.chain.Load()
	if chain == nil || e.forward != nil || chain != r.caller() {
		return false
	}
	from := max(st.since, e.released)
	free := from - e.released
	e.gaps += free
	e.released = r.released
	st.seen(e, r.released-from, free)
	st.extended.Add(1)
	return true
}

// caller returns the call chain of the Unlock, independent of the depth below it.
func (r *release) caller() *callstack.Chain {
	return r.st.account.Load().session.capture(unsafe.Pointer(r))
}

// finish records the owner that left, and settles the owner's own wait. The lock is free by then.
func (r *release) finish() {
	if r.st == nil {
		return
	}
	var from int64
	if r.left != 0 || r.own.account != nil {
		from = now()
	}
	if r.exit != nil || r.forward != nil {
		chain := r.caller()
		if r.exit != nil {
			r.st.account.Load().session.exited(r, chain)
		}
		if r.forward != nil {
			r.forward.resolve(chain)
		}
	}
	if r.own.account != nil {
		r.own.record(granted, nil)
		r.st.sampling.over(&r.own)
	}
	r.cost(from)
	r.st.reconsider(r.released)
}

// cost records the cost of recording. Releases that settle a wait are always timed, as their cost
// varies.
func (r *release) cost(from int64) {
	s := &r.st.sampling
	if r.left != 0 {
		s.held.Add(timedReleases * min(mostHeld, r.left-r.released))
	}
	switch after := now() - from; {
	case from == 0:
	case r.own.account != nil:
		s.after.Add(min(after, mostAfter+mostForExit*int64(r.own.last-r.own.first)))
	default:
		s.after.Add(timedReleases * min(after, mostAfter))
	}
}
