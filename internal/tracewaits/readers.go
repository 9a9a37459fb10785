package tracewaits

import (
	"cmp"
	"slices"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Readers that a writer waits for
//
// Of the readers that a writer waits for, a trace shows the last one, whose RUnlock wakes the
// writer. The others leave unseen. But a goroutine that blocks, is stopped, or wakes another shows
// its call chain. If that is in the function that asked for the lock, in the same call, between the
// lines of its RLock and its RUnlock, then the goroutine holds the lock: at least until then, and
// since before the writer came, as no reader is admitted after that.
//
//   - The lines are learned from goroutines that waited for the lock and later released it as the
//     last reader.
//   - Until a writer is woken, the lock remembers which goroutines were seen between the lines, and
//     when last. They share the time from the arrival of the writer until then.
//   - The last reader is blamed for the rest: whether a reader that only computes released the lock
//     before the writer came or directly before the last reader did, the trace is the same.
//
// Lines can be misleading: there may be an early RUnlock between the two, or another lock of the
// same code. A section in which a goroutine is seen while a writer gets the lock is not trusted.

// readSection is the code between an RLock and an RUnlock that were reached through the same calls.
type readSection struct {
	first, last int // the lines of RLock and RUnlock
	unlock      *callSite
	exclusive   bool // between a Lock and an Unlock, reached through any calls
	// right and wrong count the goroutines seen there: while they held the lock, if that is
	// known, and while another one held it.
	right, wrong int
}

// sectionKey is a function and the calls that led to it.
type sectionKey struct {
	fn    string
	calls uint64 // a hash
}

// readSections has the sections of a pass.
type readSections struct {
	in      map[sectionKey][]*readSection
	recent  *[recentPlaces]*sectionsAround // recent entries of at, with a high hit rate
	at      map[*timeline.Stack]*sectionsAround
	version int // incremented for each new section
}

func newReadSections() readSections {
	return readSections{in: map[sectionKey][]*readSection{}, recent: new([recentPlaces]*sectionsAround), at: map[*timeline.Stack]*sectionsAround{}}
}

const (
	// maxSections bounds the known sections of one function, maxSeenReaders the readers that a
	// lock remembers for one writer, and maxSharers the readers that share the blame with the
	// last one.
	maxSections    = 8
	maxSeenReaders = 64
	maxSharers     = 15
)

func (s *readSection) trusted() bool { return s.wrong*20 <= s.right }

// learn records that a goroutine asked for a lock at one site and released it at another.
func (s *readSections) learn(ask, unlock *callSite, exclusive bool) {
	if unlock.asked == ask && unlock.exclusive == exclusive {
		return // as before
	}
	unlock.asked, unlock.exclusive = ask, exclusive
	a, b := ask.frames, unlock.frames
	n := inCommon(a, b)
	if n == len(a) || n == len(b) {
		return
	}
	x, y := a[len(a)-1-n], b[len(b)-1-n]
	if x.Func != y.Func || x.Line >= y.Line {
		return
	}
	k := sectionKey{x.Func, hashCalls(a[len(a)-n:])}
	if exclusive {
		k.calls = anyCalls
	}
	of := s.in[k]
	if len(of) >= maxSections || slices.ContainsFunc(of, func(t *readSection) bool { return t.first == x.Line && t.last == y.Line }) {
		return
	}
	s.in[k] = append(of, &readSection{first: x.Line, last: y.Line, unlock: unlock, exclusive: exclusive})
	s.version++
}

// anyCalls stands for any calls that led to a function.
const anyCalls = 1

func hashCalls(frames []*timeline.Frame) (h uint64) {
	for i := len(frames) - 1; i >= 0; i-- {
		h = hashCall(h, frames[i])
	}
	return h
}

func hashCall(h uint64, f *timeline.Frame) uint64 {
	h = (h ^ f.PC ^ uint64(f.Line)) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// around returns the sections that contain a call chain.
func (s *readSections) around(frames []*timeline.Frame) (inside []*readSection) {
	h := uint64(0)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		for _, calls := range [2]uint64{h, anyCalls} {
			of := s.in[sectionKey{f.Func, calls}]
			for _, x := range of {
				left := func(y *readSection) bool { // or asked for again
					return x.first < y.first && y.first <= f.Line || x.first < y.last && y.last <= f.Line
				}
				if x.first < f.Line && f.Line <= x.last && !slices.ContainsFunc(of, left) {
					inside = append(inside, x)
				}
			}
		}
		h = hashCall(h, f)
	}
	return inside
}

// sectionsAt returns the result of around for a call chain, cached.
func (o *Observer) sectionsAt(s *timeline.Stack) []*readSection {
	l := &o.sections
	if s == nil || l.version == 0 {
		return nil
	}
	e := &l.recent[slotOf(s, recentPlaces)]
	if *e == nil || (*e).stack != s {
		if *e = l.at[s]; *e == nil {
			if len(l.at) >= maxFits {
				clear(l.at)
			}
			*e = &sectionsAround{stack: s}
			l.at[s] = *e
		}
	}
	at := *e
	if at.asOf != l.version {
		at.sections, at.asOf = l.around(s.Frames), l.version
	}
	return at.sections
}

// sectionsAround has the sections that contain a call chain, as of a version of readSections.
type sectionsAround struct {
	stack    *timeline.Stack
	sections []*readSection
	asOf     int
}

// heldSeen is a time in which a goroutine was seen in a section, and so held its lock.
type heldSeen struct {
	coOwner
	section *readSection
	at      *timeline.Stack // its call chain
}

// noteSections notes the locks that g held in the state that it leaves, and those that the
// goroutine that ended that state held for reading.
func (o *Observer) noteSections(g *tracedGoroutine, t *timeline.Transition) {
	inside := g.inside
	switch {
	case t.Stack != nil:
		inside = o.sectionsAt(t.Stack)
	case t.State != timeline.Runnable || g.insideUntil != t.Start:
		inside = nil
	}
	if len(inside) > 0 || len(g.inside) > 0 {
		l := g.locks()
		l.inside, l.insideUntil = inside, t.End
	}
	for _, s := range inside {
		if s.exclusive {
			o.seeHeld(s, g, t)
		} else {
			o.see(s, g, t.Start, t.End)
		}
	}
	if t.Waker != nil {
		for _, s := range o.sectionsAt(t.WakerStack) {
			if !s.exclusive {
				o.see(s, o.goroutine(t.Waker), t.End, t.End)
			}
		}
	}
}

func (o *Observer) see(s *readSection, g *tracedGoroutine, from, to timeline.Time) {
	l := s.unlock.lock.root()
	if from+overlap < l.readersLeft && l.readersLeft < to-overlap {
		s.wrong++
		return
	}
	for i := len(l.readers) - 1; i >= 0; i-- {
		if r := &l.readers[i]; r.g == g.g.ID {
			r.section, r.to = s, to
			return
		}
	}
	if len(l.readers) >= maxSeenReaders {
		l.readers = slices.Delete(l.readers, 0, 1)
	}
	g.shown = true
	l.readers = append(l.readers, heldSeen{coOwner{o.ownerAs(g.g, s.unlock, contention.ReadOwner), g.g.ID, o.pastOf(g), from, to}, s, nil})
}

// coOwner is a goroutine that held a lock together with the owner of a hold.
type coOwner struct {
	owner    owner
	g        int64 // its goroutine
	past     *past
	from, to timeline.Time
}

// readersBefore makes the readers seen since the writer that h woke asked for the lock share the
// hold.
func (l *tracedLock) readersBefore(h *hold) {
	l.readersLeft = h.to
	if !l.several() {
		for _, r := range l.readers {
			if r.g == h.g || r.to <= h.asked || !r.section.trusted() {
				continue
			}
			r.section.right++
			if l.unclaimed == 0 && l.claimed <= h.asked { // no other was admitted since
				r.from = min(r.from, h.asked)
			}
			r.to = min(r.to, h.to)
			h.with = append(h.with, r.coOwner)
		}
		order.Stable(h.with, func(a, b coOwner) int { return cmp.Compare(b.to, a.to) })
		h.with = h.with[:min(len(h.with), maxSharers)]
	}
	clear(l.readers)
	l.readers = l.readers[:0]
}

// Holders of a lock between known holds
//
// Likewise, a goroutine that is in a system call, blocked or stopped between the lines of Lock and
// Unlock holds the lock, whatever calls led there, when the trace does not show who got the lock or
// released it. A section is trusted only if no other goroutine is seen there during known holds.

// maxHeldSeen is the maximum number of heldSeen remembered between two releases.
const maxHeldSeen = 64

// seeHeld notes that g was in a section in the state that it leaves.
func (o *Observer) seeHeld(s *readSection, g *tracedGoroutine, t *timeline.Transition) {
	l := s.unlock.lock.root()
	if t.State.OnProc() && t.State != timeline.Syscall || t.End <= t.Start || l.doubtful() || len(l.seen) >= maxHeldSeen {
		return
	}
	g.shown = true
	l.seen = append(l.seen, heldSeen{coOwner{o.ownerAs(g.g, s.unlock, 0), g.g.ID, o.pastOf(g), t.Start, t.End}, s, t.Stack})
}

// judgeSections compares the observed holders of the lock with the known hold h.
func (o *Observer) judgeSections(l *tracedLock, h *hold) {
	if !h.known {
		return
	}
	for i := range l.seen {
		switch s := &l.seen[i]; {
		case min(s.to, h.to)-max(s.from, h.start) <= 0:
		case s.g == h.g:
			s.section.right++
		case min(s.to, h.to)-max(s.from, h.start) > overlap:
			s.section.wrong++
		}
	}
}

// seenBetween returns the observed holders of the lock from a to b, without overlaps.
func (l *tracedLock) seenBetween(a, b timeline.Time) (out []coOwner) {
	type part struct {
		stretch
		of int
	}
	var room [maxHeldSeen]part
	parts := room[:0]
	for i := range l.seen {
		s := &l.seen[i]
		if x := (stretch{max(s.from, a), min(s.to, b)}); x.start < x.end && s.section.right > 0 && s.section.trusted() {
			parts = append(parts, part{x, i})
		}
	}
	order.Stable(parts, func(x, y part) int { return cmp.Compare(x.start, y.start) })
	for _, p := range parts {
		if p.end > a {
			s := l.seen[p.of].coOwner
			s.from, s.to = max(p.start, a), p.end
			out = append(out, s)
			a = p.end
		}
	}
	return out
}
