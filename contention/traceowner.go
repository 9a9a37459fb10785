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
//   - the release, less the third quartile of the known holds that ended at the same place.
//
// The latest of these is taken for the beginning of the hold: what lies before may be
// somebody else's.

// ownerOf returns who woke the goroutine of t, at a place.
func ownerOf(t *timeline.Transition, at *place) owner {
	return owner{g: t.Waker.ID, group: t.Waker.Func, site: at.site, flags: at.flags & (ReadOwner | InWait)}
}

// release completes h, the hold that ended when t.Waker woke the waiter of w, adds it to the
// history of the lock, and returns the lock.
func (o *TraceObserver) release(h *hold, t *timeline.Transition, at *place, w *waiting) *tracedLock {
	r := o.places.of(t.WakerStack)
	waker := o.goroutine(t.Waker)
	h.owner = ownerOf(t, r)
	lock, own := o.lockOfRelease(waker, at, r)
	switch again := waker.last; {
	case own >= 0:
		held := waker.held[own]
		waker.held = slices.Delete(waker.held, own, own+1)
		h.from, h.pending, h.prev = held.at, held.pending, held.by
		r.site.holds.add(h.to - h.from)
		lock.holds.add(h.to - h.from)
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
	waker.last = h
	lock.add(h)
	return lock
}

// lockOfRelease returns the lock of a release at r that woke somebody who waits at the place at, and
// the index in waker.held of the waker's own wait for it, or −1.
func (o *TraceObserver) lockOfRelease(waker *tracedGoroutine, at, r *place) (lock *tracedLock, own int) {
	if r == o.places.unknown {
		return o.lockOf(at.site), -1
	}
	lock = o.lockOf(r.site)
	if at != o.places.unknown {
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
	usual, ok := r.holds.upper()
	if !ok {
		usual, ok = lock.holds.upper()
	}
	if ok {
		from = max(from, h.to-usual)
	}
	return min(from, h.to)
}
