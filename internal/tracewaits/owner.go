package tracewaits

import (
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The owner of a lock before a release, and the start of its hold
//
// A release that woke a waiter has the goroutine and the call chain of the owner. If the owner had
// itself waited for the lock, in the call of the function in which it releases it, and was not seen
// outside of that call since, it held the lock from when it ran again after that wait. Otherwise it
// got the lock without waiting. It is known to have held it since
//
//   - the first goroutine blocked for the lock, if no waiter was woken before: with a waiter in the
//     queue, the next Unlock wakes it;
//   - a waiter that was woken found the lock taken and blocked again;
//   - the latest goroutine blocked, if the waiter that was woken last got the lock and released it
//     unseen.
//
// No goroutine is blamed if
//
//   - a woken waiter got the lock while another one stayed in the queue, and the next release is
//     not its own: the goroutine of that release did not hold the lock, or it was another lock;
//   - a woken waiter does not run yet: until then, Unlock wakes no other;
//   - holds are usually shorter than goroutines spin: most owners come and go unseen.
//
// A goroutine that spins may still get the lock unseen, so a hold that seems to be three times as
// long as usual for the place is cut to that. With several locks of the same code, it is unknown
// which one a goroutine blocked for: a hold is then no longer than the third quartile of the known
// holds that ended at the same place, of the owner's own if there are a few, without the time in
// which an owner was runnable.

// ownerOf returns the goroutine waker as an owner that released at a place.
func (o *Observer) ownerOf(waker *tracedGoroutine, at *place) owner {
	return o.ownerAs(waker.g, at.site, at.flags&(contention.ReadOwner|contention.InWait))
}

// ownerAs returns a goroutine as an owner that released a lock at a site.
func (o *Observer) ownerAs(g *timeline.Goroutine, site *callSite, flags uint32) owner {
	by := owner{group: g.Func, site: site, flags: flags}
	if o.opt.Goroutines {
		by.g = g.ID
	}
	return by
}

// release completes h, the hold that ended when t.Waker woke the waiter of w, adds it to the
// history of the lock, and returns the lock.
func (o *Observer) release(h *hold, t *timeline.Transition, at *place, w *waiting) *tracedLock {
	r := o.places.of(t.WakerStack)
	waker := o.goroutine(t.Waker)
	waker.shown = true
	waker.locks()
	h.owner, h.past, h.g, h.wokenG = o.ownerOf(waker, r), o.pastOf(waker), t.Waker.ID, t.G.ID
	lock, own := o.lockOfRelease(waker, at, r)
	h.foreign = lock.heldByOther(h)
	switch again := waker.last; {
	case own >= 0:
		r.site.paired++
		held := waker.held[own]
		waker.held = slices.Delete(waker.held, own, own+1)
		h.from, h.pending, h.prev = held.at, held.pending, held.by
		d := waker.past.heldFor(h.from, h.to)
		if usual, n := waker.usually(r.site, lock); n >= manyHolds && d > farLonger*usual {
			h.from = max(h.from, o.since(h, lock, waker, r.site))
			h.pending = h.from
		} else {
			h.known = true
		}
		waker.learn(r.site, lock, d)
		o.sections.learn(held.site, r.site, r.flags&contention.ReadOwner == 0)
	case h.foreign:
		r.site.foreign++
		h.from, h.pending = h.to, h.to
	case r.rw && again != nil && again.owner == h.owner && again.g == h.g && h.to-again.to <= futile:
		// One Unlock of an RWMutex wakes all readers and the next writer.
		h.from, h.pending, h.prev = again.from, again.pending, again.prev
	default:
		if h.prev = w.by; !h.requeued {
			h.prev = nil
		}
		h.from = o.since(h, lock, waker, r.site)
		h.pending = h.from
	}
	if usual, n := lock.holds.median(); n >= manyHolds && usual < spins && h.queue == exclusiveQueue && !lock.several() {
		h.from, h.pending, h.known = h.to, h.to, false
	}
	if r.site.foreign > r.site.paired && !lock.doubtful() {
		h.from, h.pending, h.known = h.to, h.to, false
	}
	if h.queue == writerQueue {
		if inside := lock.insideSince(h, waker, r.site); inside > h.from {
			h.from, h.pending, h.known = inside, inside, false
		}
		lock.readersBefore(h)
	}
	waker.last = h
	h.handed = h.queue == exclusiveQueue && (h.requeued && t.Start-w.began > starving || lock.staysStarving(h))
	o.endStretch(lock, h)
	lock.add(h)
	if h.queue == exclusiveQueue {
		lock.woken, lock.firstPark, lock.lastPark = h, 0, 0
	}
	return lock
}

// lockOfRelease returns the lock of a release at r that woke a goroutine waiting at the place at,
// and the index in waker.held of the waker's own wait for it, or −1.
func (o *Observer) lockOfRelease(waker *tracedGoroutine, at, r *place) (lock *tracedLock, own int) {
	if !o.places.known(r) {
		return o.lockOf(at.site), -1
	}
	lock = o.lockOf(r.site)
	if o.places.known(at) {
		lock = o.unite(lock, o.lockOf(at.site))
	}
	for i := len(waker.held) - 1; i >= 0; i-- {
		if o.fit(waker.held[i].site, r.site) && waker.held[i].mayEndAt(r.site) {
			return o.unite(lock, o.lockOf(waker.held[i].site)), i
		}
	}
	return lock, -1
}

// starving is the minimum wait for a sync.Mutex after which a goroutine that finds it taken
// switches it to starvation mode. In that mode, Unlock gives the lock to the waiter at the head of
// the queue, and no other goroutine can lock it.
const starving timeline.Time = 1_000_000

// staysStarving reports whether the lock was in starvation mode when h ended: its owner was given
// the lock after a long wait, and was not the last in the queue.
func (l *tracedLock) staysStarving(h *hold) bool {
	x := l.woken
	return x != nil && x.handed && x.wokenG == h.g && x.ran != 0 && x.to-x.asked > starving+overlap && h.asked < x.to && !l.doubtful()
}

// since returns a lower bound of the beginning of a hold whose owner did not wait for the lock.
func (o *Observer) since(h *hold, lock *tracedLock, waker *tracedGoroutine, r *callSite) timeline.Time {
	from := h.asked // it was held when its waiter came
	switch {
	case h.queue != exclusiveQueue:
		// The writer waits for readers that were there when it came, and a reader for the writer.
		return from
	case lock.doubtful():
		if h.requeued { // and no other goroutine was woken for it since
			return min(from, h.to)
		}
		if usual, n := waker.usually(r, lock); n > 0 {
			from = max(from, waker.past.heldSince(h.to, usual))
		}
		if h.prev != nil {
			from = max(from, waker.past.firstActive(h.prev.to))
		}
	case lock.woken != nil:
		x := lock.woken
		switch {
		case x.ran == 0: // until it runs, locks are taken and released unseen
			return h.to
		case x.wokenG == h.g && h.asked <= x.ran: // with a waiter in the queue all the time
			return max(x.ran, from)
		case x.again: // it found the lock taken
			from = lock.firstPark
		default:
			from = lock.lastPark
		}
		if from == 0 {
			return h.to
		}
		from = max(from, waker.past.firstActive(x.to))
	case lock.firstPark != 0:
		from = lock.firstPark
	}
	// Otherwise spinning goroutines have held it in between.
	if usual, n := waker.usually(r, lock); n >= manyHolds {
		from = max(from, waker.past.heldSince(h.to, farLonger*usual))
	}
	return min(from, h.to)
}

// heldByOther reports whether the lock was held by another goroutine than the one that released it
// with h. That other goroutine was woken before and got the lock, with a waiter in the queue all
// the time, so that the next Unlock is in the trace. Any goroutine may unlock a sync.Mutex; the one
// that does so is not to blame. Otherwise there are several locks, and the start of the hold of h
// is unknown.
func (l *tracedLock) heldByOther(h *hold) bool {
	x := l.woken
	return h.queue == exclusiveQueue && x != nil && x.ran != 0 && !x.again && x.wokenG != h.g && h.asked <= x.ran && !l.doubtful()
}

// insideSince returns the time since which a reader that woke a writer with h has certainly held
// the lock. No reader is admitted while a writer waits, with one exception: Unlock of an RWMutex
// leaves a token for each reader that it wakes, and a reader that comes before those run takes one
// of their tokens unseen. Until all have run, the usual hold time of the reader is the only hint.
func (l *tracedLock) insideSince(h *hold, reader *tracedGoroutine, r *callSite) timeline.Time {
	if l.unclaimed == 0 {
		return l.claimed
	}
	if usual, n := reader.usually(r, l); n > 0 {
		return reader.past.heldSince(h.to, usual)
	}
	return h.to
}

// claim notes that a woken reader of w runs, or has exited.
func (w *waiting) claim(t timeline.Time) {
	if w.by == nil || w.queue != readerQueue || !lockWait(w.kind) {
		return
	}
	l := w.lock.root()
	l.unclaimed--
	l.claimed = t
}

// now returns what g waits for, and where.
func (o *Observer) now(g *timeline.Goroutine) (timeline.Wait, *timeline.Stack) {
	if o.nowOf != nil {
		return o.nowOf(g)
	}
	return g.Wait(), g.Stack()
}

// parked notes that g has blocked. The lock was taken then, and with a goroutine in the queue, the
// next Unlock is in the trace unless a goroutine has been woken already.
func (o *Observer) parked(g *tracedGoroutine, t *timeline.Transition) {
	wait, stack := o.now(t.G)
	o.waitsForGroup(g, wait == timeline.WaitWaitGroup, t.End)
	if !lockWait(wait) {
		return
	}
	at := o.places.of(stack)
	if !o.places.known(at) {
		return
	}
	l := o.lockOf(at.site)
	if l.waits() == 0 {
		l.waitingSince = t.End
	}
	l.waiting[at.queue]++
	l.peak = max(l.peak, l.waits())
	g.locks().parkedAt, g.parkedIn = l, at.queue
	l.proved = l.proved || l.waiting[writerQueue] > 1
	if x := l.woken; at.queue == exclusiveQueue && (x == nil || x.ran != 0) {
		if x != nil && x.wokenG == t.G.ID && !x.again {
			x.again, l.firstPark = true, t.End
		}
		if l.firstPark == 0 {
			l.firstPark = t.End
		}
		l.lastPark = t.End
	}
}

// unparked notes that g no longer waits for the lock that it parked at.
func (g *tracedGoroutine) unparked() {
	l := g.parkedAt.root()
	l.waiting[g.parkedIn]--
	if l.waits() == 0 {
		l.waitingSince = 0
	}
	g.parkedAt = nil
}

// yields is the maximum time between the release with which a goroutine gives the lock to a waiter
// and its yielding of the processor (P).
const yields timeline.Time = 50_000

// handsOff notes whether g, which stops now, gave the lock that it released last to the waiter:
// then it yields its processor (P) in Unlock.
func (g *tracedGoroutine) handsOff(t *timeline.Transition) {
	h := g.last
	if t.End-h.to > yields || h.queue != exclusiveQueue {
		return
	}
	if s := t.G.Stack(); s != nil && slices.ContainsFunc(s.Frames[:min(4, len(s.Frames))], func(f *timeline.Frame) bool {
		return strings.HasSuffix(f.Func, "sync.(*Mutex).Unlock") || strings.HasSuffix(f.Func, "sync.(*Mutex).unlockSlow")
	}) {
		h.handed = true
	}
}

// usualHold has the durations of a goroutine's holds of locks that it released at a site.
type usualHold struct {
	site  *callSite
	holds durations
}

// learn adds the duration of a known hold.
func (g *tracedGoroutine) learn(r *callSite, lock *tracedLock, d timeline.Time) {
	r.holds.add(d)
	lock.holds.add(d)
	i := slices.IndexFunc(g.usual, func(u usualHold) bool { return u.site == r })
	if i < 0 {
		if len(g.usual) == maxUsual {
			g.usual = slices.Delete(g.usual, 0, 1)
		}
		i = len(g.usual)
		g.usual = append(g.usual, usualHold{site: r})
	}
	g.usual[i].holds.add(d)
}

// maxUsual is the number of places for which a goroutine's own holds are remembered.
const maxUsual = 8

// usually returns the third quartile of the known holds, and their number: of the holds of g that
// ended at r if there are a few, else of all holds that ended at r, else of all holds of the lock.
func (g *tracedGoroutine) usually(r *callSite, lock *tracedLock) (timeline.Time, int) {
	for i := range g.usual {
		if u := &g.usual[i]; u.site == r && len(u.holds.recent) >= fewHolds {
			return u.holds.upper()
		}
	}
	if d, n := r.holds.upper(); n > 0 {
		return d, n
	}
	return lock.holds.upper()
}

// fewHolds is the number of holds of one goroutine from which they are preferred to those of all.
const fewHolds = 3

// A goroutine that waited for a lock may have released it unseen and got it again: a release is not
// in the trace if no goroutine waits, or if a goroutine spins. A hold that is farLonger times as
// long as manyHolds known ones is assumed to be several, and only the last of them is known.
const (
	farLonger = 3
	manyHolds = 8
)

// spins is about the longest time for which a goroutine spins for a sync.Mutex before it blocks:
// four times 30 pauses of the CPU, of up to 140 cycles each. It is an estimate, not measured.
const spins timeline.Time = 8_000
