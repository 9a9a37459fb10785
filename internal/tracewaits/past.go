package tracewaits

import (
	"slices"
	"sort"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The past of a goroutine is what it did and, while it was blocked, the root of the blocking. It
// answers what an owner did between two instants, when a wait for that owner ends.
//
// A past is a sequence of segments without gaps. The sums of each 64 segments, a block, are kept
// once they were needed, so a long interval costs little more than a short one. Of very long pasts,
// the oldest blocks are dropped. Their sums remain, for up to 64 eras of increasing length. What the
// goroutine did in a part of an era is unknown.

// past is the past of one goroutine, or of a lock.
type past struct {
	first timeline.Time // known from here
	end   timeline.Time // to here
	open  doing         // what it has done since
	// did and active are those of the latest segment, which is far away in memory.
	did    doing
	active bool
	segs   []segment
	room   *pastRoom  // nil once the goroutine is gone
	few    [2]segment // room for segs until it first blocks
	*longPast
}

// longPast has the fields that few pasts need: long pasts, those with roots and those of locks.
type longPast struct {
	causes []*cause      // by segment: the root if the goroutine was blocked; nil: itself
	blocks []ledger      // the sums of segs[:64], segs[64:128], … that were needed so far
	gone   []era         // the sums of dropped segments
	lost   timeline.Time // end of the dropped segments
	waited *cause        // for those who waited for the lock with this time line
}

// noLongPast is the longPast of all others. It is never written.
var noLongPast longPast

func newPast() *past { return &past{longPast: &noLongPast} }

// long returns the longPast of p for writing.
func (p *past) long() *longPast {
	if p.longPast == &noLongPast {
		p.longPast = &longPast{}
	}
	return p.longPast
}

// pastRoom is what the pasts of live goroutines share.
type pastRoom struct {
	brief      bool                 // only the latest segments are kept, without the sums of others
	live, used int                  // goroutines and the segments that they use
	recent     [recentPlaces]*cause // latest causes with one root, by hash
}

// reset makes p the empty past of a new goroutine. It keeps small allocations.
func (p *past) reset() {
	segs := p.segs
	if cap(segs) > pastBlock {
		segs = nil
	}
	*p = past{segs: segs[:0], longPast: &noLongPast}
}

// each returns the number of segments that one goroutine may keep.
func (r *pastRoom) each() int { return max(pastBlock, min(maxPast, pastBudget/max(1, r.live))) }

// segment is a time in which a goroutine did one thing. It ends where the next segment begins. It is
// small because segments are most of what is kept of busy goroutines: bit 0 is set if the goroutine
// was active, which is running or in a system call, the next five are the doing, and the others are
// the start since past.first.
type segment uint64

func (s segment) active() bool { return s&1 != 0 }
func (s segment) did() doing   { return doing(s >> 1 & 31) }

// start returns when segment i began.
func (p *past) start(i int) timeline.Time { return p.first + timeline.Time(p.segs[i]>>6) }

// cause is the root of a wait. If it has several parts, their times within the wait are unknown.
type cause struct {
	parts []causePart
	lock  *past // if not nil, the time line of the lock that was waited for, which has the roots
}

// causePart is the part of one root. site is nil if the root is unknown.
type causePart struct {
	root  owner // without flags
	links int32
	ns    timeline.Time
}

const (
	pastBlock = 64
	briefPast = 24 // segments of a brief past: some 8 waits
	// maxPast is the number of segments kept for one goroutine, and pastBudget about that for
	// all.
	maxPast    = 2048
	pastBudget = 1 << 20
	// mostRoots is the maximum number of roots in a cause or a sum; the longest are kept.
	mostRoots = 16
	// maxPlaced is the maximum number of pieces into which the roots divide one wait. If there
	// are more, only the longest are separate, and the others between them are sums. If there are
	// more than maxSeen, the whole wait is one sum.
	maxPlaced = 16
	maxSeen   = 1024
)

// add appends what the goroutine did from p.end to the given time.
func (p *past) add(to timeline.Time, did doing, c *cause) {
	if to <= p.end {
		return
	}
	n := len(p.segs)
	if p.did == did && !p.active && n > 0 && p.cause(n-1).same(c) && (c == nil || len(c.parts) <= 1) {
		p.end = to
		return
	}
	if c != nil && p.causes == nil {
		p.long().causes = make([]*cause, n, n+1)
	}
	p.begin(to, did, false)
	if c != nil {
		p.long().causes[len(p.segs)-1] = c
	}
}

// begin appends a segment without a cause from p.end to the given time.
func (p *past) begin(to timeline.Time, did doing, active bool) {
	n := len(p.segs)
	if cap(p.segs) == 0 {
		p.segs = p.few[:0]
	}
	s := segment(p.end-p.first)<<6 | segment(did)<<1
	if active {
		s |= 1
	}
	p.segs = append(p.segs, s)
	p.end, p.did, p.active = to, did, active
	if p.causes != nil {
		p.causes = append(p.causes, nil)
	}
	switch {
	case p.room == nil:
	case p.room.brief:
		if n >= 2*briefPast {
			p.segs = slices.Delete(p.segs, 0, briefPast)
		}
	default:
		p.room.used++
		if n > 2*pastBlock && p.room.used > pastBudget || n >= 2*maxPast+pastBlock {
			p.trim(p.room.each())
		}
	}
}

// cause returns the cause of segment i.
func (p *past) cause(i int) *cause {
	if p.causes == nil {
		return nil
	}
	return p.causes[i]
}

// same reports whether two causes have the same single root.
func (c *cause) same(d *cause) bool {
	switch {
	case c == d:
		return c == nil || len(c.parts) == 1
	case c == nil || d == nil || len(c.parts) != 1 || len(d.parts) != 1:
		return false
	}
	return c.parts[0].root == d.parts[0].root && c.parts[0].links == d.parts[0].links
}

// trim drops the oldest blocks if there are twice as many segments as keep.
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
		p.gone = append(p.gone, era{p.start((i + 1) * pastBlock), p.blocks[i]})
	}
	for len(p.gone) > maxEras {
		p.mergeEras()
	}
	p.blocks = slices.Delete(p.blocks, 0, n)
	p.segs = slices.Delete(p.segs, 0, n*pastBlock)
	if p.causes != nil {
		p.causes = slices.Delete(p.causes, 0, n*pastBlock)
	}
	if p.room == nil {
		p.blocks, p.segs, p.causes = slices.Clone(p.blocks), slices.Clone(p.segs), slices.Clone(p.causes)
	}
	p.lost = p.start(0)
}

