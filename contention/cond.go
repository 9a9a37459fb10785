package contention

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Conditional waiting
//
// A wait on a Cond is recorded with kind cond. The time until the Signal or Broadcast is blamed on
// its call chain, flagged Signaler; the time from then until the waiter ran is hand-off.
//
// Package sync wakes waiters first in, first out. A queue of our own in the same order shows which
// Signal ends which wait. To keep the order, Wait holds a mutex from before the waiter enters our
// queue until it is in the queue of sync, which is when sync unlocks L; Signal holds it while it
// takes from both.
//
// Wait unlocks L and locks it again later. For blame, the two holds are one, and belong to the call
// chain of the final Unlock, to which the exits in Wait refer forward. A wait behind such an exit is
// settled at that Unlock, or by a snapshot before it, or if the history would become too long, with
// the call chain of the Wait, flagged InWait.

// Cond is a [sync.Cond] that records, while collection is on, who waited on it and which Signal or
// Broadcast ended the wait. If L is a [Mutex] or [RWMutex] of this package, the wait for L at the
// end of Wait is flagged [Reacquire]. Cond{L: l} is ready to use. It must not be copied after first
// use. It has the methods, the panics and the memory model of sync.Cond, which it uses to wait.
//
// Wait takes about 20 ns more than that of sync.Cond if collection is off, and 0.5 µs more if it is
// on. Signal and Broadcast take 1 ns more and, if a goroutine waits, 0.1 µs.
type Cond struct {
	// L is held while observing or changing the condition.
	L sync.Locker

	tracker[sync.Mutex] // mu guards the fields below; the rest is for name and account
	cond                sync.Cond
	bound               sync.Once
	self                *Cond

	queue    []*condWait // recorded waiters that have not been signalled, in order
	entering *condWait   // set by Wait for the Unlock that sync.Cond.Wait calls at once
	recorded atomic.Int32
	unseen   atomic.Int32 // waiters that are not recorded
	woken    atomic.Int64 // wake-up time of the last waiter that got L
}

// condWait is one recorded Wait.
type condWait struct {
	wait
	signal  holder   // the goroutine that ended it, if signal.chain is set
	forward *forward // the exit of L, if there was one
}

var condWaits = sync.Pool{New: func() any { return new(condWait) }}

// NewCond returns a new Cond with Locker l. It records the call chain of the creation.
func NewCond(l sync.Locker) *Cond {
	c := &Cond{L: l}
	c.created("")
	return c
}

// SetName gives the Cond a name for profiles. It may be called at any time.
func (c *Cond) SetName(name string) { c.setName(name) }

// Wait atomically unlocks c.L and suspends execution of the calling goroutine until it
// is awoken by Signal or Broadcast; it locks c.L before returning. Call it in a loop
// that checks the condition.
func (c *Cond) Wait() {
	c.bind()
	s := current.Load()
	if s == nil {
		c.unseen.Add(1)
		c.mu.Lock()
		c.cond.Wait()
		c.unseen.Add(-1)
		return
	}
	w := condWaits.Get().(*condWait)
	st := c.state()
	w.wait = wait{kind: kindCond, weight: 1, count: 1, g: callstack.Goid()}
	w.enter(st, s)
	var here byte
	w.chain = s.capture(unsafe.Pointer(&here))
	w.begun()
	w.account.firstSeen(w.chain, unsafe.Pointer(&here))
	c.recorded.Add(1)
	c.mu.Lock()
	w.start = now()
	st.info.flights.begin(&w.wait)
	c.queue = append(c.queue, w)
	c.entering = w
	c.cond.Wait() // unlocks c.mu and c.L, and locks c.L
	c.awake(w)
}

// awake records a finished Wait. The caller holds c.L.
func (c *Cond) awake(w *condWait) {
	if w.forward != nil {
		ownLock(c.L).adopt(w.forward)
		w.forward = nil
	}
	c.remove(w)
	c.recorded.Add(-1)
	w.end = max(w.start, w.signal.released, min(c.woken.Load(), now()))
	w.over()
	w.record(signaled, &w.signal)
	*w = condWait{}
	condWaits.Put(w)
}

// remove removes a waiter from the queue if it was not signaled there. Waiters from before Start
// are not in the queue, and may have received a Signal meant for this one, or the reverse. The
// mutex also orders the waiter after the goroutine that signaled, which sync.Cond leaves to L.
func (c *Cond) remove(w *condWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.signal.chain == nil {
		c.queue = slices.DeleteFunc(c.queue, func(q *condWait) bool { return q == w })
	}
}

// Signal wakes one goroutine waiting on c, if there is any. It is allowed but not
// required for the caller to hold c.L during the call.
func (c *Cond) Signal() {
	c.bind()
	if c.recorded.Load() == 0 {
		c.cond.Signal()
		return
	}
	c.wake(1, c.cond.Signal)
}

