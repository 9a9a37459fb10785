package tracewaits

import (
	"slices"
	"sort"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The past of a goroutine is what it did and, while it was blocked, because of whom at the root. It
// answers what an owner did from one instant to another, which is asked when a wait for it ends.
//
// A past is a sequence of segments without gaps. 64 of them are a block, whose sums are kept once
// they were needed, so that a long time costs little more to look at than a short one. Of very long
// pasts, the oldest segments go. What remains of them is the sums, of up to 64 eras that become
// longer and longer; for an era that is cut by a question, what the goroutine did in it is unknown.

// past is the past of one goroutine.
type past struct {
	first  timeline.Time // it is known from here on
	end    timeline.Time // up to here
	open   doing         // what it has done since
	segs   []segment
	room   *pastRoom // nil once the goroutine is gone
	recent [4]*cause // the latest with one root
	*longPast
}

// longPast is what few pasts have: those that are long, or of a lock.
type longPast struct {
	blocks []ledger      // the sums of segs[:64], segs[64:128], … that were needed so far
	gone   []era         // the sums of what is not kept
	lost   timeline.Time // up to which that is
	waited *cause        // of those who waited for the lock of which this is the time line
}

// noLongPast is that of all others. It is never written.
var noLongPast longPast

func newPast() *past { return &past{longPast: &noLongPast} }

// long returns that of a past, to write to it.
func (p *past) long() *longPast {
	if p.longPast == &noLongPast {
		p.longPast = &longPast{}
	}
	return p.longPast
}

// pastRoom is the memory that all live goroutines share.
type pastRoom struct{ live, used int }

// reset makes p the past of a goroutine about which nothing is known, and keeps memory if it is
// little.
func (p *past) reset() {
	segs := p.segs
	clear(segs)
	if cap(segs) > pastBlock {
		segs = nil
	}
	*p = past{segs: segs[:0], recent: p.recent, longPast: &noLongPast}
}

// each returns how many segments a goroutine may keep.
func (r *pastRoom) each() int { return max(pastBlock, min(maxPast, pastBudget/max(1, r.live))) }

// segment is a time in which a goroutine did one thing. It ends where the next one begins.
type segment struct {
	start timeline.Time
	did   doing
	cause *cause // who is at the root of it if the goroutine was blocked; nil: itself
}

// cause is who was at the root of a wait. With several parts, it is not known when which was.
type cause struct {
	parts []causePart
	lock  *past // if not nil, the time line of the lock that was waited for: who was at the root then
}

// causePart is the part of one root. site is nil if it is not known.
type causePart struct {
	root  owner // without flags
	links int32
	ns    timeline.Time
}

const (
	pastBlock = 64
	// maxPast is how many segments of one goroutine are kept, and pastBudget of all, about.
	maxPast    = 2048
	pastBudget = 1 << 20
	// mostRoots is how many roots a cause or a sum tells apart, the longest of them.
	mostRoots = 16
	// maxPlaced is how many pieces one wait is cut into by its roots. Of more, only the longest
	// are; of the others between them, only the sums are known. That is so for all if there are
	// more than maxSeen.
	maxPlaced = 128
	maxSeen   = 1024
)

// add appends what the goroutine did from p.end to the given time.
func (p *past) add(to timeline.Time, did doing, c *cause) {
	if to <= p.end {
		return
	}
	if n := len(p.segs); n == 0 || p.segs[n-1].did != did || !p.segs[n-1].cause.same(c) || c != nil && len(c.parts) > 1 {
		if cap(p.segs) == 0 {
			p.segs = make([]segment, 0, 4) // few have fewer
		}
		p.segs = append(p.segs, segment{p.end, did, c})
		if p.room != nil {
			p.room.used++
			if n > 2*pastBlock && p.room.used > pastBudget || n >= 2*maxPast+pastBlock {
				p.trim(p.room.each())
			}
		}
	}
	p.end = to
}

// same reports whether two causes are one root for all of the time.
func (c *cause) same(d *cause) bool {
	switch {
	case c == d:
		return c == nil || len(c.parts) == 1
	case c == nil || d == nil || len(c.parts) != 1 || len(d.parts) != 1:
		return false
	}
	return c.parts[0].root == d.parts[0].root && c.parts[0].links == d.parts[0].links
}

// trim drops the oldest blocks if there are twice as many segments as are to be kept.
func (p *past) trim(keep int) {
	if len(p.segs) < 2*keep+pastBlock {
		return
	}
	n := (len(p.segs) - keep) / pastBlock
	p.block(n - 1) // makes it long
	if p.room != nil {
		p.room.used -= n * pastBlock
	}
	for i := range p.blocks[:n] {
		p.gone = append(p.gone, era{p.segs[(i+1)*pastBlock].start, p.blocks[i]})
	}
	for len(p.gone) > maxEras {
		p.mergeEras()
	}
	p.blocks = slices.Delete(p.blocks, 0, n)
	p.segs = slices.Delete(p.segs, 0, n*pastBlock)
	if p.room == nil {
		p.blocks, p.segs = slices.Clip(slices.Clone(p.blocks)), slices.Clip(slices.Clone(p.segs))
	}
	p.lost = p.segs[0].start
}

// block returns the sums of a block that is complete.
func (p *past) block(i int) *ledger {
	for n := len(p.blocks); n <= i; n++ {
		p.long().blocks = append(p.blocks, p.sum(n*pastBlock, (n+1)*pastBlock, p.segs[n*pastBlock].start, p.segs[(n+1)*pastBlock].start))
	}
	return &p.blocks[i]
}

// era is a time that is not kept but for its sum. It begins where the one before ends.
type era struct {
	end timeline.Time
	sum ledger
}

const maxEras = 64

// mergeEras makes one era of two each.
func (p *past) mergeEras() {
	merged := p.gone[:0]
	for i := 0; i < len(p.gone); i += 2 {
		e := p.gone[i]
		if i+1 < len(p.gone) {
			e.end = p.gone[i+1].end
			e.sum.merge(&p.gone[i+1].sum)
		}
		merged = append(merged, e)
	}
	clear(p.gone[len(merged):])
	p.gone = merged
}

// forgotten adds to l what the goroutine did between two instants that are not kept any more.
func (p *past) forgotten(l *ledger, from, to timeline.Time) {
	start := p.first
	for i := range p.gone {
		e := &p.gone[i]
		if from <= start && e.end <= to {
			l.merge(&e.sum)
		} else {
			l.did[doingUnknown] += max(0, min(to, e.end)-max(from, start))
		}
		start = e.end
	}
}

// sum adds up the segments from i to j, cut to the time between from and to.
func (p *past) sum(i, j int, from, to timeline.Time) (l ledger) {
	p.sumTo(&l, i, j, from, to)
	return l
}

// sumTo adds the sum to l.
func (p *past) sumTo(l *ledger, i, j int, from, to timeline.Time) {
	for ; i < j; i++ {
		s := &p.segs[i]
		end := p.end
		if i+1 < len(p.segs) {
			end = p.segs[i+1].start
		}
		switch a, b := max(s.start, from), min(end, to); {
		case s.cause == nil:
			l.add(s.did, b-a)
		case s.cause.lock != nil:
			l.addOfLock(s, a, b)
		default:
			l.addSegment(s, end-s.start, b-a)
		}
	}
}

// at returns the index of the segment at the time t, which is not before the first one.
func (p *past) at(t timeline.Time) int {
	n := len(p.segs)
	for i := n - 1; i >= max(0, n-8); i-- { // most ask for what was just now
		if p.segs[i].start <= t {
			return i
		}
	}
	return sort.Search(n, func(i int) bool { return p.segs[i].start > t }) - 1
}

// between returns what the goroutine did between two instants, of which the second is not in the
// future. It takes 0.1 µs, and some µs for a long time.
func (p *past) between(from, to timeline.Time) (l ledger) {
	p.addBetween(&l, from, to)
	return l
}

// addBetween adds that to an empty ledger.
func (p *past) addBetween(l *ledger, from, to timeline.Time) {
	if to <= from {
		return
	}
	if p == nil {
		l.did[doingUnknown] = to - from
		return
	}
	if first := min(to, p.first); from < first {
		l.did[doingUnknown] += first - from
		from = first
	}
	if open := max(from, p.end); open < to {
		l.add(p.open, to-open)
		to = open
	}
	if p.lost > from && from < to {
		p.forgotten(l, from, min(to, p.lost))
		from = min(to, p.lost)
	}
	if from >= to {
		return
	}
	i, j := p.at(from), p.at(to-1)+1
	for i < j {
		if i%pastBlock == 0 && i+pastBlock < j && p.segs[i].start >= from {
			l.merge(p.block(i / pastBlock))
			i += pastBlock
			continue
		}
		next := min(j, i-i%pastBlock+pastBlock)
		p.sumTo(l, i, next, from, to)
		i = next
	}
}

// only returns what the goroutine did all the time between two instants, if that is one thing that
// no other goroutine was at the root of, and is found at once.
func (p *past) only(from, to timeline.Time) (doing, bool) {
	switch n := 0; {
	case p == nil:
		return doingUnknown, true
	case from >= to || from < p.first || from < p.lost:
		return 0, false
	case from >= p.end:
		return p.open, true
	default:
		if n = len(p.segs) - 1; n < 0 || p.end < to || p.segs[n].start > from || p.segs[n].cause != nil {
			return 0, false
		}
		return p.segs[n].did, true
	}
}

// transition notes the end of one state, but for that of a wait, and the beginning of the next.
func (p *past) transition(t *timeline.Transition) {
	switch {
	case !t.State.Alive():
		p.first, p.end = t.End, t.End
	case len(p.segs) == 0 && p.end < t.Start: // it is seen for the first time
		p.first, p.end = t.Start, t.Start
	}
	if t.State.Alive() && t.State != timeline.Waiting { // for that, see addCut, addBlamed and finish
		p.add(t.End, doingIn(t.State), nil)
	}
	p.open = doingIn(t.To)
}

// doingIn returns what a goroutine does in a state; unknown if that depends on the end of a wait.
func doingIn(s timeline.State) doing {
	switch s {
	case timeline.Running, timeline.Syscall, timeline.InC, timeline.InCDetached:
		return doingRunning
	case timeline.Runnable:
		return doingRunnable
	case timeline.SyscallBlocked:
		return doingSyscall
	}
	return doingUnknown
}

// addCut appends a wait for a lock, as it was cut. The latest part comes first.
func (p *past) addCut(given []givenTime, on doing) {
	p.segs = slices.Grow(p.segs, len(given))
	for i := len(given) - 1; i >= 0; i-- {
		s := &given[i]
		p.addWaiting(s.from, on, true)
		switch {
		case s.shared != nil:
			p.add(s.to, on, s.shared)
		case s.by == nil:
			p.addWaiting(s.to, on, false)
		default:
			p.addBlamed(s.from, s.to, on, s.by.owner, s.by.past, s.did)
		}
	}
}

// addSpan appends a span of the time line of a lock, for those who waited for it.
func (p *past) addSpan(sp *heldSpan, on doing) {
	p.addWaiting(sp.from, on, true)
	switch {
	case sp.what == handOffSpan:
		p.addWaiting(sp.to, on, false)
	case sp.what == unattributedSpan:
		p.addWaiting(sp.to, on, true)
	case len(sp.with) == 0:
		p.addBlamed(sp.from, sp.to, on, sp.holder.owner, sp.holder.past, sp.did)
	default:
		var roots ledger
		sp.shares(sp.from, sp.to, func(by *coOwner, _ timeline.Time, did *ledger) {
			root := by.owner
			root.flags = 0
			for _, part := range did.causeFor(root).parts {
				roots.addCause(ledgerCause{causePart: part})
			}
		})
		shared := &cause{}
		for i := range roots.causes {
			shared.parts = append(shared.parts, roots.causes[i].causePart)
		}
		p.add(sp.to, on, shared)
	}
}

// addOfLock appends a wait for a lock with the time line q.
func (p *past) addOfLock(from, to timeline.Time, on doing, q *past) {
	p.addWaiting(from, on, true)
	if q == nil {
		p.addWaiting(to, on, true)
		return
	}
	if q.waited == nil {
		q.long().waited = &cause{lock: q}
	}
	p.add(to, on, q.waited)
}

// addBlamed appends a time in which the goroutine was blocked by an owner with the past q, who did
// then what is in the ledger, which is nil if no other goroutine was at the root.
func (p *past) addBlamed(from, to timeline.Time, on doing, by owner, q *past, did *ledger) {
	by.flags = 0
	if did != nil && len(did.causes) > 0 && (q.lost > from || !p.addPlaced(from, to, on, by, q)) {
		p.add(to, on, did.causeFor(by))
		return
	}
	p.add(to, on, p.single(by, 1))
}

// single returns a cause with one root.
func (p *past) single(root owner, links int32) *cause {
	for _, c := range p.recent {
		if c != nil && c.parts[0].links == links && c.parts[0].root == root {
			return c
		}
	}
	copy(p.recent[1:], p.recent[:])
	c := &struct {
		cause
		one [1]causePart
	}{one: [1]causePart{{root: root, links: links}}}
	c.parts = c.one[:]
	p.recent[0] = &c.cause
	return &c.cause
}

// addPlaced is addBlamed for each segment of q. It returns false if there are too many.
func (p *past) addPlaced(from, to timeline.Time, on doing, by owner, q *past) bool {
	i := max(0, q.at(from))
	if len(q.segs) == 0 {
		return false
	}
	last := q.at(min(to, q.end) - 1)
	if last-i >= maxSeen {
		return false
	}
	least := timeline.Time(0)
	if last-i >= maxPlaced {
		least = (to - from) / maxPlaced
	}
	var short ledger // of the segments from p.end on that are too short
	for ; i <= last; i++ {
		s, end := &q.segs[i], q.end
		if i < len(q.segs)-1 {
			end = q.segs[i+1].start
		}
		d := min(to, end) - max(from, s.start)
		if d < least {
			q.sumTo(&short, i, i+1, from, to)
			continue
		}
		p.addLedger(max(from, s.start), on, by, &short)
		if s.cause != nil && s.cause.lock != nil && p.addPlacedOf(s, max(from, s.start), min(to, end), on, by) {
			continue
		}
		q.sumTo(&short, i, i+1, from, to)
		p.addLedger(min(to, end), on, by, &short)
	}
	p.addLedger(min(to, q.end), on, by, &short)
	return true
}

// addPlacedOf appends a time in which the owner was itself blocked by a lock, for each segment of
// that lock's time line. It returns false if there are too many, or they are not known.
func (p *past) addPlacedOf(s *segment, from, to timeline.Time, on doing, by owner) bool {
	q := s.cause.lock
	if len(q.segs) == 0 || q.lost > from || q.first > from || q.end < to {
		return false
	}
	i, last := q.at(from), q.at(to-1)
	if last-i >= maxSeen {
		return false
	}
	for ; i <= last; i++ {
		end := q.end
		if i < len(q.segs)-1 {
			end = q.segs[i+1].start
		}
		var l ledger
		l.addOfLock(s, max(from, q.segs[i].start), min(to, end))
		p.addLedger(min(to, end), on, by, &l)
	}
	return true
}

// addLedger appends a time up to the given one in which the goroutine was blocked by one that did
// what is in the ledger, and empties that.
func (p *past) addLedger(to timeline.Time, on doing, by owner, did *ledger) {
	if to <= p.end {
		return
	}
	switch {
	case len(did.causes) == 0:
		p.add(to, on, p.single(by, 1))
	case len(did.causes) == 1 && did.itself() <= 0:
		p.add(to, on, p.single(did.causes[0].root, did.causes[0].links+1))
	default:
		p.add(to, on, did.causeFor(by))
	}
	*did = ledger{causes: did.causes[:0]}
}

// addWaiting appends a time up to the given one in which the goroutine was blocked by nobody that
// is known. For a lock, a goroutine is to blame.
func (p *past) addWaiting(to timeline.Time, on doing, lock bool) {
	if to <= p.end {
		return
	}
	var c *cause
	if lock {
		c = p.single(owner{}, 1)
	}
	p.add(to, on, c)
}

// finish completes a wait.
func (p *past) finish(t *timeline.Transition) {
	p.addWaiting(t.End, doingOf(waitOf(&t.Interval)), lockWait(t.Wait))
}
