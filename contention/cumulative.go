package contention

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Cumulative sums of holds
//
// A wait for a Mutex behind 63 owners has 63 holds to blame, but the owners have only a few call
// chains. So an account adds up, exit by exit, the time for which each call chain has held the
// lock. The sums after the last exit of a wait, minus those after its first one, are what the wait
// lost to each chain. The cost of a wait depends on the number of call chains, not on the number of
// holds in it. Each exit is added once, by the first wait behind it that is settled.
//
// The first hold of a wait may have begun before the wait. Only the part since then counts; it is
// computed from the exit itself, as in split.go.
//
// Owners may themselves have waited while they held the lock (profile.go). The time that they lost
// to each root has a sum of its own: a sum is for a cause, which is an owner and its root.
//
// The sums after the latest exits are in a ring. A wait that began before these restarts the sums.
// Waits behind few owners are divided hold by hold, as are those whose holds must stay separate:
// for an execution trace, with Options.Goroutines, and behind readers.

const (
	// mostCauses bounds the sums of a lock. If there are more, they restart.
	mostCauses = 16
	// A wait that alone has more causes is divided hold by hold, and so are the next pause waits.
	pause = 64
	// fewRows is the minimum length of the ring.
	fewRows = 64
)

// ownerCause is an owner and the goroutine at the end of the chain of blame that begins with it.
type ownerCause struct {
	owner, root *callstack.Chain // the root is nil if unknown
	links       int32            // as in Root
	blocked     bool             // the owner was blocked, on
	via         kindID
}

// loss is the time that waits have lost to a cause.
type loss struct {
	held int64
	// For runs of holds, as in exit. The unknown part is not in held.
	unknown, unsure int64
	doubt           float64
}

func (l *loss) add(m loss) {
	l.held += m.held
	l.unknown += m.unknown
	l.unsure += m.unsure
	l.doubt += m.doubt
}

func (l *loss) subtract(m loss) { l.add(loss{-m.held, -m.unknown, -m.unsure, -m.doubt}) }

// cumulative has the sums of an account, guarded by its mutex.
type cumulative struct {
	causes []ownerCause
	sums   []loss // by cause, after exit last
	at     int64  // end of the last hold

	// rows has the sums after exits base to last, stride per exit, in a ring.
	rows       []loss
	stride     int
	base, last uint64

	// chunk is the chunk of the latest exit, and first the value of its first at that time.
	chunk *chunk
	first uint64

	paused int    // number of waits still to be divided hold by hold
	visits int    // number of times that settling has looked at an exit, or at a chunk of them
	lost   []loss // scratch memory: the time that the current wait has lost
}

// bySums settles w by cumulative sums, if they apply, and returns done. In that case, settled is
// false if the call chain of an owner is still missing.
func (a *account) bySums(w *wait) (settled, done bool) {
	s := &a.cumulative
	n := w.last - w.first
	if n <= mostApart || w.kind != kindMutex || a.holdsApart() {
		return false, false
	}
	if s.paused > 0 {
		s.paused--
		return false, false
	}
	if missing, ok := s.reach(a, w); missing != nil {
		w.missing = missing
		return false, true
	} else if !ok || !s.between(a, w) {
		s.paused = pause
		return false, false
	}
	a.bookSums(w)
	w.pinned.pins.Add(-1)
	return true, true
}

// holdsApart reports whether the holds of a wait must stay separate.
func (a *account) holdsApart() bool {
	s := a.session
	return a.rw || s.goroutines || s.tracing()
}

// reach adds the exits up to the last one of w. It returns the first exit whose owner is not yet
// known, if there is one. It returns false if there are too many causes.
func (s *cumulative) reach(a *account, w *wait) (missing *exit, ok bool) {
	if w.last-w.first >= uint64(s.length()) || w.first < s.base || w.first > s.last || s.stride == 0 {
		s.restart(w)
	}
	again := false
	for s.last < w.last {
		e := s.nextExit(w)
		if !e.known() {
			if e.want(a); !e.known() {
				return e, false
			}
		}
		if s.fold(a, e, w.start) {
			continue
		}
		if again {
			return nil, false
		}
		again = true
		if len(s.causes) >= mostCauses {
			s.causes = s.causes[:0]
		}
		s.restart(w)
	}
	return nil, true
}

