package contention

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// overlap is by how much the trace may tell of two goroutines that queue up in the wrong
// order: they are in the queue before they say so.
const overlap timeline.Time = 5_000

// cut gives the wait of g, which h ended, to the successive owners of its lock.
//
// It goes back from the end of the wait, from release to release. Each owner gets the time
// from when it had the lock until it let go of it. Between one release and the next owner's
// beginning the goroutine that the release woke was first chosen, but did not run yet; then
// somebody held the lock who cannot be known.
//
// It takes some 10 ns for each release during the wait.
func (o *TraceObserver) cut(g *tracedGoroutine, h *hold) {
	w := &g.wait
	c := cutter{g: g.g, w: w, windows: o.windows, cutRoom: o.cutRoom, lock: w.lock, several: w.lock.several(), start: max(w.asked, o.cuts.at), at: h.to, end: h, audit: o.audit}
	c.given = c.given[:0]
	c.next = len(c.lock.history) - 1
	for x := h; x != nil && c.at > c.start; x = c.earlier(x) {
		c.before(x)
	}
	w.unattributed += max(0, c.at-c.start)
	o.windows.noteNobody(w, unattributedSpan, c.start, c.at)
	if c.lost {
		o.lost++
	}
	o.cutRoom = c.cutRoom
	if g.past != nil {
		g.past.addCut(c.given, doingOf(w.kind))
	}
}

// cutter is the state of a cut: the time from at on is accounted for.
type cutter struct {
	g         *timeline.Goroutine
	w         *waiting
	lock      *tracedLock
	windows   *traceWindows
	several   bool
	start, at timeline.Time
	end       *hold // which ended the wait
	next      int   // the history from here on is dealt with; end is the last in it

	audit func(waiter *timeline.Goroutine, by owner, from, to, ns timeline.Time)

	lost bool // the wait is older than the history

	cutRoom
}

// cutRoom is memory that cuts use one after another.
type cutRoom struct {
	given   []givenTime // the latest first
	edges   []timeline.Time
	sharers []coOwner
}

// givenTime is a time that was given to the owner of a hold, and what that one did then; or, without a hold, to
// the hand-off, or to several.
type givenTime struct {
	from, to timeline.Time
	by       *hold
	did      ledger
	shared   *cause // of several
}

// earlier returns the hold before x of the same lock, or nil.
func (c *cutter) earlier(x *hold) *hold {
	if c.several {
		c.lost = x.forgotten
		return x.prev
	}
	for c.next > 0 {
		c.next--
		x = c.lock.history[c.next]
		if x.queue != c.end.queue || x.to <= c.start || c.inOrder(x) {
			return x
		}
	}
	c.lost = c.lock.evicted
	return nil
}

// inOrder reports whether the waiter that x woke may have been before that of c.end in one queue.
// It counts for the lock, once for each x, what it sees.
func (c *cutter) inOrder(x *hold) bool {
	if !x.compared {
		x.compared = true
		c.lock.compared++
	}
	if x.requeued || x.asked <= c.end.asked+overlap {
		return true
	}
	if x.place == unknownPlace {
		if x.place = c.lock.placeAt(x); x.place == lastPlace {
			c.lock.early++
		}
	}
	return x.place == anyPlace
}

// before accounts for the time back to the beginning of the hold x.
func (c *cutter) before(x *hold) {
	if to := max(x.to, c.start); to < c.at {
		ran := c.at
		if x.ran != 0 {
			ran = min(c.at, max(to, x.ran))
		}
		c.w.handOff += ran - to
		if ran > to {
			c.given = append(c.given, givenTime{from: to, to: ran})
		}
		c.w.unattributed += c.at - ran
		c.windows.noteNobody(c.w, unattributedSpan, ran, c.at)
		c.windows.noteNobody(c.w, handOffSpan, to, ran)
		c.at = to
	}
	if x.to <= c.start {
		return
	}
	x.waiters++
	c.lock.waiters = max(c.lock.waiters, x.waiters)
	c.windows.waiters(c.lock, x.to, x.waiters)
	from := max(c.start, x.from)
	if from >= c.at {
		return
	}
	c.contended(x, from)
	c.blame(x, from)
	c.at = from
}

