package contention

import "github.com/bottleneck-go/bottleneck/timeline"

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
	c := cutter{g: g.g, w: w, windows: o.windows, given: o.scratch[:0], lock: w.lock, several: w.lock.several(), start: max(w.asked, o.cuts.at), at: h.to, end: h, audit: o.audit}
	c.next = len(c.lock.history) - 1
	for x := h; x != nil && c.at > c.start; x = c.earlier(x) {
		c.before(x)
	}
	w.unattributed += max(0, c.at-c.start)
	o.windows.noteNobody(w, unattributedSpan, c.start, c.at)
	if c.lost {
		o.lost++
	}
	o.scratch = c.given
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

	audit func(waiter *timeline.Goroutine, by owner, from, to timeline.Time)

	lost bool // the wait is older than the history

	given []givenTime // the latest first
}

// givenTime is a time that was given to the owner of a hold, and what that one did then; or, without a hold, to
// the hand-off.
type givenTime struct {
	from, to timeline.Time
	by       *hold
	did      ledger
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
	if from < x.contended {
		c.lock.contended += x.contended - from
		c.windows.contended(c.lock, from, x.contended, x.contended-from)
		x.contended = from
	}
}

// blame gives the time from from on to the owner of x. A reader that waits behind a pending writer
// waits for both the writer and those who hold the lock.
func (c *cutter) blame(x *hold, from timeline.Time) {
	ns := c.at - from
	did := x.past.between(from, c.at)
	c.given = append(c.given, givenTime{from, c.at, x, did})
	if e := c.end; e.queue == readerQueue && x != e && e.pending < e.from {
		if both := (min(c.at, e.from) - max(from, e.pending)) / 2; both > 0 {
			by := e.owner
			by.flags |= PendingWriter
			pending := e.past.between(max(from, e.pending), min(c.at, e.from))
			pending.scale(both)
			c.w.blame(by, both, &pending)
			c.shared(x, by, from, both)
			ns -= both
			did = did.clone()
			did.scale(ns)
		}
	}
	c.w.blame(x.owner, ns, &did)
	if ns == c.at-from {
		c.windows.noteBlame(c.w, x.owner, from, c.at, ns, x.past)
	}
	if c.audit != nil {
		c.audit(c.g, x.owner, from, c.at)
	}
}

// shared notes the spans of a time that two share: the owner of x, who has all of it, and a pending writer, who has the part both of
// the middle of it.
func (c *cutter) shared(x *hold, writer owner, from, both timeline.Time) {
	e := c.end
	begin, end := max(from, e.pending), min(c.at, e.from)
	c.windows.noteBlame(c.w, x.owner, from, begin, begin-from, x.past)
	c.windows.noteBlame(c.w, x.owner, begin, end, end-begin-both, x.past)
	c.windows.noteBlame(c.w, writer, begin, end, both, e.past)
	c.windows.noteBlame(c.w, x.owner, end, c.at, c.at-end, x.past)
}