// Broadcast wakes all goroutines waiting on c. It is allowed but not required for the
// caller to hold c.L during the call.
func (c *Cond) Broadcast() {
	c.bind()
	if c.recorded.Load() == 0 {
		c.cond.Broadcast()
		return
	}
	c.wake(-1, c.cond.Broadcast)
}

// wake wakes waiters by f, and records that in the first n of the queue, or in all if n is
// negative.
func (c *Cond) wake(n int, f func()) {
	h := holder{g: callstack.Goid(), flags: Signaler}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > len(c.queue) {
		n = len(c.queue)
	} else if c.unseen.Load() > 0 {
		n = 0 // it ends a wait that began before collection
	}
	h.released = now()
	for _, w := range c.queue[:n] {
		w.signal = h
		w.signal.chain = w.account.session.capture(unsafe.Pointer(&h))
	}
	c.queue = slices.Delete(c.queue, 0, n)
	f()
}

// bind sets c as the Locker of its sync.Cond, at first use.
func (c *Cond) bind() {
	c.bound.Do(func() {
		c.self = c
		c.cond.L = (*condLocker)(c)
	})
	if c.self != c {
		panic("sync.Cond is copied")
	}
}

// condLocker is the Locker of the sync.Cond, in place of L.
type condLocker Cond

// waitLocker is a lock of this package that can be released in Wait.
type waitLocker interface {
	unlockInWait(chain *callstack.Chain) *forward
	adopt(f *forward)
}

// ownLock returns l if it is a *Mutex or *RWMutex, else nil. A type that embeds one also has its
// methods, but may have its own Lock and Unlock, which must then be called.
func ownLock(l sync.Locker) waitLocker {
	switch m := l.(type) {
	case *Mutex:
		return m
	case *RWMutex:
		return m
	}
	return nil
}

// Unlock is called by sync.Cond.Wait once the caller is in the queue.
func (l *condLocker) Unlock() {
	w := l.entering
	l.entering = nil
	l.mu.Unlock()
	if m := ownLock(l.L); m != nil && w != nil {
		w.forward = m.unlockInWait(w.chain)
	} else {
		l.L.Unlock()
	}
}

// Lock is called by sync.Cond.Wait once the caller has been woken.
func (l *condLocker) Lock() {
	var at int64
	if l.recorded.Load() != 0 {
		at = now()
	}
	switch m := l.L.(type) {
	case *Mutex:
		m.lockAfterWait()
	case *RWMutex:
		m.lockAfterWait()
	case *rlocker:
		m.lockAfterWait()
	default:
		m.Lock()
	}
	if at != 0 {
		l.woken.Store(at)
	}
}

func (m *Mutex) lockAfterWait()    { m.lockSlow(m.mu.TryLock(), Reacquire) }
func (rw *RWMutex) lockAfterWait() { rw.lockSlow(rw.mu.TryLock(), Reacquire) }

func (r *rlocker) lockAfterWait() {
	rw := (*RWMutex)(r)
	if !rw.mu.TryRLock() {
		rw.rlockWait(Reacquire, rw.mu.RLock)
	} else if rw.waiters.Load() != 0 {
		rw.readerIn()
	}
}

func (m *Mutex) unlockInWait(chain *callstack.Chain) *forward {
	return m.releaseInWait(m.mu.Unlock, chain)
}

func (rw *RWMutex) unlockInWait(chain *callstack.Chain) *forward {
	return rw.releaseInWait(rw.mu.Unlock, chain)
}

// releaseInWait unlocks the lock in a Wait with the given call chain. If goroutines wait, it returns
// what the exit refers to.
func (t *tracker[L]) releaseInWait(unlock func(), chain *callstack.Chain) *forward {
	if t.waiters.Load() == 0 {
		unlock()
		return nil
	}
	r := release{inWait: true}
	t.leave(&r)
	f := r.forward // of earlier Waits before the same Unlock
	if r.exit != nil {
		if f == nil {
			f = new(forward)
		}
		r.exit.forward = f
	}
	unlock()
	if r.exit != nil {
		r.st.account.Load().session.exited(&r, chain)
	}
	if r.own.account != nil {
		r.own.record(granted, nil)
	}
	return f
}

// adopt makes the exclusive owner resolve f when it unlocks. It registers the owner as if it were a
// waiter, so that its Unlock takes the slow path.
func (t *tracker[L]) adopt(f *forward) {
	st := t.st.Load()
	st.forward = f
	if t.waiters.Add(1) == 1 {
		st.first.Store(now())
	}
	t.word().raiseOwn()
}

// addCond settles a Wait that signal has ended.
func (a *account) addCond(w *wait, signal holder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.forgotten {
		return
	}
	a.sums.restart(w)
	if signal.chain != nil {
		signal.acquired = w.start
		a.sums.add(a, &signal)
	}
	a.book(w)
}
