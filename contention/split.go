package contention

import (
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Dividing a wait among the owners
//
// A wait is divided into segments at the times at which owners came and left.
//
//   - While the lock is held exclusively, the owner is to blame.
//   - While readers hold it and a writer waits, the readers share the blame equally: each of n gets
//     1/n of the segment.
//   - A reader waits although only readers hold the lock if a writer is pending. Then the n readers
//     and the pending writer share equally: without either of them the waiter would have continued.
//     The writer's part is flagged PendingWriter.
//   - A segment in which the lock is free is hand-off.
//
// Sharing is exact in integers: a clock that runs at 1/n of the time gives each reader the
// difference between its arrival and its departure. The remainder of the division stays in the
// clock, and the last reader gets it when it leaves, less than n ns.

// holder is an owner during a wait.
type holder struct {
	_ incomparable

	acquired, released, pending int64
	gaps                        int64 // the free time between the two
	shared                      bool
	flags                       Flags // InWait, Signaler
	chain                       *callstack.Chain
	g                           uint64
	number                      uint64 // number of the exit
	// contended, if set, is the longest time that a wait has blamed on this hold.
	contended *atomic.Int64
	// doubt is the variance of the hold. If it is not 0, booked is the number of waits that have
	// blamed it.
	doubt  float64
	booked *atomic.Int64
	// unknown is the part of gaps in which it is unknown whether the lock was held; unsure also
	// includes the part that is only likely.
	unknown, unsure int64
}

// extend raises the hold's contended time to at least ns, and returns the increase. A lock that
// outlives a session is booked by two accounts at once, each under its own mutex.
func (h *holder) extend(ns int64) int64 {
	if h.contended == nil {
		return 0
	}
	for {
		old := h.contended.Load()
		if ns <= old {
			return 0
		}
		if h.contended.CompareAndSwap(old, ns) {
			return ns - old
		}
	}
}

// splitter has the scratch memory of split.
type splitter struct {
	edges []edge
	parts []part
}

// part is the part of a wait that is blamed on one holder.
type part struct {
	holder   int
	ns       int64
	from, to int64 // the interval that contains the ns
	flags    Flags
}

// edge is the arrival or departure of a holder.
type edge struct {
	at    int64
	part  int
	role  role
	leave bool
}

type role uint8

const (
	exclusive role = iota
	sharing
	pendingWriter
)

// split divides the time from start to end among the holders; reader is set if the waiter wants to
// read. The parts are valid until the next call. They and the hand-off sum to end − start.
func (s *splitter) split(start, end int64, reader bool, holders []holder) (parts []part, handOff int64) {
	s.parts = s.parts[:0]
	shared := false
	for i := range holders {
		shared = shared || holders[i].shared
	}
	if !shared {
		return s.sequence(start, end, holders)
	}
	s.edges = s.edges[:0]
	for i := range holders {
		h := &holders[i]
		switch {
		case !h.shared:
			s.span(i, exclusive, max(start, h.acquired), min(end, h.released))
			if reader && h.pending != 0 {
				s.span(i, pendingWriter, max(start, h.pending), min(end, h.acquired))
			}
		case !reader:
			s.span(i, sharing, max(start, h.acquired), min(end, h.released))
		default:
			s.whilePending(i, start, end, holders)
		}
	}
	return s.sweep(start, end)
}

// sequence is split for owners that do not overlap.
func (s *splitter) sequence(start, end int64, holders []holder) (parts []part, handOff int64) {
	at := start
	for i := range holders {
		from := max(at, holders[i].acquired)
		to := min(end, holders[i].released)
		if to <= from {
			continue
		}
		held := max(0, to-from-holders[i].gaps)
		handOff += to - at - held
		s.parts = append(s.parts, part{holder: i, ns: held, from: from, to: to})
		at = to
	}
	return s.parts, handOff + end - at
}

// whilePending adds the times in which reader i held the lock and a writer was pending.
func (s *splitter) whilePending(i int, start, end int64, holders []holder) {
	h := &holders[i]
	for j := range holders {
		if w := &holders[j]; !w.shared && w.pending != 0 {
			s.span(i, sharing, max(start, h.acquired, w.pending), min(end, h.released, w.acquired))
		}
	}
}

// span adds one part and its two edges.
func (s *splitter) span(holder int, r role, from, to int64) {
	if to <= from {
		return
	}
	p := part{holder: holder, from: from, to: to}
	switch r {
	case sharing:
		p.flags = ReadOwner
	case pendingWriter:
		p.flags = PendingWriter
	}
	i := len(s.parts)
	s.parts = append(s.parts, p)
	s.edges = append(s.edges, edge{from, i, r, false}, edge{to, i, r, true})
}

// clock runs at 1/n of the time.
type clock struct {
	n, value, rest int64
}

func (c *clock) run(d int64) {
	d += c.rest
	c.value += d / c.n
	c.rest = d % c.n
}

func (s *splitter) sweep(start, end int64) (parts []part, handOff int64) {
	e := s.edges
	order.InPlace(len(e), func(i, j int) bool { return e[i].at < e[j].at }, func(i, j int) { e[i], e[j] = e[j], e[i] })
	var owner, readers clock // readers.n counts pending writers, too
	var sharers int64
	at := start
	for _, e := range s.edges {
		switch d := e.at - at; {
		case owner.n > 0:
			owner.run(d)
		case sharers > 0:
			readers.run(d)
		default:
			handOff += d
		}
		at = e.at
		c := &readers
		if e.role == exclusive {
			c = &owner
		}
		p := &s.parts[e.part]
		if !e.leave {
			c.n++
			p.ns -= c.value
			if e.role == sharing {
				sharers++
			}
			continue
		}
		c.n--
		p.ns += c.value
		if e.role == sharing {
			sharers--
		}
		if e.role == exclusive && c.n == 0 || e.role == sharing && sharers == 0 {
			p.ns += c.rest
			c.rest = 0
		}
	}
	return s.parts, handOff + end - at
}
