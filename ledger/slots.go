package ledger

import "github.com/bottleneck-go/bottleneck/timeline"

// A slot stands for one of GOMAXPROCS processors, without being a particular P: which P is idle is
// chance, and the scheduler prefers those that were in use, so that the gaps of the others would
// say nothing. A goroutine that runs occupies a slot: the one that it had before if nothing else
// ran there since, so that its own wait explains the gap there, else the one that has been empty
// for the longest time. A goroutine in C without a P that counts as running (timeline.InCDetached)
// occupies one as well.
//
// The time in which nothing occupies a slot is a gap. It is booked when it ends, since what ends it
// says why it was. Who ran on other processors during the gap is in the history.
//
// Time in which nothing runs at all is not looked up there: what ends it explains why all slots
// were empty, so it is booked at once, for all of them.

// slot is a processor.
type slot struct {
	occupied bool
	fresh    bool                // empty since the beginning, and not in the list of gaps
	g        *timeline.Goroutine // that occupies it, or did last
	start    timeline.Time       // of the gap
	pending  spells              // earlier gaps, whose cause is that of the next

	prev, next int32 // in the list of gaps
}

// gaps is the list of empty slots in the order in which their gaps began.
type gaps struct{ first, last int32 }

const noSlot = -1

// begin adds slot i, whose gap begins now.
func (l *gaps) begin(slots []slot, i int32, now timeline.Time) {
	s := &slots[i]
	s.start, s.prev, s.next = now, l.last, noSlot
	if l.last == noSlot {
		l.first = i
	} else {
		slots[l.last].next = i
	}
	l.last = i
}

// end removes slot i.
func (l *gaps) end(slots []slot, i int32) {
	s := &slots[i]
	if s.fresh {
		s.fresh = false
		return
	}
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
