package ledger

import "github.com/bottleneck-go/bottleneck/timeline"

// A slot stands for one of GOMAXPROCS processors but is not a particular P. Which P is idle is
// chance, and the scheduler prefers recently used Ps, so the gaps of the other Ps would mean
// nothing. A goroutine that runs occupies a slot. It takes its previous slot if nothing else has
// run there since, so that its own wait explains the gap there. Otherwise it takes the slot that
// has been empty for the longest time. A goroutine in C without a P that counts as running
// (timeline.InCDetached) occupies a slot as well.
//
// A gap is the time in which nothing occupies a slot. It is booked when it ends, because its end
// gives the reason for it. The history records who ran on other processors during the gap.
//
// Time in which nothing runs at all is not looked up in the history. What ends it explains why all
// slots were empty, so it is booked at once, for all of them.

// slot stands for a processor.
type slot struct {
	occupied bool
	g        *timeline.Goroutine // the current or latest occupant
	m        *member             // of g
	mark                         // the beginning of the gap
	locked   timeline.Time       // lockedTime at the beginning of the gap
	pending  spells              // earlier gaps, which share the cause of the next one

	prev, next int32 // in the list of gaps
}

// occupant returns the current or latest occupant, or nil if it no longer exists.
func (s *slot) occupant() *member {
	if s.m != nil && s.m.g == s.g {
		return s.m
	}
	return nil
}

// gaps is the list of empty slots in the order in which their gaps began.
type gaps struct{ first, last int32 }

const noSlot = -1

// begin adds slot i, whose gap begins now.
func (l *gaps) begin(slots []slot, i int32, now timeline.Time) {
	s := &slots[i]
	s.mark.begin(now)
	s.prev, s.next = l.last, noSlot
	if l.last == noSlot {
		l.first = i
	} else {
		slots[l.last].next = i
	}
	l.last = i
}

// beginFirst adds slot i, which has been empty for at least as long as the others.
func (l *gaps) beginFirst(slots []slot, i int32) {
	slots[i].prev, slots[i].next = noSlot, l.first
	if l.first == noSlot {
		l.last = i
	} else {
		slots[l.first].prev = i
	}
	l.first = i
}

// end removes slot i.
func (l *gaps) end(slots []slot, i int32) {
	s := &slots[i]
	if s.prev == noSlot {
		l.first = s.next
	} else {
		slots[s.prev].next = s.next
	}
	if s.next == noSlot {
		l.last = s.prev
	} else {
		slots[s.next].prev = s.prev
	}
}
