package ledger

import "github.com/bottleneck-go/bottleneck/timeline"

// The history records who ran when, for as long as a gap may ask for it. It is a list of pieces in
// order of time; each lasts until the next one begins. When a gap ends, it asks once for the time,
// by who ran, since it began. The history goes back piece by piece to the end of a block of 16, 32,
// … pieces, and keeps the sums of such blocks, so a query takes a logarithmic number of steps.
//
// A gap only asks from times at which a gap began or a goroutine became ready. When there are too
// many pieces, all pieces between two such times are replaced by one for each who, one after the
// other. No sum changes. So the length of the history follows the number of empty slots and ready
// goroutines, and a piece costs constant amortized time.

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

// piece begins an interval in which the same who runs.
type piece struct {
	from timeline.Time
	who  who
}

// readiness records when a goroutine became ready.
type readiness struct {
	at     timeline.Time
	member int32
	ticket uint32 // of the member, while it is ready
}

// block is the sum of some pieces, computed on first use.
type block struct {
	known bool
	sum   spells
}

type history struct {
	pieces  []piece // the last one is open-ended
	spare   []piece
	ready   []readiness // of goroutines, some of which are still ready
	tickets uint32
	limit   int       // of pieces, and of ready
	blocks  [][]block // by level and number: each of blockSize<<level pieces
	group   spells
	cuts    []timeline.Time
}

const blockSize = 16

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

// sum adds to into the time of the interval [from, to] by who ran, excluding time in which nothing
// ran. to lies in piece i. It returns the index of the piece that contains from.
func (h *history) sum(from, to timeline.Time, i int, into *spells) int {
	for {
		p := &h.pieces[i]
		start := max(from, p.from)
		if p.who != none {
			into.add(p.who, to-start)
		}
		if p.from <= from {
			return i
		}
		to = start
		if i%blockSize == 0 {
			for level := h.largest(i, from); level >= 0; level = h.largest(i, from) {
				i -= blockSize << level
				into.addAll(h.block(level, i/(blockSize<<level)))
				to = h.pieces[i].from
			}
			if to <= from {
				return i
			}
		}
		i--
	}
}

// largest returns the level of the largest block that ends before piece end and does not begin
// before from, or −1 if there is none.
func (h *history) largest(end int, from timeline.Time) int {
	level := -1
	for size := blockSize; end >= size && end%size == 0 && h.pieces[end-size].from >= from; size *= 2 {
		level++
	}
	return level
}

// block returns the sum of a block, excluding the time in which nothing ran.
func (h *history) block(level, n int) spells {
	for level >= len(h.blocks) {
		h.blocks = append(h.blocks, nil)
	}
	for n >= len(h.blocks[level]) {
		h.blocks[level] = append(h.blocks[level], block{})
	}
	b := &h.blocks[level][n]
	if b.known {
		return b.sum
	}
	b.known, b.sum = true, b.sum[:0]
	if level > 0 {
		b.sum.addAll(h.block(level-1, 2*n))
		b.sum.addAll(h.block(level-1, 2*n+1))
		return b.sum
	}
	for i := n * blockSize; i < (n+1)*blockSize; i++ {
		if p := &h.pieces[i]; p.who != none {
			b.sum.add(p.who, h.pieces[i+1].from-p.from)
		}
	}
	return b.sum
}

// forget drops everything before first, the first time that may be asked for, and reports whether
// that is enough. It is if processors are never empty for long.
func (h *history) forget(first timeline.Time) bool {
	keep := 0
	for n := len(h.pieces); n-keep > 1; { // the last piece that begins at first or before is from keep on, among n
		if middle := (keep + n) / 2; h.pieces[middle].from <= first {
			keep = middle
		} else {
			n = middle
		}
	}
	if 2*(len(h.pieces)-keep) > h.limit || 2*len(h.ready) > h.limit {
		return false
	}
	h.pieces = h.pieces[:copy(h.pieces, h.pieces[keep:])]
	h.forgetSums()
	return true
}

// forgetSums forgets the sums of blocks.
func (h *history) forgetSums() {
	for _, level := range h.blocks {
		for k := range level {
			level[k].known = false
		}
	}
}

// shorten joins the pieces between the times that may be asked for; cuts is sorted.
func (h *history) shorten(cuts []timeline.Time) {
	last := len(h.pieces) - 1
	out, group := h.spare[:0], h.group[:0]
	begin := h.pieces[0].from // of the group
	flush := func() {
		from := begin
		put := func(sp spell) {
			if n := len(out); n == 0 || out[n-1].who != sp.who {
				out = append(out, piece{from, sp.who})
			}
			from += sp.time
		}
		first := -1
		for k := range group {
			if n := len(out); n > 0 && group[k].who == out[n-1].who {
				first = k // continues the last piece
				put(group[k])
			}
		}
		for k := range group {
			if k != first {
				put(group[k])
			}
		}
		group, begin = group[:0], from
	}
	for i := range last {
		p, end := h.pieces[i], h.pieces[i+1].from
		for from := p.from; from < end; {
			for len(cuts) > 0 && cuts[0] <= from {
				if cuts[0] > begin {
					flush()
				}
				cuts = cuts[1:]
			}
			to := end
			if len(cuts) > 0 {
				to = min(to, cuts[0])
			}
			group.add(p.who, to-from)
			from = to
		}
	}
	flush()
	out = append(out, h.pieces[last])
	h.pieces, h.spare, h.group = out, h.pieces, group
	h.forgetSums()
}

// becomes records that a goroutine becomes ready and returns its ticket.
func (h *history) becomes(now timeline.Time, member int32) uint32 {
	h.tickets = max(h.tickets+1, 1) // 0 is none
	h.ready = append(h.ready, readiness{now, member, h.tickets})
	return h.tickets
}