// block returns the sums of the complete block i.
func (p *past) block(i int) *ledger {
	for n := len(p.blocks) * pastBlock; n <= i*pastBlock; n += pastBlock {
		p.long().blocks = append(p.blocks, ledger{})
		p.sumTo(&p.blocks[len(p.blocks)-1], n, n+pastBlock, p.start(n), p.start(n+pastBlock))
	}
	return &p.blocks[i]
}

// era is a time of which only the sum is kept. It begins where the previous era ends.
type era struct {
	end timeline.Time
	sum ledger
}

const maxEras = 64

// mergeEras merges each two eras into one.
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

// forgotten adds to l what the goroutine did between two instants in the dropped part.
func (p *past) forgotten(l *ledger, from, to timeline.Time) {
	start := p.first
	for i := range p.gone {
		e := &p.gone[i]
		if from <= start && e.end <= to {
			l.merge(&e.sum)
		} else {
			l.spend(doingUnknown, max(0, min(to, e.end)-max(from, start)))
		}
		start = e.end
	}
}

// sumTo adds the sum of the segments from i to j, clipped to the time between from and to, to l.
func (p *past) sumTo(l *ledger, i, j int, from, to timeline.Time) {
	latest, of := 0, -1 // the segment that has cause number of
	if i == j {
		return
	}
	for start, end := p.start(i), timeline.Time(0); i < j; i, start = i+1, end {
		if end = p.end; i+1 < len(p.segs) {
			end = p.start(i + 1)
		}
		did, c := p.segs[i].did(), p.cause(i)
		switch a, b := max(start, from), min(end, to); {
		case c == nil:
			l.spend(did, b-a)
		case of >= 0 && c == p.causes[latest] && did == p.segs[latest].did() && b > a:
			l.spend(did, b-a)
			l.causes[of].ns += b - a
		case c.lock != nil:
			of = -1
			l.addOfLock(did, c.lock, a, b)
		default:
			latest, of = i, l.addSegment(did, c, end-start, b-a)
		}
	}
}

