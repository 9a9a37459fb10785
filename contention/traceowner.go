package contention

import (
	"math"
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Who held a lock until a release, and since when
//
// A release that woke somebody has the goroutine and the call chain of the owner. If the
// owner had itself waited for the lock, in the call of a function that it lets go of it in,
// it had the lock since it ran again after that wait. Else it got the lock without
// waiting, unseen, but not before
//
//   - the release before, of the same lock;
//   - the first time after that release in which the owner ran;
//   - the release, less the third quartile of the known holds that ended at the same place, its own ones
//     if there are a few. Here the time in which an owner was runnable does not count, since that
//     lengthens holds at random.
//
// The latest of these is taken for the beginning of the hold: what lies before may be
// somebody else's. If none of them is known, it is the whole wait: a goroutine that is alone in
// the queue is woken by the first release, unless somebody spins.

// ownerOf returns who woke the goroutine of t, at a place.
func ownerOf(t *timeline.Transition, at *place) owner {
	return owner{g: t.Waker.ID, group: t.Waker.Func, site: at.site, flags: at.flags & (ReadOwner | InWait)}
}

// release completes h, the hold that ended when t.Waker woke the waiter of w, adds it to the
// history of the lock, and returns the lock.
func (o *TraceObserver) release(h *hold, t *timeline.Transition, at *place, w *waiting) *tracedLock {
	r := o.places.of(t.WakerStack)
	waker := o.goroutine(t.Waker)
	h.owner, h.past = ownerOf(t, r), waker.past
	lock, own := o.lockOfRelease(waker, at, r)
	switch again := waker.last; {
	case own >= 0:
		held := waker.held[own]
		waker.held = slices.Delete(waker.held, own, own+1)
		h.from, h.pending, h.prev = held.at, held.pending, held.by
		d := waker.heldFor(h.from, h.to)
		if usual, n := waker.usually(r.site, lock); n >= manyHolds && d > farLonger*usual {
			h.from = max(h.from, o.since(h, lock, waker, r.site))
			h.pending = h.from
		} else {
			h.known = true
		}
		waker.learn(r.site, lock, d)
		if r.flags&ReadOwner != 0 {
			o.sections.learn(held.site, r.site)
		}
	case r.rw && again != nil && again.owner == h.owner && h.to-again.to <= futile:
		// One Unlock of a RWMutex wakes all readers and the next writer.
		h.from, h.pending, h.prev = again.from, again.pending, again.prev
	default:
		if h.prev = w.by; !h.requeued {
			h.prev = nil
		}
		h.from = o.since(h, lock, waker, r.site)
		h.pending = h.from
	}
	if h.queue == writerQueue {
		lock.readersBefore(h)
	}
	waker.last = h
	lock.add(h)
	return lock
}

// lockOfRelease returns the lock of a release at r that woke somebody who waits at the place at, and
// the index in waker.held of the waker's own wait for it, or −1.
func (o *TraceObserver) lockOfRelease(waker *tracedGoroutine, at, r *place) (lock *tracedLock, own int) {
	if !o.places.tell(r) {
		return o.lockOf(at.site), -1
	}
	lock = o.lockOf(r.site)
	if o.places.tell(at) {
		lock = unite(lock, o.lockOf(at.site))
	}
	for i := len(waker.held) - 1; i >= 0; i-- {
		if o.fit(waker.held[i].site, r.site) {
			return unite(lock, o.lockOf(waker.held[i].site)), i
		}
	}
	return lock, -1
}

// since bounds the beginning of a hold whose owner did not wait for the lock.
func (o *TraceObserver) since(h *hold, lock *tracedLock, waker *tracedGoroutine, r *callSite) timeline.Time {
	if h.queue == writerQueue {
		// The writer waits for readers that were there when it came.
		return h.asked
	}
	from := timeline.Time(math.MinInt64)
	prev := h.prev
	if !lock.several() {
		prev = lock.last()
	}
	if prev != nil {
		from = waker.firstActive(prev.to)
	}
	if usual, n := waker.usually(r, lock); n > 0 {
		from = max(from, waker.heldSince(h.to, usual))
	}
	return min(from, h.to)
}

// usualHold is how long a goroutine usually held a lock that it let go of at a site.
type usualHold struct {
	site  *callSite
	holds durations
}

// learn adds a known hold.
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

// maxUsual is for how many places a goroutine's own holds are remembered.
const maxUsual = 8

// usually returns the third quartile of the known holds of g that ended at r if there are a few; else of
// the known holds of all; else of the known holds of the lock. It tells the number of them.
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

// fewHolds is how many holds of one goroutine tell more than those of all.
const fewHolds = 3

// A goroutine that waited for a lock may have let go of it unseen, and got it again: only when nobody
// waits, but also when somebody spins, is a release not in the trace. A hold that is farLonger
// than many known ones is taken for several, of which only the last one is known.
const (
	farLonger = 3
	manyHolds = 8
)
