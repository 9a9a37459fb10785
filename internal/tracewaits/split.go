package tracewaits

import (
	"math/bits"
	"slices"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The time line of a lock
//
// Each release ends a stretch of its lock's time line, which began with the previous release. A
// stretch consists of spans: the lock was held by a known owner, or by several readers; it had been
// given to a goroutine that did not run yet, which is the hand-off; or it is unknown who held it,
// or whether it was held. Until the goroutine that Unlock woke runs, any other may lock and unlock
// a sync.Mutex without an event. Therefore this time is a hand-off only for the writer of an RWMutex
// that the last reader woke, and for a Mutex in starvation mode. Otherwise, only goroutines that are
// seen between the lines of Lock and Unlock are known to hold it (readers.go).
//
// A wait is a part of the time line of its lock. It takes the sums of many stretches (sums.go).

// overlap is the maximum error in the order in which the trace shows two goroutines entering a
// queue: they are in the queue before the event is written.
const overlap timeline.Time = 5_000

// heldSpan is a span of the time line of a lock.
type heldSpan struct {
	from, to timeline.Time
	what     spanKind
	only     doing     // what the holder did, if it was alone and did is nil
	holder   *coOwner  // if blamed
	with     []coOwner // goroutines that shared it
	did      *ledger   // what the holder did, if it was alone and did several things
}

// heldBy returns a span in which a single goroutine held the lock.
func heldBy(by *coOwner, from, to timeline.Time) heldSpan {
	sp := heldSpan{from: from, to: to, what: blamedSpan, holder: by}
	if only, ok := by.past.only(from, to); ok {
		sp.only = only
	} else {
		did := by.past.between(from, to)
		sp.did = &did
	}
	return sp
}

// ledger returns what the holder did in a part of the span.
func (sp *heldSpan) ledger(from, to timeline.Time) (l ledger) {
	switch {
	case len(sp.with) > 0 || sp.did != nil && (from != sp.from || to != sp.to):
		return sp.holder.past.between(from, to)
	case sp.did != nil:
		return *sp.did
	}
	l.spend(sp.only, to-from)
	return l
}

// endStretch makes the spans of the stretch that h, the latest release of its lock, ends. It also
// updates the past of the lock.
func (o *Observer) endStretch(l *tracedLock, h *hold) {
	h.start = h.from
	spans := o.cutRoom.spans[:0]
	if prev := l.last(); prev != nil {
		h.start = min(h.to, max(h.from, prev.to))
		spans = o.settleGap(spans, l, h, prev)
	}
	o.judgeSections(l, h)
	spans = o.settleHeld(spans, h, h.start)
	h.spans, o.cutRoom.spans = slices.Clone(spans), spans
	if o.roots() {
		if l.past == nil {
			l.past = newPast()
			l.past.first, l.past.end, l.past.room = h.start, h.start, &o.room
			o.room.live++
		}
		for i := range h.spans {
			l.past.addSpan(&h.spans[i], doingOf[timeline.WaitMutex])
		}
	}
	later := 0
	for i := range l.seen {
		if l.seen[i].to > h.to {
			l.seen[later] = l.seen[i]
			later++
		}
	}
	clear(l.seen[later:])
	l.seen = l.seen[:later]
}

// settleGap appends the spans between the previous release and the hold h.
func (o *Observer) settleGap(spans []heldSpan, l *tracedLock, h, prev *hold) []heldSpan {
	at := prev.to
	if handed := l.handedUntil(prev, h.start); handed > at {
		spans = append(spans, heldSpan{from: at, to: handed, what: handOffSpan})
		at = handed
	}
	seen := l.seenBetween(at, h.start)
	for i := range seen {
		s := &seen[i]
		if s.from > at {
			spans = append(spans, heldSpan{from: at, to: s.from})
		}
		spans = append(spans, heldBy(s, s.from, s.to))
		at = s.to
	}
	if at < h.start {
		spans = append(spans, heldSpan{from: at, to: h.start})
	}
	return spans
}

// handedUntil returns the time, at most t, until which the lock had been given to the goroutine
// that x woke, which did not run yet.
func (l *tracedLock) handedUntil(x *hold, t timeline.Time) timeline.Time {
	if x.queue != writerQueue && !x.handed {
		return x.to
	}
	if x.ran != 0 {
		t = min(t, x.ran)
	}
	return max(x.to, t)
}

// settleHeld appends the spans of h since from: of its owner and the goroutines that shared the
// lock.
func (o *Observer) settleHeld(spans []heldSpan, h *hold, from timeline.Time) []heldSpan {
	if from >= h.to {
		return spans
	}
	if len(h.with) == 0 {
		return append(spans, heldBy(&h.coOwner, from, h.to))
	}
	edges := append(o.cutRoom.edges[:0], from, h.to)
	for i := range h.with {
		edges = append(edges, h.with[i].from, h.with[i].to)
	}
	slices.Sort(edges)
	o.cutRoom.edges = edges
	for i := 1; i < len(edges); i++ {
		a, b := max(edges[i-1], from), min(edges[i], h.to)
		if a >= b {
			continue
		}
		sp := heldSpan{from: a, to: b, what: blamedSpan, holder: &h.coOwner}
		for _, r := range h.with {
			if r.from <= a && b <= r.to {
				sp.with = append(sp.with, r)
			}
		}
		if len(sp.with) == 0 {
			sp = heldBy(&h.coOwner, a, b)
		}
		spans = append(spans, sp)
	}
	return spans
}

// contendedIn adds the part of the stretch that h ends in which its lock was held while others
// waited.
func (o *Observer) contendedIn(l *tracedLock, h *hold, w *waiting) {
	for i := range h.spans {
		sp := &h.spans[i]
		from := max(sp.from, l.waitingSince)
		if sp.what != blamedSpan || from >= sp.to || l.waitingSince == 0 {
			continue
		}
		if w.wrapped {
			w.contended = append(w.contended, stretch{from, sp.to})
			continue
		}
		o.contend(l, from, sp.to, sp.to-from)
	}
}

// order returns when the waiter that h woke asked, if it comes behind all that asked before; else
// 0.
func (h *hold) order() timeline.Time {
	if h.requeued || h.place == anyPlace {
		return 0
	}
	return h.asked
}

// shares calls f for each holder of the lock in the part of the span from a to b. They have equal
// shares; the first, which is known best, has the odd nanoseconds.
func (sp *heldSpan) shares(a, b timeline.Time, f func(by *coOwner, ns timeline.Time, did *ledger)) {
	did := sp.ledger(a, b)
	if len(sp.with) == 0 {
		f(sp.holder, b-a, &did)
		return
	}
	n := timeline.Time(len(sp.with) + 1)
	each := (b - a) / n
	did.scale(b - a - (n-1)*each)
	f(sp.holder, b-a-(n-1)*each, &did)
	for i := range sp.with {
		did := sp.with[i].past.between(a, b)
		did.scale(each)
		f(&sp.with[i], each, &did)
	}
}

// cut divides the wait of g up to h.to among the successive owners of its lock. h is the release
// that ended the wait.
func (o *Observer) cut(g *tracedGoroutine, h *hold) {
	w := g.wait
	c := cutter{o: o, g: g, w: w, lock: w.lock, start: max(w.asked, o.cuts.at), at: h.to, end: h, n: len(w.lock.history), audit: o.audit}
	if c.lock.doubtful() || h.queue == readerQueue && h.pending < h.from {
		c.placed = o.roots()
		c.divide(func() {
			c.overtaken()
			c.byHold()
		})
		return
	}
	c.divide(c.bySums)
	if o.roots() {
		g.past.addOfLock(c.start, h.to, doingOf[w.kind], c.lock.past)
	}
}

// divide divides the wait with f. What f leaves has no known owner.
func (c *cutter) divide(f func()) {
	c.o.cutRoom.given = c.o.cutRoom.given[:0]
	f()
	if c.placed {
		c.g.past.addCut(c.o.cutRoom.given, doingOf[c.w.kind])
	}
	c.o.unowned(c.w, unattributedSpan, c.start, c.at)
	if c.lost {
		c.o.lost++
	}
}

// cutter is the state of a cut. The time since at is accounted for.
type cutter struct {
	o         *Observer
	g         *tracedGoroutine
	w         *waiting
	lock      *tracedLock
	start, at timeline.Time
	end       *hold // the release that ended the wait
	n         int   // number of releases up to that
	lost      bool  // the wait is older than the history, or needs too many steps
	placed    bool  // the past of the goroutine gets each of the pieces
	steps     int
	audit     func(waiter *timeline.Goroutine, g int64, by owner, from, to, ns timeline.Time)
	parts     int // of the sums that were added
}

// cutRoom is memory that cuts reuse.
type cutRoom struct {
	given   []heldSpan // latest first
	edges   []timeline.Time
	spans   []heldSpan
	chained []heldSpan // see cutter.chained
}

// noSums makes tests divide waits stretch by stretch.
var noSums = false

// maxSteps bounds the steps for one wait: far more than a queue in order needs.
const maxSteps = 4096

// bySums goes back over the time line of the lock, from sum to sum.
func (c *cutter) bySums() {
	i := c.n // everything from here on is accounted for
	defer func() { c.lock.work += c.steps + c.parts }()
	for i > 0 && c.at > c.start {
		if c.steps++; c.steps > maxSteps {
			c.lost = true
			return
		}
		if n := c.sum(i); n > 0 {
			i -= n
			continue
		}
		i--
		x := c.lock.history[i]
		if x.to <= c.start {
			return
		}
		if x != c.end && x.queue == c.end.queue && !c.inOrder(x) {
			continue // of another lock
		}
		if x.to < c.at { // a release was skipped
			c.o.unowned(c.w, unattributedSpan, x.to, c.at)
			c.at = x.to
		}
		c.stretch(x.spans)
	}
	c.lost = c.at > c.start && c.lock.evicted
}

// sum adds the largest sum that ends before stretch number i, and returns the number of stretches
// in it; 0 if no sum lies completely in this wait.
func (c *cutter) sum(i int) int {
	if i%fanOut != 0 || noSums || c.audit != nil || c.lock.history[i-1].to != c.at {
		return 0
	}
	for level := min(bits.TrailingZeros(uint(i))/fanBits, len(c.lock.sums)) - 1; level >= 0; level-- {
		shift := (level + 1) * fanBits
		n := i>>shift - 1
		s := c.lock.sums[level][n]
		if s.from < c.start || !c.o.windows.oneHas(s.from, s.to) ||
			s.asked[c.end.queue] > c.end.asked+overlap && !c.ordered(level, n) {
			continue
		}
		if len(s.parts) > wideSum {
			c.w.times.add(&s.times)
			c.w.forLock().sums = append(c.w.sums, s)
		} else {
			c.parts += len(s.parts)
			if c.w.addSum(s); c.o.windows != nil {
				c.o.windows.piece(c.w, s.to).addSum(s)
			}
		}
		c.at = s.from
		return 1 << shift
	}
	return 0
}

// addSum adds a sum to a wait, or to its piece in the window of the sum.
func (p *piece) addSum(s *spanSum) {
	p.times.add(&s.times)
	for i := range s.parts {
		part := p.part(&s.parts[i].owner)
		part.ns += s.parts[i].ns
		part.did.merge(&s.parts[i].did)
	}
}

// ordered reports whether all waiters in sum number i of a level may have been before that of c.end
// in one queue. If a woken waiter asked later, ordered checks once whether that was possible.
func (c *cutter) ordered(level, i int) bool {
	s, q := c.lock.sums[level][i], c.end.queue
	if s.asked[q] <= c.end.asked+overlap {
		return true
	}
	s.asked[q] = 0
	for j := i * fanOut; j < (i+1)*fanOut; j++ {
		if c.steps++; level > 0 {
			c.ordered(level-1, j)
			s.asked[q] = max(s.asked[q], c.lock.sums[level-1][j].asked[q])
		} else if x := c.lock.history[j]; x.queue == q {
			c.inOrder(x)
			s.asked[q] = max(s.asked[q], x.order())
		}
	}
	return s.asked[q] <= c.end.asked+overlap
}

// stretch adds the spans of a stretch, without the part before the wait.
func (c *cutter) stretch(spans []heldSpan) {
	for i := len(spans) - 1; i >= 0 && c.at > c.start; i-- {
		sp := &spans[i]
		if between := max(sp.to, c.start); between < c.at {
			c.o.unowned(c.w, unattributedSpan, between, c.at)
			c.at = between
		}
		from, to := max(sp.from, c.start), min(sp.to, c.at)
		if from >= to {
			continue
		}
		switch sp.what {
		case handOffSpan:
			c.o.unowned(c.w, handOffSpan, from, to)
			if c.placed {
				c.give(heldSpan{from: from, to: to, what: handOffSpan})
			}
			if c.audit != nil {
				c.audit(c.g.g, 0, owner{}, from, to, to-from)
			}
		case unattributedSpan:
			c.o.unowned(c.w, unattributedSpan, from, to)
		default:
			c.held(sp, from, to)
		}
		c.at = from
	}
}

// held blames the holders of the lock.
func (c *cutter) held(sp *heldSpan, from, to timeline.Time) {
	part := heldSpan{from: from, to: to, what: blamedSpan, holder: sp.holder, with: sp.with}
	switch {
	case len(sp.with) > 0:
		sp.shares(from, to, func(by *coOwner, ns timeline.Time, did *ledger) { c.blame(by, from, to, ns, did) })
	case sp.did == nil && !c.placed && c.audit == nil && c.o.windows == nil:
		p := c.w.part(&sp.holder.owner) // the usual case
		p.ns += to - from
		p.did.spend(sp.only, to-from)
		c.w.times[blamedSpan] += to - from
	default:
		did := sp.ledger(from, to)
		c.blame(sp.holder, from, to, to-from, &did)
		if part.did = sp.did; c.placed && sp.did != nil && (from != sp.from || to != sp.to) {
			did := did // only this copy is on the heap
			part.did = &did
		}
	}
	if c.placed {
		c.give(part)
	}
}

// blame blames a holder for ns of the time between two instants.
func (c *cutter) blame(by *coOwner, from, to, ns timeline.Time, did *ledger) {
	c.o.blame(c.w, &by.owner, from, to, ns, did, by.past)
	if c.audit != nil && by.owner.flags&contention.PendingWriter == 0 {
		c.audit(c.g.g, by.g, by.owner, from, to, ns)
	}
}

func (c *cutter) give(sp heldSpan) { c.o.cutRoom.given = append(c.o.cutRoom.given, sp) }

// overtaken checks the order of the waiters as bySums does, while there is doubt.
func (c *cutter) overtaken() {
	if c.lock.several() || c.end.queue == readerQueue {
		return
	}
	l := c.lock.history
	for _, x := range slices.Backward(l[max(0, len(l)-maxChained):]) {
		if x.to <= c.start {
			return
		}
		if x != c.end && x.queue == c.end.queue {
			c.inOrder(x)
		}
	}
}

// maxChained is the maximum number of holds that a wait is divided among one by one.
const maxChained = 128

// byHold goes back from hold to hold. For a lock that is one of several, it takes the holds that
// are linked one by one; for a reader, which waits for the pending writer as well as for those
// before it, all.
func (c *cutter) byHold() {
	several := c.lock.doubtful()
	next := len(c.lock.history) - 1
	for x, n := c.end, 0; x != nil && c.at > c.start && x.to > c.start; n++ {
		if n == maxChained {
			c.lost = true
			return
		}
		before, spans := x.prev, x.spans
		if !several {
			if before = nil; next > 0 {
				next--
				before = c.lock.history[next]
			}
			spans = c.pending(spans)
		} else {
			spans = c.chained(x, before)
			c.lost = x.forgotten
		}
		if x.to < c.at {
			c.o.unowned(c.w, unattributedSpan, x.to, c.at)
			c.at = x.to
		}
		c.stretch(spans)
		x = before
	}
}

// chained makes the spans of the hold x, which is linked to before. They are valid until the next
// call.
func (c *cutter) chained(x, before *hold) []heldSpan {
	spans, start := c.o.cutRoom.chained[:0], x.from
	if before != nil {
		start = min(x.to, max(x.from, before.to))
		if before.handed && before.ran != 0 {
			spans = append(spans, heldSpan{from: before.to, to: min(start, before.ran), what: handOffSpan})
		}
	}
	switch n := len(x.spans); {
	case len(x.with) > 0:
		spans = c.o.settleHeld(spans, x, start)
	case start >= x.to:
	case n > 0 && x.spans[n-1].what == blamedSpan && x.spans[n-1].from == start && x.spans[n-1].holder == &x.coOwner:
		spans = append(spans, x.spans[n-1]) // it was the same when x ended
	default: // all waiters behind x need it
		if x.whole == nil || x.whole.from != start {
			whole := heldBy(&x.coOwner, start, x.to)
			x.whole = &whole
		}
		spans = append(spans, *x.whole)
	}
	c.o.cutRoom.chained = spans
	return spans
}

// pending adds the pending writer to the holders of the lock for the time in which it held back the
// waiting reader.
func (c *cutter) pending(spans []heldSpan) []heldSpan {
	e := c.end
	by := e.coOwner
	by.owner.flags |= contention.PendingWriter
	var out []heldSpan
	for _, sp := range spans {
		a, b := max(sp.from, e.pending), min(sp.to, e.from)
		if sp.what != blamedSpan || a >= b {
			out = append(out, sp)
			continue
		}
		for _, part := range [3][2]timeline.Time{{sp.from, a}, {a, b}, {b, sp.to}} {
			if part[0] >= part[1] {
				continue
			}
			p := heldSpan{from: part[0], to: part[1], what: blamedSpan, holder: sp.holder, with: sp.with}
			if part[0] == a {
				p.with = append(slices.Clip(p.with), by)
			}
			if len(p.with) == 0 {
				p = heldBy(sp.holder, p.from, p.to)
			}
			out = append(out, p)
		}
	}
	return out
}

// inOrder reports whether the waiter that x woke may have been before that of c.end in one queue.
// It updates the counts of the lock, once for each x.
func (c *cutter) inOrder(x *hold) bool {
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
