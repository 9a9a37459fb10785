package contention

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Chains of blame of wrapped locks, computed from waits for wrapped locks alone. See Root.
//
// A session remembers the latest waits of each goroutine, in pieces: the start and end of the wait,
// and the root of that time. When a wait is settled, each of its owners is looked up. If a piece
// overlaps the time for which the owner is blamed, the root of the piece is the root. An owner that
// waited for a second lock, and releases it before the first one, has settled that wait by then.
// What else an owner was blocked on, or whether it ran, is unknown.
//
// A wait behind many owners is remembered as one piece for each of its roots, which spans and
// counts all of the wait that is due to that root, and one for the time in which the lock was free.
//
// Goroutines share a fixed number of slots. A goroutine whose slot is taken by another one has no
// past: it is itself the root.

const (
	waitedSlots  = 1 << 12
	waitedPieces = 64
	// A wait of more than mostApart parts is remembered by root. A part is merged with one of the
	// last seenRoots pieces if that has the same root.
	mostApart = 16
	seenRoots = 8
	// maxCauses is the maximum number of roots of a pair; others are combined.
	maxCauses = 16
)

// waitedTable has the latest waits by goroutine.
type waitedTable struct {
	_ incomparable

	slots atomic.Pointer[[waitedSlots]atomic.Pointer[waitedSlot]]
}

// waitedSlot has the latest waits of one goroutine.
type waitedSlot struct {
	_ incomparable

	g      atomic.Uint64
	latest atomic.Int64 // end of the last piece
	mu     sync.Mutex
	n      uint64 // number of all pieces so far
	pieces [waitedPieces]waitedPiece
}

// waitedPiece is a time in which a goroutine waited, and its root.
type waitedPiece struct {
	_ incomparable

	from, to int64
	ns       int64 // less than to − from if it is one of several simultaneous ones
	kind     kindID
	links    int32            // 0: the lock was free; the goroutine itself is the root
	chain    *callstack.Chain // of the root; nil if unknown
	g        uint64
}

// sortPieces sorts pieces by time.
func sortPieces(p []waitedPiece) {
	order.InPlace(len(p), func(i, j int) bool {
		return p[i].from < p[j].from || p[i].from == p[j].from && p[i].to < p[j].to
	}, func(i, j int) { p[i], p[j] = p[j], p[i] })
}

// of appends the pieces of a goroutine between two instants to buf, in the order in which the waits
// were settled.
func (t *waitedTable) of(g uint64, from, to int64, buf []waitedPiece) []waitedPiece {
	slots := t.slots.Load()
	if slots == nil || g == 0 || from >= to {
		return buf
	}
	s := slots[g%waitedSlots].Load()
	// Most owners have not waited since they acquired the lock.
	if s == nil || s.g.Load() != g || s.latest.Load() <= from {
		return buf
	}
	s.mu.Lock()
	if s.g.Load() == g {
		for i := range min(s.n, waitedPieces) {
			if p := &s.pieces[i]; p.from < to && p.to > from {
				buf = append(buf, *p)
			}
		}
	}
	s.mu.Unlock()
	return buf
}

