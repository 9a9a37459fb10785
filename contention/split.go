package contention

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
)

// Dividing a wait among the owners
//
//   - While the lock is held exclusively, the owner is to blame.
//   - While n readers hold it and a writer waits, each of them is to blame for 1/n of the time.
//   - A reader waits although only readers hold the lock if a writer is pending. Then the n readers
//     and the writer are to blame for 1/(n+1) each: without any of them the waiter would have
//     continued. The writer's part is flagged PendingWriter.
//   - Time in which the lock is free is hand-off.
//
// The owners of a wait have only a few call chains. So an account adds up, exit by exit, the time
// for which each cause has kept others waiting: an owner and its root (profile.go). Each exit is
// added once, by the first wait behind it that is settled. The sum at the end of a wait, minus that
// at its beginning, is what the wait lost to the cause. Readers and others see an RWMutex
// differently, so it has two views, with sums of their own.
//
// Readers that hold the lock together are added when they have all left, at the latest when the
// next writer has the lock. Sharing is exact in integers: the clock of a view runs at 1/n of the
// time. Each reader gets the difference between its arrival and its departure by that clock.

const (
	viewOthers = iota // view of writers, and the only one of a Mutex
	viewReaders
	views
)

func viewOf(k kindID) int {
	if k == kindReader {
		return viewReaders
	}
	return viewOthers
}

// holder is an owner and the time for which it had the lock.
type holder struct {
	_ incomparable

	chain                       *callstack.Chain // nil if unknown
	g                           uint64
	flags                       uint32 // ReadOwner, Signaler, InWait
	acquired, released, pending int64  // pending: as in exit
	gaps                        int64  // free time between the first two
	doubts
}

// cause is an owner and the goroutine at the end of the chain of blame that begins with it.
type cause struct {
	owner, root   *callstack.Chain // nil if unknown
	ownerG, rootG uint64           // 0 without Options.Goroutines
	flags         uint32
	links         int32 // as in Root
	blocked       bool  // the owner was blocked, on
	via           kindID
}

// loss is the time that is lost to a cause.
type loss struct {
	held   int64
	doubts // the unknown part is not in held
}

func (l *loss) add(m loss) {
	l.held += m.held
	l.unknown += m.unknown
	l.unsure += m.unsure
	l.variance += m.variance
}

func (l *loss) subtract(m loss) {
	l.add(loss{-m.held, doubts{-m.unknown, -m.unsure, -m.variance}})
}

// series is a sum as a function of time. It grows evenly, by the clock of its view, in each segment.
type series struct {
	segments []segment
	total    loss
}

type segment struct {
	from, to int64
	before   loss // sum at from
}

//go:noinline
func (s *series) add(from, to int64, l loss) {
	if n := len(s.segments); n > 0 {
		from = max(from, s.segments[n-1].to)
	}
	s.segments = append(s.segments, segment{from, max(from, to), s.total})
	s.total.add(l)
}

// between returns by how much the sum grows between two instants, and the first and the last instant
// between them in a segment, which are equal if there is none.
func (s *series) between(from, to int64, c clock) (l loss, first, last int64) {
	g := s.segments
	i := search(len(g), func(i int) bool { return g[i].to > from })
	j := search(len(g), func(j int) bool { return g[j].from >= to })
	if i >= j {
		return loss{}, to, to
	}
	l = s.sum(j)
	if to < g[j-1].to {
		l = s.within(j-1, to, c)
	}
	if from > g[i].from {
		l.subtract(s.within(i, from, c))
	} else {
		l.subtract(g[i].before)
	}
	return l, max(from, g[i].from), min(to, g[j-1].to)
}

// sum returns the sum before segment i.
func (s *series) sum(i int) loss {
	if i < len(s.segments) {
		return s.segments[i].before
	}
	return s.total
}

// within returns the sum at an instant in segment i.
func (s *series) within(i int, t int64, c clock) loss {
	g, l := &s.segments[i], s.sum(i+1)
	l.subtract(g.before)
	begin := c.at(g.from)
	l = l.part(c.at(t)-begin, c.at(g.to)-begin)
	l.add(g.before)
	return l
}

