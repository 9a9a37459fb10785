package tracewaits

import (
	"math/bits"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Windows of a pass
//
// The blame for a wait is known only at its end. With Options.Window, each wait therefore keeps its
// time line: the spans that were blamed on an owner, were hand-off, or are unattributed. When the
// wait is booked, its spans are cut at the edges of the windows, and each piece goes to the window
// in which it passed. Sums of many owners are booked as in the whole profile (sums.go). The memory
// is bounded: if windows have too many rows together, each two neighbors are merged, and so on.

const (
	// maxTraceWindows is the maximum number of windows, and maxWindowCells the maximum number of
	// rows and pairs in all of them.
	maxTraceWindows = 2048
	maxWindowCells  = 1 << 16
)

// traceWindows keeps a profile for each stretch of time. A nil traceWindows keeps nothing.
type traceWindows struct {
	begin, width timeline.Time
	list         []*traceWindow
	cells, max   int // of all windows
	latest       []latestBlame
	goroutines   bool
}

// traceWindow is a single window.
type traceWindow struct {
	rows    traceRows
	locks   map[*tracedLock]*lockFacts
	missing timeline.Time // in gaps
}

// lockFacts has the data of a lock that is not in its rows.
type lockFacts struct {
	waiters            int32
	longest, contended timeline.Time
}

func (f *lockFacts) merge(g *lockFacts) {
	f.waiters, f.longest = max(f.waiters, g.waiters), max(f.longest, g.longest)
	f.contended += g.contended
}

// waitSpan is a stretch of a wait.
type waitSpan struct {
	from, to timeline.Time
	// ns is the part of its length that belongs to it: less than all if several owners share it.
	ns   timeline.Time
	what spanKind
	by   owner // if blamed
	past *past // of by
	// did is what by did, if that is known for the whole span, which is then in one window.
	did *ledger
}

type spanKind uint8

const (
	unattributedSpan spanKind = iota
	handOffSpan
	blamedSpan
	readySpan // after the wait,
	idleSpan  // the part of readySpan in which a processor (P) was idle
)

// latestBlame is the end of the latest blame on an owner in a wait, and the total of its blame.
type latestBlame struct {
	k  owner
	to timeline.Time
	ns int64
}

func newTraceWindows(begin timeline.Time, opt Options, limit int) *traceWindows {
	if opt.Window <= 0 {
		return nil
	}
	return &traceWindows{begin: begin, width: timeline.Time(opt.Window), max: limit, goroutines: opt.Goroutines}
}

// note adds a span to the time line of a wait.
func (s *traceWindows) note(w *waiting, sp waitSpan) {
	if s == nil || sp.to <= sp.from || sp.ns == 0 {
		return
	}
	// Merge adjacent spans; they come in forward or backward order.
	x := w.rare()
	if n := len(x.spans); n > 0 {
		last := &x.spans[n-1]
		if last.what == sp.what && last.by == sp.by && last.past == sp.past && last.did == nil && sp.did == nil && last.whole() && sp.whole() {
			switch {
			case last.from == sp.to:
				last.from, last.ns = sp.from, last.ns+sp.ns
				return
			case last.to == sp.from:
				last.to, last.ns = sp.to, last.ns+sp.ns
				return
			}
		}
	}
	x.spans = append(x.spans, sp)
}

func (sp *waitSpan) whole() bool { return sp.ns == sp.to-sp.from }

// unowned adds a part of a wait without an owner: hand-off or unattributed.
func (o *Observer) unowned(w *waiting, what spanKind, from, to timeline.Time) {
	switch {
	case to <= from:
		return
	case what == handOffSpan:
		w.handOff += to - from
	default:
		w.unattributed += to - from
	}
	if o.windows != nil {
		o.windows.note(w, waitSpan{from: from, to: to, ns: to - from, what: what})
	}
}

// noteBlame adds a span, ns of it blamed on an owner.
func (s *traceWindows) noteBlame(w *waiting, by owner, from, to, ns timeline.Time, p *past) {
	if s != nil {
		s.note(w, waitSpan{from: from, to: to, ns: ns, what: blamedSpan, by: by, past: p})
	}
}

// noteLogged adds a span from a message of a wrapped lock that came now. The clock of the message
// is only approximate.
func (s *traceWindows) noteLogged(w *waiting, sp waitSpan, now timeline.Time) {
	if s == nil || sp.ns <= 0 {
		return
	}
	sp.to = min(now, max(sp.to, s.begin+1))
	sp.from = max(s.begin, min(sp.from, sp.to-1))
	s.note(w, sp)
}

// index returns the number of the window that contains t.
func (s *traceWindows) index(t timeline.Time) int {
	return int(min(max(0, t-s.begin)/s.width, maxTraceWindows))
}

// at returns the window that contains t.
func (s *traceWindows) at(t timeline.Time) *traceWindow {
	i := s.index(t)
	for i >= maxTraceWindows {
		s.double()
		i = s.index(t)
	}
	for i >= len(s.list) {
		win := &traceWindow{rows: newTraceRows(s.max, s.goroutines, nil), locks: map[*tracedLock]*lockFacts{}}
		win.rows.recent = nil // there are many windows
		s.list = append(s.list, win)
	}
	return s.list[i]
}

// oneHas reports whether the time from a to b is in one window.
func (s *traceWindows) oneHas(a, b timeline.Time) bool { return s == nil || s.index(a) == s.index(b-1) }

// double merges each two windows into one.
func (s *traceWindows) double() {
	s.width *= 2
	s.cells = 0
	for i := range (len(s.list) + 1) / 2 {
		win := s.list[2*i]
		if 2*i+1 < len(s.list) {
			win.merge(s.list[2*i+1])
		}
		s.list[i] = win
		s.cells += win.size()
	}
	s.list = s.list[:(len(s.list)+1)/2]
}

func (win *traceWindow) size() int { return win.rows.cells + len(win.locks) }

func (win *traceWindow) merge(b *traceWindow) {
	for k, row := range b.rows.rows {
		win.rows.row(k, nil).merge(row)
	}
	win.rows.cells = len(win.rows.rows)
	for _, row := range win.rows.rows {
		win.rows.cells += len(row.pairs)
	}
	for l, f := range b.locks {
		win.facts(l).merge(f)
	}
	win.missing += b.missing
}

func (win *traceWindow) facts(l *tracedLock) *lockFacts {
	f := win.locks[l]
	if f == nil {
		f = new(lockFacts)
		win.locks[l] = f
	}
	return f
}

// each calls f for the parts of the time from from to to in each window. It divides ns among them
// in proportion to their lengths.
func (s *traceWindows) each(from, to, ns timeline.Time, f func(win *traceWindow, from, to, ns timeline.Time)) {
	given := timeline.Time(0)
	for a := from; a < to; {
		win := s.at(a)
		b := min(to, s.begin+timeline.Time(s.index(a)+1)*s.width)
		part := portion(ns, b-from, to-from) - given
		f(win, a, b, part)
		given += part
		a = b
	}
}

// portion is ns × a / b, rounded down, without overflow, where a ≤ b.
func portion(ns, a, b timeline.Time) timeline.Time {
	hi, lo := bits.Mul64(uint64(max(0, ns)), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return timeline.Time(q)
}

// book adds the spans of a finished wait to the windows. It counts for an owner where that was
// blamed last. whole is the row of the profile, which counts those in its sums.
func (s *traceWindows) book(g *tracedGoroutine, w *waiting, whole *traceRow) {
	if s == nil {
		return
	}
	k := rowKeyOf(g, w, s.goroutines)
	s.latest = s.latest[:0]
	if w.more != nil {
		for i := range w.more.spans {
			s.spend(&w.more.spans[i], k)
		}
	}
	for i := range s.latest {
		l := &s.latest[i]
		end, counts := l.to, int64(1)
		if p := whole.pairs[l.k]; len(w.sums()) > 0 && p != nil && p.now != nil && p.now.ns > 0 {
			l.ns += int64(p.now.ns)
			if last := slices.Max(p.now.ends); last > end {
				end, counts = last, 0
			} else {
				p.now.later++
			}
		}
		s.pair(end, k, &l.k).over(counts, l.ns)
	}
	end := s.at(max(s.begin+1, w.wake, w.resumed) - 1)
	row := end.rows.row(k, nil)
	row.over(w, w.waited)
	f := end.facts(w.lock)
	f.longest = max(f.longest, w.waited)
	s.fit(1)
}

// pair returns the pair of a row in the window that ends at t or contains it.
func (s *traceWindows) pair(t timeline.Time, k traceRowKey, by *owner) *tracePair {
	win := s.at(t - 1)
	return win.rows.pair(win.rows.row(k, nil), *by)
}

// bookSum adds a sum that was in the waits of a row since e.since to its window.
func (s *traceWindows) bookSum(of *traceRow, e *shownSum) {
	waits := of.clock - e.since
	if s == nil || waits == 0 {
		return
	}
	win, n, sum := s.at(e.sum.to-1), time.Duration(waits), e.sum
	row := win.rows.row(of.key, nil)
	row.Waited += n * time.Duration(sum.handOff+sum.unattributed+sum.blamed)
	row.HandOff += n * time.Duration(sum.handOff)
	row.Unattributed += n * time.Duration(sum.unattributed)
	row.Blamed += n * time.Duration(sum.blamed)
	blame := func(part *blamedPart) {
		p := win.rows.pair(row, part.owner)
		p.blamed += waits * int64(part.ns)
		p.did.addTimes(&part.did, waits)
		for i := range part.did.causes {
			p.did.count(causeKey{part.did.causes[i].via, part.did.causes[i].root}, waits)
		}
	}
	of.eachPart(sum, func(_ *tracePair, part *blamedPart) { blame(part) })
	if e.rest.ns > 0 {
		blame(&e.rest)
	}
	s.fit(len(sum.parts))
}

// fit merges windows until they fit into their memory, after some cells were added.
func (s *traceWindows) fit(more int) {
	if s.cells += more; s.cells < s.max { // an estimate, which count corrects
		return
	}
	s.count()
	for s.cells > s.max*3/4 && len(s.list) > 1 {
		s.double()
	}
}

func (s *traceWindows) count() {
	s.cells = 0
	for _, win := range s.list {
		s.cells += win.size()
	}
}

// spend adds a span to the rows of the windows that it is in.
func (s *traceWindows) spend(sp *waitSpan, k traceRowKey) {
	s.each(sp.from, sp.to, sp.ns, func(win *traceWindow, from, to, ns timeline.Time) {
		row := win.rows.row(k, nil)
		switch sp.what {
		case readySpan:
			row.Ready += time.Duration(ns)
			return
		case idleSpan:
			row.ReadyIdle += time.Duration(ns)
			return
		}
		row.Waited += time.Duration(ns)
		switch sp.what {
		case handOffSpan:
			row.HandOff += time.Duration(ns)
		case unattributedSpan:
			row.Unattributed += time.Duration(ns)
		default:
			row.Blamed += time.Duration(ns)
			var did ledger
			if sp.did != nil {
				did = sp.did.clone()
			} else {
				did = sp.past.between(from, to)
				did.scale(ns)
			}
			for i := range did.causes {
				did.causes[i].n = 1
			}
			p := win.rows.pair(row, sp.by)
			p.blamed += int64(ns)
			p.did.merge(&did)
		}
	})
	if sp.what == blamedSpan {
		s.blamed(sp)
	}
}

// blamed records the total blame on an owner in the current wait, and the end of the latest.
func (s *traceWindows) blamed(sp *waitSpan) {
	for i := range s.latest {
		if l := &s.latest[i]; l.k == sp.by {
			l.to, l.ns = max(l.to, sp.to), l.ns+int64(sp.ns)
			return
		}
	}
	s.latest = append(s.latest, latestBlame{sp.by, sp.to, int64(sp.ns)})
}

// contended adds ns to the time in which a lock was held while a goroutine waited for it.
func (s *traceWindows) contended(l *tracedLock, from, to, ns timeline.Time) {
	if s == nil {
		return
	}
	s.each(from, to, ns, func(win *traceWindow, _, _, ns timeline.Time) { win.facts(l).contended += ns })
}

// waiters records the number of waiters for a lock when its owner released it.
func (s *traceWindows) waiters(l *tracedLock, t timeline.Time, n int32) {
	if s == nil {
		return
	}
	f := s.at(max(s.begin+1, t) - 1).facts(l)
	f.waiters = max(f.waiters, n)
}

// gap records a stretch of missing time.
func (s *traceWindows) gap(g *timeline.Gap) {
	if s == nil {
		return
	}
	s.each(g.From, g.To, g.To-g.From, func(win *traceWindow, _, _, ns timeline.Time) { win.missing += ns })
}

// WindowLength returns the length of each of the [Observer.Windows] except the last; 0 if there are
// none. The first window begins with the trace.
func (o *Observer) WindowLength() time.Duration {
	if o.windows == nil {
		return 0
	}
	return time.Duration(o.windows.width)
}

// Windows returns a profile of each stretch of Options.Window, in order, the last one up to the end
// of the trace. After the pass, the windows are complete. It returns nil without that option, and
// after a [Observer.Cut].
//
// The times of the windows sum to those of [Observer.Profile], row by row, to the nanosecond, and
// so do contentions: a wait counts in the window in which it ended, and for an owner in the one in
// which that owner was blamed last. What owners did and the roots are those of each piece; a root
// that is known only for a wait as a whole is unknown in its pieces. The longest wait is that of
// the waits that ended in the window. InFlight, Unfinished and Dropped are in the last window.
// [contention.Merge] adds windows up.
//
// There are at most 2,048 windows, with 65,536 rows and pairs in total. To stay within these
// limits, the length of the windows is doubled as often as necessary: see WindowLength.
func (o *Observer) Windows() []*contention.Profile {
	s := o.windows
	if s == nil || o.end <= o.begin {
		return nil
	}
	inFlight := o.settle()
	o.bookAllKept()
	for _, row := range o.rows.rows {
		row.settle()
	}
	s.at(o.end - 1)
	var out []*contention.Profile
	for i, win := range s.list {
		from := s.begin + timeline.Time(i)*s.width
		p := &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred, Duration: time.Duration(min(o.end, from+s.width) - from - win.missing)}
		if !o.wall.IsZero() {
			p.Start = o.wall.Add(time.Duration(from - o.begin))
		}
		facts := make(map[*tracedLock]*lockFacts, len(win.locks))
		for l, f := range win.locks {
			if into := facts[l.root()]; into != nil {
				into.merge(f)
			} else {
				c := *f
				facts[l.root()] = &c
			}
		}
		win.rows.copyTo(p, func(l *tracedLock) lockFacts {
			if f := facts[l]; f != nil {
				return *f
			}
			return lockFacts{}
		})
		if i == len(s.list)-1 {
			p.InFlight, p.Unfinished = inFlight, o.unfinishedRows()
			p.Dropped.Chains, p.Dropped.Pairs, p.Dropped.Exits = o.places.uses, o.rows.crowded, o.lost
		}
		p.Finish(o.cuts.pass, i, true)
		out = append(out, p)
	}
	return out
}
