package ledger

import (
	"slices"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The history records who ran when. A gap that ends asks for the time, by who ran, since it began and
// since the goroutine that ends it was ready. The latest pieces of time are in a list. When the list
// is full, each of these marks that is in it gets the time from there to the end of the list, and
// refers to clocks, one for each who, for the time after that. So a mark is visited once, and an
// answer takes at most maxPieces steps or one for each who, however many processors are empty.

// who identifies what runs: one of the following, or the number of a group.
type who int32

const (
	none        who = 0
	several     who = 1
	stopGC      who = -1 // the world is stopped, regardless of what runs
	stopTracer  who = -2
	stopRuntime who = -3
)

// groups numbers the names of goroutines. recent caches most lookups by the address of the name's
// text, which goroutines of the same name usually share.
type groups struct {
	of     map[string]who
	names  []string // by number
	recent [64]struct {
		name string
		who  who
	}
}

const (
	otherGroups who = 2 // groups without a number of their own
	maxGroups       = 1 << 16
)

func newGroups() groups {
	return groups{of: map[string]who{others: otherGroups}, names: []string{None, Several, others}}
}

// number returns the number of a name.
func (g *groups) number(name string) who {
	w := g.known(name)
	switch {
	case w != 0:
		return w
	case len(g.names) >= maxGroups:
		return otherGroups
	}
	w = who(len(g.names))
	g.of[name] = w
	g.names = append(g.names, name)
	return w
}

// known returns the number of a name, or 0 if it has none.
func (g *groups) known(name string) who {
	r := &g.recent[uintptr(unsafe.Pointer(unsafe.StringData(name)))>>4%uintptr(len(g.recent))]
	if r.who == 0 || r.name != name {
		r.name, r.who = name, g.of[name]
	}
	return r.who
}

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

// mark is a time from which a gap asks.
type mark struct {
	at     timeline.Time
	ran    spells          // from then to the end of the list
	clocks []timeline.Time // at the end of the list, by who; nil while the mark is in the list
}

// begin makes it the time now.
func (m *mark) begin(now timeline.Time) {
	m.at, m.ran, m.clocks = now, m.ran[:0], nil
}

type history struct {
	pieces []piece         // the last one is open-ended
	clocks []timeline.Time // by who, from stopRuntime on: what ran before pieces[ticked]
	ticked int
	ready  []*member // became ready during the list; some are no longer ready
	ran    spells    // unused
}

// beginning is the clocks of a mark at the beginning.
var beginning = []timeline.Time{}

var maxPieces = 128 // smaller in tests

// maxClocks bounds the groups with a clock. What runs of others counts as several.
const maxClocks = 1024

func newHistory() history { return history{pieces: []piece{{}}} }

// begin sets who runs from now on.
func (h *history) begin(now timeline.Time, w who) {
	if last := &h.pieces[len(h.pieces)-1]; last.from == now {
		last.who = w
		return
	}
	h.pieces = append(h.pieces, piece{now, w})
}

// tick adds all pieces but the last to their clocks.
func (h *history) tick() {
	for last := len(h.pieces) - 1; h.ticked < last; h.ticked++ {
		p := h.pieces[h.ticked]
		i := int(p.who - stopRuntime)
		for i >= len(h.clocks) {
			h.clocks = append(h.clocks, 0)
		}
		h.clocks[i] += h.pieces[h.ticked+1].from - p.from
	}
}

func (h *history) full() bool { return len(h.pieces) >= maxPieces || len(h.ready) >= maxPieces }

// becomes records that a goroutine becomes ready.
func (h *history) becomes(m *member) {
	m.marked = true
	h.ready = append(h.ready, m)
}

// sum adds to into the time of the interval [from, to] by who ran, excluding time in which nothing
// ran. Both are in the list, to in piece i. It returns the index of the piece that contains from.
func (h *history) sum(from, to timeline.Time, i int, into *spells) int {
	for ; ; i-- {
		p := &h.pieces[i]
		if p.who != none {
			into.add(p.who, to-max(from, p.from))
		}
		if p.from <= from {
			return i
		}
		to = p.from
	}
}

// undivided returns the time since a mark in which something ran. It returns false if the world was
// stopped in it, or if the mark is not in the list.
func (h *history) undivided(m *mark, now timeline.Time) (t timeline.Time, ok bool) {
	if m.clocks != nil {
		return 0, false
	}
	for i := len(h.pieces) - 1; ; i-- {
		p := &h.pieces[i]
		if p.who < none {
			return 0, false
		}
		if p.who != none {
			t += now - max(m.at, p.from)
		}
		if p.from <= m.at {
			return t, true
		}
		now = p.from
	}
}

// since adds to into the time since a mark, like sum. It returns the index of the piece that
// contains the mark, if it is in the list.
func (h *history) since(m *mark, now timeline.Time, into *spells) int {
	if m.clocks == nil {
		return h.sum(m.at, now, len(h.pieces)-1, into)
	}
	h.tick()
	into.addAll(m.ran)
	for i, t := range h.clocks {
		if i < len(m.clocks) {
			t -= m.clocks[i]
		}
		if w := who(i) + stopRuntime; w != none {
			into.add(w, t)
		}
	}
	if last := h.pieces[len(h.pieces)-1]; last.who != none {
		into.add(last.who, now-last.from)
	}
	return 0
}

// fold begins the list anew.
func (o *Observer) fold() {
	h := &o.history
	h.pieces = append(h.pieces, piece{o.now, o.who})
	h.tick()
	h.pieces = h.pieces[:len(h.pieces)-1]
	var clocks []timeline.Time
	ran, to, i := h.ran[:0], o.now, len(h.pieces)-1
	leave := func(m *mark) { // from the latest to the earliest
		if clocks == nil {
			clocks = append(make([]timeline.Time, 0, len(h.clocks)), h.clocks...)
		}
		i = h.sum(m.at, to, i, &ran)
		to = m.at
		m.ran, m.clocks = append(m.ran[:0], ran...), clocks
	}
	for g := o.gaps.last; g != noSlot && o.slots[g].clocks == nil; g = o.slots[g].prev {
		leave(&o.slots[g].mark)
	}
	ran, to, i = ran[:0], o.now, len(h.pieces)-1
	for _, m := range slices.Backward(h.ready) {
		if m.isReady && m.marked && m.ready.clocks == nil {
			leave(&m.ready)
		}
	}
	h.ran, h.ready = ran, h.ready[:0]
	h.pieces, h.ticked = append(h.pieces[:0], piece{o.now, o.who}), 0
}