// part returns part/whole of l.
func (l loss) part(part, whole int64) loss {
	share := float64(part) / float64(max(1, whole))
	if l.held != whole {
		part = int64(float64(l.held)*share + 0.5)
	}
	return loss{part, doubts{int64(float64(l.unknown) * share), int64(float64(l.unsure) * share), l.variance * share}}
}

// forget drops the segments that end before t.
func (s *series) forget(t int64) {
	n := search(len(s.segments), func(i int) bool { return s.segments[i].to > t })
	s.segments = append(s.segments[:0], s.segments[n:]...)
}

// search returns the smallest i < n for which f returns true, or n. It is fast if that is near n.
func search(n int, f func(int) bool) int {
	low := n - 1
	for step := 1; low >= 0 && f(low); step *= 2 {
		n, low = low, low-step
	}
	for low = max(low, -1) + 1; low < n; {
		if mid := int(uint(low+n) / 2); f(mid) {
			n = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// clock is the clock of a view: a list of times, between which it runs evenly. It stands still
// before the first and after the last one. An empty clock shows the time.
type clock []tick

type tick struct{ time, value int64 }

func (c clock) at(t int64) int64 {
	n := len(c)
	if n == 0 {
		return t
	}
	switch i := search(n, func(i int) bool { return c[i].time > t }); i {
	case 0:
		return c[0].value
	case n:
		return c[n-1].value
	default:
		a, b := c[i-1], c[i]
		if b.value-a.value == b.time-a.time {
			return a.value + t - a.time
		}
		return a.value + int64(float64(b.value-a.value)*float64(t-a.time)/float64(b.time-a.time))
	}
}

// run makes the clock run by value from one instant to another, after it stood still.
//
//go:noinline
func (c *clock) run(from, to, value int64) {
	var last int64
	if n := len(*c); n > 0 {
		last = (*c)[n-1].value
		from = max(from, (*c)[n-1].time)
	}
	*c = append(*c, tick{from, last}, tick{max(from, to), last + value})
}

func (c *clock) last() int64 {
	if n := len(*c); n > 0 {
		return (*c)[n-1].value
	}
	return 0
}

// mostPeriods is the maximum number of separate times in which goroutines waited that are kept.
const mostPeriods = 32

// sums has the sums of an account, guarded by its mutex.
type sums struct {
	causes []*causeSums
	free   []*causeSums // for reuse
	held   series       // the time for which the lock was held
	clocks [views]clock // of an RWMutex
	rest   [views]int64 // what the division has left over

	// The sums include the exits after base, up to last, as far as they were after since.
	history     *history
	base, last  uint64
	since       int64
	stale       bool // some owner was unknown, and may be known now
	exclusiveTo int64
	open        []part // readers that are not added yet

	reach int64    // how far waits reach back, about
	most  int      // number of holds after which the oldest are dropped
	waits []period // times in which goroutines waited
	edges []edge   // scratch memory, like
	parts []part

	// chunk is the chunk of the latest exit, and first the value of its first at that time.
	chunk  *chunk
	first  uint64
	visits int // number of times that settling has looked at an exit, a chunk or a cause
}

type causeSums struct {
	cause
	views [views]series
	// Of the present readers with this cause: their number, and when that last changed, also by
	// the clocks of the views.
	n       float64
	changed int64
	marks   [views]int64
}

type period struct{ from, to int64 }

// part is the time between two instants, or the part of it that is lost to a cause.
type part struct {
	*causeSums // nil: a reader's hold as a whole
	loss
	from, to int64
}

type edge struct {
	at    int64
	cause *causeSums // nil: a reader, or the pending writer if n is 0
	n     float64
}

// extend adds the exits up to the last one of w. It returns the first exit whose owner is not yet
// known, if there is one, unless force is set.
func (s *sums) extend(a *account, w *wait, force bool) (missing *exit) {
	if s.history != w.history || s.stale && !force || w.first < s.base || w.first > s.last || w.start < s.since {
		s.restart(w)
	}
	for s.last < w.last {
		e := s.nextExit(w)
		if !e.known() {
			if !force {
				if e.want(a); !e.known() {
					return e
				}
			}
			s.stale = s.stale || !e.known()
		}
		s.addExit(a, e)
	}
	// The next waits have begun before some of the exits after that.
	for h := w.history; h != nil && s.last < h.seq.Load(); {
		e := s.nextExit(w)
		if final := s.last+1 < h.seq.Load() || e.shared || e.pending != 0; !final || !e.known() {
			break
		}
		s.addExit(a, e)
	}
	if w.kind == kindWriter {
		s.share(w.start, w.end) // it has the lock: all readers have left
	}
	return nil
}

func (s *sums) addExit(a *account, e *exit) {
	var h holder
	e.holder(&h)
	s.last++
	s.add(a, &h)
}

// restart makes the sums begin before the first exit of w.
func (s *sums) restart(w *wait) {
	s.forget(1 << 62)
	s.clocks, s.open, s.chunk = [views]clock{s.clocks[0][:0], s.clocks[1][:0]}, s.open[:0], nil
	s.history, s.base, s.last, s.since, s.exclusiveTo, s.stale = w.history, w.first, w.first, 0, 0, false
}

// forget drops what was before t.
func (s *sums) forget(t int64) {
	s.since = t
	s.held.forget(t)
	kept := s.causes[:0]
	for _, c := range s.causes {
		for v := range c.views {
			c.views[v].forget(t)
		}
		if len(c.views[viewOthers].segments)+len(c.views[viewReaders].segments) > 0 || c.n != 0 || s.isOpen(c) {
			kept = append(kept, c)
		} else {
			s.free = append(s.free, c)
		}
	}
	s.causes = kept
	for v, c := range s.clocks {
		n := max(1, search(len(c), func(i int) bool { return c[i].time > t }))
		s.clocks[v] = append(c[:0], c[min(n-1, len(c)):]...)
	}
}

func (s *sums) isOpen(c *causeSums) bool {
	return slices.ContainsFunc(s.open, func(h part) bool { return h.causeSums == c })
}

// exit returns exit k, which is one of w, and its chunk, looking for it from chunk c on.
func (s *sums) exit(c *chunk, k uint64) (*exit, *chunk) {
	for s.visits++; k >= c.first+chunkExits; s.visits++ {
		c = c.next.Load()
	}
	return &c.exits[k-c.first], c
}

// nextExit returns exit last+1, which is one of w.
func (s *sums) nextExit(w *wait) *exit {
	c, k := s.chunk, s.last+1
	if c == nil || s.first < w.pinned.first || k < s.first { // it may be reused for later exits
		c = w.pinned
	}
	e, c := s.exit(c, k)
	s.chunk, s.first = c, c.first
	return e
}

// add adds the next hold.
func (s *sums) add(a *account, h *holder) {
	from := max(s.exclusiveTo, h.acquired)
	if h.flags&ReadOwner != 0 {
		if h.released > from {
			s.open = append(s.open, part{from: from, to: h.released})
			s.open = s.spread(a, h, from, s.open)
		}
		return
	}
	if a.rw {
		s.share(h.pending, h.acquired)
		if p := max(h.pending, s.exclusiveTo); h.pending != 0 && p < from {
			if c := s.clocks[viewReaders]; len(c) > 0 && c.at(from) > c.at(p) {
				of := s.of(cause{owner: h.chain, root: h.chain, ownerG: a.idOf(h.g), rootG: a.idOf(h.g), flags: h.flags | PendingWriter})
				of.views[viewReaders].add(p, from, loss{held: c.at(from) - c.at(p)})
			}
		}
	}
	if h.released <= from {
		return
	}
	for v := range s.clocks {
		if a.rw {
			s.clocks[v].run(from, h.released, h.released-from)
		}
	}
	s.parts = s.spread(a, h, from, s.parts[:0])
	for i := range s.parts {
		p := &s.parts[i]
		p.views[viewOthers].add(p.from, p.to, p.loss)
		if a.rw {
			p.views[viewReaders].add(p.from, p.to, p.loss)
		}
	}
	held := max(0, h.released-from-h.gaps)
	s.held.add(from, from+held, loss{held: held})
	s.exclusiveTo = h.released
}

// spread appends the parts of the time for which h held the lock since from, each with one cause.
func (s *sums) spread(a *account, h *holder, from int64, list []part) []part {
	own := cause{owner: h.chain, root: h.chain, ownerG: a.idOf(h.g), rootG: a.idOf(h.g), flags: h.flags}
	all := loss{max(0, h.released-from-h.gaps), h.doubts}
	a.found = a.session.waited.of(h.g, from, h.released, a.found[:0])
	if len(a.found) == 0 {
		// Waits that began during the hold precede the gaps.
		c := s.of(own)
		list = append(list, part{c, all, from, from + all.held})
		if h.gaps > 0 {
			list = append(list, part{c, loss{}, from + all.held, h.released})
		}
		return list
	}
	sortPieces(a.found)
	left, share := all.held, float64(all.held)/float64(h.released-from)
	at, region, covered := from, from, int64(0) // the pieces since region cover so much of the time until at
	for i := 0; ; i++ {
		begin, end, c := h.released, h.released, own
		if i < len(a.found) {
			f := &a.found[i]
			begin, end = max(f.from, from), min(f.to, h.released)
			c.blocked, c.via, c.links = true, f.kind, f.links
			if f.links > 0 {
				c.root, c.rootG = f.chain, f.g
			}
		}
		if begin >= at {
			if free := at - region - covered; free > 0 {
				list = s.part(list, own, region, at, free, share, &left)
			}
			list = s.part(list, own, at, begin, begin-at, share, &left)
			at, region, covered = begin, begin, 0
		}
		if i == len(a.found) {
			break
		}
		f := &a.found[i]
		ns := min(int64(float64(end-begin)*float64(f.ns)/float64(f.to-f.from)+0.5), max(end, at)-region-covered)
		list = s.part(list, c, begin, end, ns, share, &left)
		covered += ns
		at = max(at, end)
	}
	all.held = left
	return append(list, part{s.of(own), all, h.released, h.released})
}

// part appends a part of a hold, of which left is left.
func (s *sums) part(list []part, c cause, from, to, ns int64, share float64, left *int64) []part {
	ns = min(*left, int64(float64(ns)*share+0.5))
	if ns <= 0 {
		return list
	}
	*left -= ns
	return append(list, part{s.of(c), loss{held: ns}, from, to})
}

// of returns the sums of a cause.
//
//go:noinline
func (s *sums) of(c cause) *causeSums {
	for _, old := range s.causes {
		if old.owner == c.owner && old.cause == c {
			return old
		}
	}
	n := new(causeSums)
	if k := len(s.free); k > 0 {
		n = s.free[k-1]
		s.free = s.free[:k-1]
	}
	n.cause = c
	s.causes = append(s.causes, n)
	return n
}

// share divides the time among the readers that had left by until, when a writer got the lock that
// had been pending since an instant.
func (s *sums) share(pending, until int64) {
	if len(s.open) == 0 {
		return
	}
	s.edges = s.edges[:0]
	later := s.open[:0]
	for _, h := range s.open {
		if h.to > until {
			later = append(later, h)
			continue
		}
		n := 1.0
		if h.causeSums != nil {
			n = float64(h.held) / float64(max(1, h.to-h.from))
		}
		s.edges = append(s.edges, edge{h.from, h.causeSums, n}, edge{h.to, h.causeSums, -n})
	}
	s.open = later
	if len(s.edges) == 0 {
		return
	}
	if pending != 0 {
		s.edges = append(s.edges, edge{at: max(pending, s.exclusiveTo)})
	}
	e := s.edges
	order.InPlace(len(e), func(i, j int) bool { return e[i].at < e[j].at }, func(i, j int) { e[i], e[j] = e[j], e[i] })
	at, present, waits := s.edges[0].at, int64(0), int64(0)
	for i := range s.edges {
		e := &s.edges[i]
		s.visits++
		if e.at > at && present > 0 {
			s.run(viewOthers, at, e.at, present)
			if waits > 0 {
				s.run(viewReaders, at, e.at, present+waits)
			}
			s.held.add(at, e.at, loss{held: e.at - at})
		}
		switch at = e.at; {
		case e.cause != nil:
			s.change(e)
		case e.n == 0:
			waits = 1
		default:
			present += int64(e.n)
		}
	}
}

// run makes the clock of a view run while n share the blame.
func (s *sums) run(view int, from, to, n int64) {
	ns := to - from + s.rest[view]
	s.rest[view] = ns % n
	s.clocks[view].run(from, to, ns/n)
}

// change notes the arrival or departure of a reader.
func (s *sums) change(e *edge) {
	c := e.cause
	for v := range s.clocks {
		now := s.clocks[v].last()
		if ns := now - c.marks[v]; c.n > 0 && ns > 0 {
			c.views[v].add(c.changed, e.at, loss{held: int64(c.n*float64(ns) + 0.5)})
		}
		c.marks[v] = now
	}
	c.changed = e.at
	if c.n += e.n; c.n < 1e-9 {
		c.n = 0
	}
}

// lost appends what w has lost to the causes during it, and returns by how much it makes the time longer in
// which the lock was held while a goroutine waited.
func (s *sums) lost(w *wait, list []part) (_ []part, contended int64) {
	v, end := viewOf(w.kind), w.blamedUntil()
	left := w.end - w.start
	for _, c := range s.causes {
		s.visits++
		sum := &c.views[v]
		l := part{causeSums: c}
		if n := len(sum.segments); n == 0 || sum.segments[n-1].to <= w.start {
			continue
		}
		if l.loss, l.from, l.to = sum.between(w.start, end, s.clocks[v]); l.from < l.to {
			l.held = min(max(0, l.held), left)
			left -= l.held
			list = append(list, l)
		}
	}
	contended = s.cover(period{w.start, end})
	s.reach = max(w.took(), s.reach-s.reach/256)
	if n := len(s.held.segments); n > s.most {
		s.forget(w.end - 2*s.reach)
		s.most = max(256, 2*len(s.held.segments))
	}
	return list, contended
}

// cover adds a time in which a goroutine waited. It returns for how long the lock was held in the
// part of it that was not covered before.
func (s *sums) cover(w period) (contended int64) {
	held := func(from, to int64) int64 {
		l, _, _ := s.held.between(from, to, s.clocks[viewOthers])
		return l.held
	}
	all, rest, kept := w, w, s.waits[:0] // rest is not covered
	for _, old := range s.waits {
		if old.to < w.from || old.from > w.to {
			kept = append(kept, old)
			continue
		}
		all = period{min(all.from, old.from), max(all.to, old.to)}
		switch {
		case old.from <= rest.from:
			rest.from = max(rest.from, old.to)
		case old.to >= rest.to:
			rest.to = min(rest.to, old.from)
		default:
			contended -= held(old.from, old.to)
		}
	}
	contended += held(rest.from, rest.to)
	if len(kept) > mostPeriods {
		kept = append(kept[:0], kept[1:]...)
	}
	s.waits = append(kept, all)
	return min(max(0, contended), w.to-w.from)
}

// appendLog appends the parts of w that are due to the owner that left with exit number k, and returns
// until when the lock was last held exclusively, as add does.
func (s *sums) appendLog(list []waitlog.Part, w *wait, e *exit, k uint64, exclusiveTo int64) ([]waitlog.Part, int64) {
	var h holder
	if e.holder(&h); h.chain == nil {
		return list, exclusiveTo
	}
	c := s.clocks[viewOf(w.kind)]
	due := func(from, to, gaps int64, flags uint32) {
		if from, to = max(from, w.start), min(to, w.blamedUntil()); to > from {
			if ns := min(c.at(to)-c.at(from), to-from) - gaps; ns > 0 {
				list = append(list, waitlog.Part{Number: k, Goroutine: h.g, From: from - w.start, Length: to - from, NS: ns, Flags: logFlags(flags)})
			}
		}
	}
	from := max(exclusiveTo, h.acquired)
	due(from, h.released, h.gaps, h.flags)
	if w.kind == kindReader && h.pending != 0 && h.flags&PendingWriter == 0 {
		due(max(exclusiveTo, h.pending), from, 0, h.flags|PendingWriter)
	}
	if h.flags&ReadOwner == 0 && h.released > from {
		exclusiveTo = h.released
	}
	return list, exclusiveTo
}

// blamedUntil returns when w ended or, for a reader, when it was admitted.
func (w *wait) blamedUntil() int64 {
	if w.granted != 0 {
		return min(w.end, w.granted)
	}
	return w.end
}