// at returns the index of the segment at time t, which is not before the first segment.
func (p *past) at(t timeline.Time) int {
	n := len(p.segs)
	for i := n - 1; i >= max(0, n-8); i-- { // most queries are about the recent past
		if p.start(i) <= t {
			return i
		}
	}
	return sort.Search(n, func(i int) bool { return p.start(i) > t }) - 1
}

// between returns what the goroutine did between two instants; to is not in the future. It takes
// 0.1 µs, and some µs for a long time.
func (p *past) between(from, to timeline.Time) (l ledger) {
	p.addBetween(&l, from, to)
	return l
}

// addBetween is between for an empty ledger.
func (p *past) addBetween(l *ledger, from, to timeline.Time) {
	if to <= from {
		return
	}
	if p == nil {
		l.spend(doingUnknown, to-from)
		return
	}
	if first := min(to, p.first); from < first {
		l.spend(doingUnknown, first-from)
		from = first
	}
	if open := max(from, p.end); open < to {
		l.spend(p.open, to-open)
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
		if i%pastBlock == 0 && i+pastBlock < j && p.start(i) >= from {
			l.merge(p.block(i / pastBlock))
			i += pastBlock
			continue
		}
		next := min(j, i-i%pastBlock+pastBlock)
		p.sumTo(l, i, next, from, to)
		i = next
	}
}

// only returns what the goroutine did between two instants, if that is a single thing, with itself
// as the root, and is found at once.
func (p *past) only(from, to timeline.Time) (doing, bool) {
	switch n := 0; {
	case p == nil:
		return doingUnknown, true
	case from >= to || from < p.first || from < p.lost:
		return 0, false
	case from >= p.end:
		return p.open, true
	default:
		if n = len(p.segs) - 1; n < 0 || p.end < to || p.start(n) > from || p.cause(n) != nil {
			return 0, false
		}
		return p.segs[n].did(), true
	}
}

// transition records the end of one state, except for a wait, and the beginning of the next.
func (p *past) transition(t *timeline.Transition) {
	switch {
	case !t.State.Alive():
		p.first, p.end = t.End, t.End
	case len(p.segs) == 0 && p.end < t.Start: // first transition seen
		p.first, p.end = t.Start, t.Start
	}
	if t.State.Alive() && t.State != timeline.Waiting && t.End > p.end { // waits: see addCut, addBlamed and finish
		did, on, n := doingIn(t.State), active(t.State), len(p.segs)
		if p.did == did && p.active == on && n > 0 && p.cause(n-1) == nil {
			p.end = t.End
		} else {
			p.begin(t.End, did, on)
		}
	}
	p.open = doingIn(t.To)
}

// doingIn returns what a goroutine does in a state, or doingUnknown if that depends on the end of a
// wait.
func doingIn(s timeline.State) doing {
	switch s {
	case timeline.Running, timeline.Syscall, timeline.InC, timeline.InCDetached:
		return doingRunning
	case timeline.Runnable:
		return doingRunnable
	case timeline.SyscallBlocked:
		return doingOf[timeline.WaitSyscall]
	}
	return doingUnknown
}

// addCut appends a wait for a lock as it was divided, latest part first.
func (p *past) addCut(given []heldSpan, on doing) {
	for i := range slices.Backward(given) {
		p.addSpan(&given[i], on)
	}
}

