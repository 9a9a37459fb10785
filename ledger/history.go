package ledger

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The history records who ran when. It is a list of pieces in order of time; each lasts until the
// next one begins. A gap that ends asks for the time, by who ran, since it began and since the
// goroutine that ends it was ready. When there are too many pieces, their times are added to the
// sums of each open gap and ready goroutine, and the list begins anew. Sums of blocks of pieces keep
// a query short if many processors are empty. So the length of the history follows the number of
// empty slots and ready goroutines, and a piece costs constant amortized time.

// who identifies what runs: one of the following, or the number of a group.
type who int32

const (
	none        who = 0
	several     who = 1
	stopGC      who = -1 // the world is stopped, regardless of what runs
	stopTracer  who = -2
	stopRuntime who = -3
)

// spell is an amount of time and who ran.
type spell struct {
	who  who
	time timeline.Time
}

// spells are distinct in who. Time beyond maxSpells entries goes to several.
type spells []spell

const maxSpells = 32

func (s *spells) add(w who, t timeline.Time) {
	if t == 0 {
		return
	}
	for i := range *s {
		if (*s)[i].who == w {
			(*s)[i].time += t
			return
		}
	}
	if len(*s) >= maxSpells && w > several {
		s.add(several, t)
		return
	}
	*s = append(*s, spell{w, t})
}

func (s *spells) addAll(more spells) {
	for _, sp := range more {
		s.add(sp.who, sp.time)
	}
}

// remove subtracts a part. What it has under several may have a name in s, and the reverse.
func (s *spells) remove(part spells) {
	for _, p := range part {
		for _, same := range []bool{true, false} {
			for i := range *s {
				if sp := &(*s)[i]; !same || sp.who == p.who {
					d := min(p.time, sp.time)
					sp.time, p.time = sp.time-d, p.time-d
				}
			}
		}
	}
	if len(part) > 0 {
		*s = slices.DeleteFunc(*s, func(sp spell) bool { return sp.time == 0 })
	}
}

// piece begins an interval in which the same who runs.
type piece struct {
	from timeline.Time
	who  who
}

// readiness records when a goroutine became ready.
type readiness struct {
	at     timeline.Time
	member *member
	ticket uint32 // of the member, while it is ready
}

type history struct {
	pieces  []piece     // the last one is open-ended
	blocks  []spells    // sums of blockSize pieces each, computed on first use
	ready   []readiness // of goroutines, some of which are still ready
	tickets uint32
	limit   int    // of pieces, and of ready
	before  spells // what ran before the pieces, while GOMAXPROCS is unknown
	sums    spells // unused
}

const blockSize = 32

var minLimit = 1024 // smaller in tests

func newHistory() history { return history{pieces: []piece{{}}, limit: minLimit} }

// begin sets who runs from now on.
func (h *history) begin(now timeline.Time, w who) {
	if last := &h.pieces[len(h.pieces)-1]; last.from == now {
		last.who = w
		return
	}
	h.pieces = append(h.pieces, piece{now, w})
}

func (h *history) full() bool { return len(h.pieces) >= h.limit || len(h.ready) >= h.limit }

// becomes records that a goroutine becomes ready.
func (h *history) becomes(now timeline.Time, m *member) {
	h.tickets = max(h.tickets+1, 1) // 0 is none
	m.ticket, m.ran = h.tickets, m.ran[:0]
	h.ready = append(h.ready, readiness{now, m, m.ticket})
}

// sum adds to into the time of the interval [from, to] by who ran, excluding time in which nothing
// ran and time before the pieces. to lies in piece i or before all pieces. It returns the index of
// the piece that contains from, or 0.
func (h *history) sum(from, to timeline.Time, i int, into *spells) int {
	for {
		p := &h.pieces[i]
		if start := max(from, p.from); p.who != none && start < to {
			into.add(p.who, to-start)
		}
		if p.from <= from {
			return i
		}
		to = p.from
		for i%blockSize == 0 && i > 0 && h.pieces[i-blockSize].from >= from {
			i -= blockSize
			into.addAll(h.block(i / blockSize))
			to = h.pieces[i].from
		}
		if i == 0 || to <= from {
			return i
		}
		i--
	}
}

// block returns the sum of a block, excluding the time in which nothing ran.
func (h *history) block(n int) spells {
	for n >= len(h.blocks) {
		h.blocks = append(h.blocks, nil)
	}
	if b := &h.blocks[n]; len(*b) == 0 {
		for i := n * blockSize; i < (n+1)*blockSize; i++ {
			if p := &h.pieces[i]; p.who != none {
				b.add(p.who, h.pieces[i+1].from-p.from)
			}
		}
	}
	return h.blocks[n]
}

// fold adds the pieces to the sums of the open gaps and ready goroutines, from the latest to the
// earliest, and begins the list anew.
func (o *Observer) fold() {
	h := &o.history
	ready := h.ready
	h.ready = ready[:0]
	for _, r := range ready {
		if r.member.isReady && r.member.ticket == r.ticket {
			h.ready = append(h.ready, r)
		}
	}
	sums, to, i := h.sums[:0], o.now, len(h.pieces)-1
	since := func(from timeline.Time) spells {
		i = h.sum(from, to, i, &sums)
		to = from
		return sums
	}
	for r, g := len(h.ready)-1, o.gaps.last; r >= 0 || g != noSlot; {
		if g == noSlot || r >= 0 && h.ready[r].at >= o.slots[g].start {
			h.ready[r].member.ran.addAll(since(h.ready[r].at))
			r--
		} else {
			s := &o.slots[g]
			s.ran.addAll(since(s.start))
			g = s.prev
		}
	}
	if o.procs == 0 {
		h.before.addAll(since(0))
	}
	h.sums = sums
	h.pieces = append(h.pieces[:0], piece{o.now, o.who})
	for n := range h.blocks {
		h.blocks[n] = h.blocks[n][:0]
	}
	h.limit = max(minLimit, 2*(len(h.ready)+o.empty))
}
