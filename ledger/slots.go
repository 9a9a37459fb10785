package ledger

import "github.com/bottleneck-go/bottleneck/timeline"

// A slot stands for one of GOMAXPROCS processors, without being a particular P: which P is idle is
// chance, and the scheduler prefers those that were in use, so that the gaps of the others would say
// nothing. A goroutine that runs occupies a slot: the one that it had before if nothing else ran
// there since, so that its own wait explains the gap there, else the one that has been empty for
// the longest time. A goroutine in C without a P that counts as running (timeline.InCDetached) occupies one
// as well.
//
// The time in which nothing occupies a slot is a gap. It is booked when it ends, since what ends it
// says why it was. To know who ran meanwhile on other processors, the time is cut at marks: where a
// gap began, and where a goroutine became ready during one. Each mark counts the time by who ran, up
// to the next mark. So what ran during a gap is the sum from its mark on; when a mark goes, what it
// counted is added to the one before it. Only the latest mark has to be kept up to date.
//
// Time in which nothing runs at all is in no mark: what ends it explains why all slots were empty, so it is
// booked at once, for all of them.

// who says who runs: one of the following, or the number of a group.
type who int32

const (
	nobody      who = 0
	several     who = 1
	stopGC      who = -1 // the world is stopped, whoever runs
	stopTracer  who = -2
	stopRuntime who = -3
)

// spell is a time by who ran.
type spell struct {
	who  who
	time timeline.Time
}

// spells are distinct in who. What is more than maxSpells goes to several.
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

// mark is an element of a list in the order of time.
type mark struct {
	prev, next int32
	time       timeline.Time
	slot       int32 // whose gap begins, −1 if a goroutine became ready
	spells     spells
}

// marks is the list. Its first element is the beginning of the ledger, and stays.
type marks struct {
	all  []mark
	free []int32
	last int32
}

const noMark = -1

func (m *marks) init(t timeline.Time) {
	m.all = append(m.all[:0], mark{prev: noMark, next: noMark, time: t, slot: -1})
	m.free, m.last = m.free[:0], 0
}

// set adds a mark at t.
func (m *marks) set(t timeline.Time, slot int32) int32 {
	i := int32(len(m.all))
	if n := len(m.free); n > 0 {
		i, m.free = m.free[n-1], m.free[:n-1]
	} else {
		m.all = append(m.all, mark{})
	}
	e := &m.all[i]
	e.prev, e.next, e.time, e.slot, e.spells = m.last, noMark, t, slot, e.spells[:0]
	m.all[m.last].next = i
	m.last = i
	return i
}

// remove takes a mark out, unless it is the first.
func (m *marks) remove(i int32) {
	if i <= 0 {
		return
	}
	e := &m.all[i]
	m.all[e.prev].spells.addAll(e.spells)
	m.all[e.prev].next = e.next
	if e.next == noMark {
		m.last = e.prev
	} else {
		m.all[e.next].prev = e.prev
	}
	m.free = append(m.free, i)
}

// oldestGap returns the slot of the oldest gap, −1 if there is none.
func (m *marks) oldestGap() int32 {
	for i := int32(0); i != noMark; i = m.all[i].next {
		if s := m.all[i].slot; s >= 0 {
			return s
		}
	}
	return -1
}

// between adds what was counted from one mark up to another; noMark is now.
func (m *marks) between(from, to int32, into *spells) {
	for i := from; i != to && i != noMark; i = m.all[i].next {
		into.addAll(m.all[i].spells)
	}
}

// slot is a processor.
type slot struct {
	occupied bool
	g        *timeline.Goroutine // that occupies it, or did last
	mark     int32               // of the gap
	pending  spells              // earlier gaps, whose cause is that of the next
}