// addSpan appends a span of the time line of a lock, as the cause for its waiters.
func (p *past) addSpan(sp *heldSpan, on doing) {
	p.addWaiting(sp.from, on, true)
	switch {
	case sp.what == handOffSpan:
		p.addWaiting(sp.to, on, false)
	case sp.what == unattributedSpan:
		p.addWaiting(sp.to, on, true)
	case len(sp.with) == 0:
		p.addBlamed(sp.from, sp.to, on, &sp.holder.owner, sp.holder.past, sp.did)
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

// addBlamed appends a time in which the goroutine was blocked by an owner with the past q. did is
// what the owner did then; nil if no other goroutine was at the root.
func (p *past) addBlamed(from, to timeline.Time, on doing, by *owner, q *past, did *ledger) {
	if to <= p.end {
		return
	}
	root := *by
	root.flags = 0
	if did != nil && len(did.causes) > 0 && (q.lost > from || !p.addPlaced(from, to, on, root, q)) {
		p.add(to, on, did.causeFor(root))
		return
	}
	p.add(to, on, p.single(&root, 1))
}

// unknownRoot is the cause of waits for locks with an unknown owner.
var unknownRoot = &cause{parts: []causePart{{links: 1}}}

func (p *past) single(root *owner, links int32) *cause {
	var e **cause
	if p.room != nil {
		e = &p.room.recent[(uintptr(unsafe.Pointer(root.site))>>4^uintptr(unsafe.Pointer(unsafe.StringData(root.group)))>>3^uintptr(root.g)^uintptr(links)<<5)%recentPlaces]
		if c := *e; c != nil && c.parts[0].links == links && c.parts[0].root.is(root) {
			return c
		}
	}
	c := &struct {
		cause
		one [1]causePart
	}{one: [1]causePart{{root: *root, links: links}}}
	c.parts = c.one[:]
	if e != nil {
		*e = &c.cause
	}
	return &c.cause
}

// addPlaced is addBlamed for each segment of q. It returns false if there are too many segments.
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
	var short ledger // of the segments since p.end that are too short
	for ; i <= last; i++ {
		start, end := q.start(i), q.end
		if i < len(q.segs)-1 {
			end = q.start(i + 1)
		}
		d := min(to, end) - max(from, start)
		if d < least {
			q.sumTo(&short, i, i+1, from, to)
			continue
		}
		p.addLedger(max(from, start), on, by, &short)
		if c := q.cause(i); c != nil && c.lock != nil && p.addPlacedOf(q.segs[i].did(), c.lock, max(from, start), min(to, end), on, by) {
			continue
		}
		q.sumTo(&short, i, i+1, from, to)
		p.addLedger(min(to, end), on, by, &short)
	}
	p.addLedger(min(to, q.end), on, by, &short)
	return true
}

// addPlacedOf appends a time in which the owner was itself blocked by a lock, for each segment of
// that lock's time line. It returns false if there are too many segments, or they are unknown.
func (p *past) addPlacedOf(did doing, q *past, from, to timeline.Time, on doing, by owner) bool {
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
			end = q.start(i + 1)
		}
		var l ledger
		l.addOfLock(did, q, max(from, q.start(i)), min(to, end))
		p.addLedger(min(to, end), on, by, &l)
	}
	return true
}

// addLedger appends a time up to to in which the goroutine was blocked by one that did what is in
// the ledger, and empties the ledger.
func (p *past) addLedger(to timeline.Time, on doing, by owner, did *ledger) {
	if to <= p.end {
		return
	}
	switch {
	case len(did.causes) == 0:
		p.add(to, on, p.single(&by, 1))
	case len(did.causes) == 1 && did.itself() <= 0:
		p.add(to, on, p.single(&did.causes[0].root, did.causes[0].links+1))
	default:
		p.add(to, on, did.causeFor(by))
	}
	*did = ledger{causes: did.causes[:0]}
}

// addWaiting appends a time up to to in which the goroutine was blocked by no known goroutine. If
// it waited for a lock, the root is an unknown goroutine.
func (p *past) addWaiting(to timeline.Time, on doing, lock bool) {
	if to <= p.end {
		return
	}
	var c *cause
	if lock {
		c = unknownRoot
	}
	p.add(to, on, c)
}

// finish appends the rest of a wait that is over.
func (p *past) finish(t *timeline.Transition, roots bool) {
	p.addWaiting(t.End, doingOf[waitOf(t)], roots && lockWait(t.Wait))
}