// contended adds to the time in which the lock was held while somebody waited. All waits during
// the hold x last until its end, so this is the time since the first one began.
func (c *cutter) contended(x *hold, from timeline.Time) {
	if x.contended == 0 {
		x.contended = c.at
	}
	if from >= x.contended {
		return
	}
	switch s, n := (stretch{from, x.contended}), len(c.w.contended); {
	case !c.w.wrapped:
		c.lock.contended += s.end - s.start
		c.windows.contended(c.lock, s.start, s.end, s.end-s.start)
	case n > 0 && c.windows == nil: // when it was does not matter
		c.w.contended[n-1].start -= s.end - s.start
	default:
		c.w.contended = append(c.w.contended, s)
	}
	x.contended = from
}

// blame gives the time from from on to the owner of x and to whoever shares it: other readers that held the lock with that one,
// and a pending writer, for a reader that waits behind it.
func (c *cutter) blame(x *hold, from timeline.Time) {
	e := c.end
	pending := e.queue == readerQueue && x != e && e.pending < e.from
	if !pending && len(x.with) == 0 {
		c.blameOne(x, from)
		return
	}
	edges := append(c.edges[:0], from, c.at)
	if pending {
		edges = append(edges, e.pending, e.from)
	}
	for i := range x.with {
		edges = append(edges, x.with[i].from, x.with[i].to)
	}
	slices.Sort(edges)
	c.edges = edges
	for i := len(edges) - 1; i > 0; i-- {
		a, b := max(edges[i-1], from), min(edges[i], c.at)
		if a >= b {
			continue
		}
		c.sharers = append(c.sharers[:0], coOwner{owner: x.owner, past: x.past})
		for _, r := range x.with {
			if r.from <= a && b <= r.to {
				c.sharers = append(c.sharers, r)
			}
		}
		if pending && e.pending <= a && b <= e.from {
			by := e.owner
			by.flags |= PendingWriter
			c.sharers = append(c.sharers, coOwner{owner: by, past: e.past})
		}
		if len(c.sharers) == 1 {
			c.blameOne(x, a)
		} else {
			c.share(a)
		}
		c.at = a
	}
}

// blameOne gives the time from from on to the owner of x alone.
func (c *cutter) blameOne(x *hold, from timeline.Time) {
	did := x.past.between(from, c.at)
	c.given = append(c.given, givenTime{from: from, to: c.at, by: x, did: did})
	c.w.blame(x.owner, c.at-from, &did)
	c.windows.noteBlame(c.w, x.owner, from, c.at, c.at-from, x.past)
	if c.audit != nil {
		c.audit(c.g, x.owner, from, c.at, c.at-from)
	}
}

// share gives the time from from on to all sharers in equal parts. The first, who is known best, has the odd nanoseconds.
func (c *cutter) share(from timeline.Time) {
	n := timeline.Time(len(c.sharers))
	each := (c.at - from) / n
	var roots ledger
	for i := range c.sharers {
		r, ns := &c.sharers[i], each
		if i == 0 {
			ns = c.at - from - (n-1)*each
		}
		did := r.past.between(from, c.at)
		did.scale(ns)
		c.w.blame(r.owner, ns, &did)
		c.windows.noteBlame(c.w, r.owner, from, c.at, ns, r.past)
		by := r.owner
		by.flags = 0
		for _, p := range did.causeFor(by).parts {
			roots.addCause(ledgerCause{causePart: p})
		}
		if c.audit != nil && r.owner.flags&PendingWriter == 0 {
			c.audit(c.g, r.owner, from, c.at, ns)
		}
	}
	shared := &cause{}
	for i := range roots.causes {
		shared.parts = append(shared.parts, roots.causes[i].causePart)
	}
	c.given = append(c.given, givenTime{from: from, to: c.at, shared: shared})
}