func (s *cumulative) length() int {
	if s.stride == 0 {
		return 0
	}
	return len(s.rows) / s.stride
}

// restart makes the sums begin before the first exit of w.
func (s *cumulative) restart(w *wait) {
	n := max(fewRows, s.length())
	for uint64(n) <= 2*(w.last-w.first) { // room for waits that began before this one
		n *= 2
	}
	stride := max(2, s.stride)
	for stride < mostCauses && stride < len(s.causes)+1 {
		stride *= 2
	}
	if len(s.rows) != n*stride {
		s.rows = make([]loss, n*stride)
	}
	s.stride = stride
	s.sums = slices.Grow(s.sums[:0], stride)[:stride]
	clear(s.sums)
	s.base, s.last, s.at = w.first, w.first, 0
	s.chunk = nil
	copy(s.row(s.last), s.sums)
}

// row returns the sums after exit k, which is in the ring.
func (s *cumulative) row(k uint64) []loss {
	i := int(k%uint64(s.length())) * s.stride
	return s.rows[i : i+s.stride]
}

// exit returns exit k, which is one of w, and its chunk, looking for it from chunk c on.
func (s *cumulative) exit(c *chunk, k uint64) (*exit, *chunk) {
	for s.visits++; k >= c.first+chunkExits; s.visits++ {
		c = c.next.Load()
	}
	return &c.exits[k-c.first], c
}

// nextExit returns exit last+1, which is one of w.
func (s *cumulative) nextExit(w *wait) *exit {
	c, k := s.chunk, s.last+1
	if c == nil || s.first < w.pinned.first || k < s.first { // it may be reused for later exits
		c = w.pinned
	}
	e, c := s.exit(c, k)
	s.chunk, s.first = c, c.first
	return e
}

// fold adds exit last+1, for a wait that began at start. It returns false if there is no room for
// its causes.
func (s *cumulative) fold(a *account, e *exit, start int64) bool {
	if from := max(s.at, e.acquired); e.released > from {
		if !s.spread(a, e, from, s.sums) {
			return false
		}
		if s.at != 0 && (e.acquired != 0 || s.at >= start) {
			a.contend(e, e.released-from-e.gaps)
		}
		s.at = e.released
	}
	s.last++
	s.base = max(s.base, s.last-min(s.last, uint64(s.length()-1)))
	copy(s.row(s.last), s.sums)
	return true
}

// spread adds the time for which e held the lock since from to the sums of its causes. It returns
// false, and leaves sums unchanged, if there is no room for one of them.
func (s *cumulative) spread(a *account, e *exit, from int64, sums []loss) bool {
	var h holder
	e.holder(&h)
	held := max(0, h.released-from-h.gaps)
	a.found = a.session.waited.of(h.g, from, h.released, a.found[:0])
	sortPieces(a.found)
	itself := s.of(ownerCause{owner: h.chain, root: h.chain})
	for i := range a.found {
		if s.of(rootCause(h.chain, &a.found[i])) < 0 {
			return false
		}
	}
	if itself < 0 {
		return false
	}
	left, share := held, float64(held)/float64(h.released-from)
	for i := range a.found {
		f := &a.found[i]
		ns := min(left, f.share(from, h.released, share))
		sums[s.of(rootCause(h.chain, f))].held += ns
		left -= ns
	}
	sums[itself].add(loss{held: left, unknown: h.unknown, unsure: h.unsure, doubt: h.doubt})
	return true
}