// add stores pieces of a goroutine; if there are too many, the latest ones.
func (t *waitedTable) add(g uint64, pieces []waitedPiece) {
	if g == 0 || len(pieces) == 0 {
		return
	}
	slots := t.slots.Load()
	if slots == nil {
		t.slots.CompareAndSwap(nil, new([waitedSlots]atomic.Pointer[waitedSlot]))
		slots = t.slots.Load()
	}
	slot := &slots[g%waitedSlots]
	s := slot.Load()
	if s == nil {
		slot.CompareAndSwap(nil, new(waitedSlot))
		s = slot.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.latest.Load()
	if s.g.Load() != g {
		s.g.Store(g)
		s.n, latest = 0, 0
	}
	for _, p := range pieces[max(0, len(pieces)-waitedPieces):] {
		s.pieces[s.n%waitedPieces] = p
		s.n++
		latest = max(latest, p.to)
	}
	s.latest.Store(latest)
}

// overlap returns the length of the part of the piece between two instants.
func (p *waitedPiece) overlap(from, to int64) int64 { return max(0, min(p.to, to)-max(p.from, from)) }

// share returns the part of the piece that is due to a goroutine that held a lock for a share of
// the time between two instants.
func (p *waitedPiece) share(from, to int64, share float64) int64 {
	return int64(float64(p.overlap(from, to))*float64(p.ns)/float64(p.to-p.from)*share + 0.5)
}

// pairRoots has the time for which an owner was blocked, and the roots of that time. The owner
// itself is the root of the rest.
type pairRoots struct {
	blocked [len(kinds)]int64
	causes  []pairCause
}

type pairCause struct {
	chain     *callstack.Chain // nil if unknown
	g         uint64
	via       kindID
	links     int32
	count, ns int64
	wait      int64 // number of the latest wait
}

// add adds c to its root, or to the unknown root if there are too many.
func (r *pairRoots) add(c pairCause) {
	for {
		for i := range r.causes {
			if d := &r.causes[i]; d.chain == c.chain && d.g == c.g && d.via == c.via {
				if d.wait != c.wait {
					d.wait = c.wait
					d.count += c.count
				}
				d.ns += c.ns
				d.links = max(d.links, c.links)
				return
			}
		}
		if len(r.causes) < maxCauses || c.chain == nil {
			r.causes = append(r.causes, c)
			return
		}
		c.chain, c.g = nil, 0
	}
}

func (r *pairRoots) clone() *pairRoots {
	if r == nil {
		return nil
	}
	c := *r
	c.causes = slices.Clone(r.causes)
	return &c
}

// follow finds the roots of p, for which the owner h is blamed. It adds them to the cell of the
// pair and to the pieces of the waiter.
func (a *account) follow(c *pairCell, h *holder, p *part, w *wait) {
	a.found = a.session.waited.of(h.g, p.from, p.to, a.found[:0])
	sortPieces(a.found) // a wait is settled when its lock is released
	if len(a.found) == 0 && p.ns == p.to-p.from {
		a.piece(w, h.chain, h.g, 1, p.from, p.to, 1)
		return
	}
	at, share := p.from, float64(p.ns)/float64(max(1, p.to-p.from))
	left := p.ns
	for i := range a.found {
		f := &a.found[i]
		from, to := max(f.from, p.from), min(f.to, p.to)
		a.piece(w, h.chain, h.g, 1, at, from, share)
		at = max(at, to)
		ns := min(left, f.share(p.from, p.to, share))
		if ns <= 0 {
			continue
		}
		left -= ns
		if c.roots == nil {
			c.roots = new(pairRoots)
		}
		c.roots.blocked[f.kind] += ns * w.weight
		chain, g := f.chain, f.g
		if f.links == 0 {
			chain, g = h.chain, h.g
		} else {
			cause := pairCause{chain: chain, via: f.kind, links: f.links, count: w.count, ns: ns * w.weight, wait: a.settled}
			if a.session.goroutines {
				cause.g = g
			}
			c.roots.add(cause)
		}
		a.piece(w, chain, g, f.links+1, from, to, float64(ns)/float64(to-from))
	}
	a.piece(w, h.chain, h.g, 1, at, p.to, share)
}

// piece adds a piece of w: the time between two instants, or a share of it, was due to a root.
func (a *account) piece(w *wait, chain *callstack.Chain, g uint64, links int32, from, to int64, share float64) {
	if to <= from || w.g == 0 {
		return
	}
	ns := to - from
	if share != 1 {
		ns = int64(float64(ns)*share + 0.5)
	}
	if a.merging {
		n := len(a.pieces)
		for i := n - 1; i >= max(0, n-seenRoots); i-- {
			if p := &a.pieces[i]; p.chain == chain && p.links == links {
				p.from, p.to, p.ns = min(p.from, from), max(p.to, to), p.ns+ns
				return
			}
		}
	}
	a.pieces = append(a.pieces, waitedPiece{from: from, to: to, ns: ns, kind: w.kind, links: links, chain: chain, g: g})
}

// remember stores the pieces of w for waits behind its goroutine. free is the time without an
// owner. Its root is the waiter itself or, if an unknown goroutine held the lock, unknown.
func (a *account) remember(w *wait, free int64, unknown bool) {
	if w.g == 0 {
		return
	}
	if a.merging {
		if free > 0 {
			var links int32
			if unknown {
				links = 1
			}
			a.pieces = append(a.pieces, waitedPiece{from: w.start, to: w.end, ns: free, kind: w.kind, links: links})
		}
		a.session.waited.add(w.g, a.pieces)
		a.pieces = a.pieces[:0]
		return
	}
	sortPieces(a.pieces) // readers may have held the lock together
	gap := waitedPiece{kind: w.kind, from: w.start}
	if unknown {
		gap.links = 1
	}
	a.whole = a.whole[:0]
	until := func(to int64) {
		if gap.to = to; gap.to > gap.from {
			gap.ns = gap.to - gap.from
			a.whole = joinPiece(a.whole, &gap)
		}
	}
	for i := range a.pieces {
		p := &a.pieces[i]
		until(p.from)
		a.whole = joinPiece(a.whole, p)
		gap.from = max(gap.from, p.to)
	}
	until(w.end)
	a.session.waited.add(w.g, a.whole)
	a.pieces = a.pieces[:0]
}

// joinPiece appends a piece, or merges it with the last one if it directly follows that and has the
// same root.
func joinPiece(pieces []waitedPiece, p *waitedPiece) []waitedPiece {
	if n := len(pieces) - 1; n >= 0 {
		q := &pieces[n]
		whole := q.ns == q.to-q.from && p.ns == p.to-p.from
		if whole && q.to == p.from && q.kind == p.kind && q.links == p.links && q.chain == p.chain && q.g == p.g {
			q.to, q.ns = p.to, q.ns+p.ns
			return pieces
		}
	}
	return append(pieces, *p)
}

// ownerRoots sets the activity and the roots of q from its cell.
func (s *session) ownerRoots(q *Pair, r *pairRoots) {
	q.Activity = Activity{Unknown: q.Blamed}
	if r == nil {
		return
	}
	for k, ns := range r.blocked {
		q.Activity.add(Activity{Unknown: -time.Duration(ns), Blocked: map[Kind]time.Duration{kinds[k]: time.Duration(ns)}}, 1)
	}
	var others []Root
	for _, c := range r.causes {
		root := Root{Via: kinds[c.via], Links: int(c.links), Contentions: min(c.count, q.Contentions), Blamed: time.Duration(c.ns)}
		if c.chain != nil {
			root.Owner = s.party(c.chain, c.g)
		}
		others = append(others, root)
	}
	order.Stable(others, func(a, b Root) int {
		return cmp.Or(cmp.Compare(b.Blamed, a.Blamed), cmp.Compare(a.Via, b.Via), cmp.Compare(a.Owner.Stack.String(), b.Owner.Stack.String()))
	})
	q.SetRoots(others)
}
