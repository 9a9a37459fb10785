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

// Chains of blame of wrapped locks, computed from waits for wrapped locks alone; see profile.go.
//
// A session remembers the latest waits of each goroutine, in pieces: one for each root of the wait,
// which spans and counts all of the wait that is due to that root, and one for the time in which the
// lock was free. When a wait is settled, each of its owners is looked up. If a piece overlaps the
// time for which the owner is blamed, the root of the piece is the root. An owner that waited for a
// second lock, and releases it before the first one, has settled that wait by then.
//
// Goroutines share a fixed number of slots. A goroutine whose slot is taken by another one has no
// past: it is itself the root.

const (
	waitedSlots  = 1 << 12
	waitedPieces = 64
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

// piece adds the part of w that is due to a root, or to the waiter itself if links is 0.
func (a *account) piece(w *wait, root *callstack.Chain, g uint64, links int32, from, to, ns int64) {
	if w.g == 0 || ns <= 0 {
		return
	}
	for i := range a.pieces {
		if p := &a.pieces[i]; p.chain == root && p.g == g && p.links == links {
			p.from, p.to, p.ns = min(p.from, from), max(p.to, to), p.ns+ns
			return
		}
	}
	a.pieces = append(a.pieces, waitedPiece{from: from, to: to, ns: ns, kind: w.kind, links: links, chain: root, g: g})
}

// remember stores the pieces of w for waits behind its goroutine. free is the time without an
// owner: at the end, if that was long enough, or somewhere after the first owner. Its root is the
// waiter itself or, if an unknown goroutine held the lock, unknown.
func (a *account) remember(w *wait, free int64, unknown bool) {
	first, last := w.end, w.start
	for i := range a.pieces {
		first, last = min(first, a.pieces[i].to), max(last, a.pieces[i].to)
	}
	from := min(first, w.end-free)
	if w.end-last >= free {
		from = w.end - free
	}
	var links int32
	if unknown {
		links = 1
	}
	a.piece(w, nil, 0, links, max(w.start, from), w.end, free)
	a.session.waited.add(w.g, a.pieces)
	a.pieces = a.pieces[:0]
}

// ownerRoots sets the activity and the roots of q from its cell.
func (s *session) ownerRoots(q *Wait, r *pairRoots) {
	if r == nil {
		return
	}
	for k, ns := range r.blocked {
		q.block(kinds[k], time.Duration(ns))
	}
	var others []Wait
	for _, c := range r.causes {
		root := Wait{Kind: kinds[c.via], Links: int(c.links), Contentions: min(c.count, q.Contentions), Blamed: time.Duration(c.ns)}
		if c.chain != nil {
			root.Owner = s.party(c.chain, c.g)
		}
		others = append(others, root)
	}
	order.Stable(others, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Blamed, a.Blamed), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Owner.Stack.String(), b.Owner.Stack.String()))
	})
	q.SetRoots(others)
}