// rootCause returns the cause for what an owner lost to a root while it waited.
func rootCause(owner *callstack.Chain, f *waitedPiece) ownerCause {
	c := ownerCause{owner: owner, root: f.chain, links: f.links, blocked: true, via: f.kind}
	if f.links == 0 {
		c.root = owner
	}
	return c
}

// of returns the number of a cause, or -1 if there is no room for it.
func (s *cumulative) of(c ownerCause) int {
	for i := range s.causes {
		if s.causes[i] == c {
			return i
		}
	}
	if len(s.causes) >= s.stride {
		return -1
	}
	s.causes = append(s.causes, c)
	return len(s.causes) - 1
}

// between computes what w has lost to each cause. It returns false if there is no room for a cause
// of the first hold.
func (s *cumulative) between(a *account, w *wait) bool {
	k := w.first + 1
	e, c := s.exit(w.pinned, k)
	for e.released <= w.start && k < w.last {
		k++
		e, c = s.exit(c, k)
	}
	s.lost = append(s.lost[:0], s.row(w.last)...)
	for i, before := range s.row(k) {
		s.lost[i].subtract(before)
	}
	from := max(w.start, e.acquired)
	if e.released <= from {
		return true
	}
	a.contend(e, e.released-from-e.gaps)
	return s.spread(a, e, from, s.lost)
}

// contend records that a wait has blamed ns on e.
func (a *account) contend(e *exit, ns int64) {
	h := holder{contended: &e.contended}
	a.contended += h.extend(max(0, ns))
}

// bookSums adds what w has lost to the cells.
func (a *account) bookSums(w *wait) {
	s := &a.cumulative
	a.settled++
	if w.weight > 1 || w.count > 1 {
		w.flags |= Estimated
	}
	for i := range s.causes {
		if s.lost[i].doubt != 0 {
			w.flags |= Estimated
			a.session.markSampled()
			break
		}
	}
	k, c := a.cellOf(a.keyOf(w))
	var blamed, unknown int64
	for i := range s.causes {
		lost := &s.lost[i]
		unknown += lost.unknown
		if lost.held <= 0 && lost.doubt == 0 {
			continue
		}
		why := &s.causes[i]
		pair := a.pairOf(c, pairKey{waiter: k.chain, waiterG: k.g, owner: why.owner, kind: k.kind, flags: k.flags})
		if pair.wait != a.settled {
			pair.wait, pair.inWait = a.settled, 0
			pair.count += w.count
		}
		pair.inWait += lost.held
		pair.blamed += lost.held * w.weight
		pair.longest = max(pair.longest, pair.inWait)
		pair.variance.add(a.settled, w.weight, lost.held)
		blamed += lost.held
		if lost.doubt != 0 {
			// If the number of waits behind those holds equals the number of waiters, which may
			// all be in this row, their errors sum to at least what variance.addShared computes.
			pair.variance.sum += lost.doubt * float64(w.weight) * float64(2*max(w.weight, int64(w.waiters))-1)
			pair.unsure += lost.unsure * w.weight
		}
		if why.blocked {
			if pair.roots == nil {
				pair.roots = new(pairRoots)
			}
			pair.roots.blocked[why.via] += lost.held * w.weight
			if why.links > 0 {
				pair.roots.add(pairCause{chain: why.root, via: why.via, links: why.links, count: w.count, ns: lost.held * w.weight, wait: a.settled})
			}
		}
		if w.g != 0 && lost.held > 0 {
			a.pieces = append(a.pieces, waitedPiece{from: w.start, to: w.end, ns: lost.held, kind: w.kind, links: why.links + 1, chain: why.root})
		}
	}
	free := w.end - w.start - blamed
	handOff, unattributed := free, int64(0)
	if w.lost > 0 {
		handOff, unattributed = 0, free
		a.lost += w.lost
	} else {
		unattributed = min(unknown, handOff)
		handOff -= unattributed
	}
	a.merging = true
	a.remember(w, free, w.lost > 0)
	a.close(w, c, blamed, handOff, unattributed)
}
