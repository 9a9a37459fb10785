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
// The blame for a wait is known only at its end. With Options.Window, the times of each wait are
// therefore cut at the edges of the windows, into pieces. When the wait is booked, each piece goes
// to its window. Sums of many owners are booked as in the whole profile (sums.go). The memory is
// bounded: if windows have too many rows together, each two neighbors are merged, and so on.

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

func newTraceWindows(begin timeline.Time, opt Options, limit int) *traceWindows {
	if opt.Window <= 0 {
		return nil
	}
	return &traceWindows{begin: begin, width: timeline.Time(opt.Window), max: limit, goroutines: opt.Goroutines}
}

// spend adds ns of the time between two instants to the pieces of a wait.
func (s *traceWindows) spend(w *waiting, what spanKind, from, to, ns timeline.Time) {
	s.each(from, to, ns, func(_ *traceWindow, _, b, ns timeline.Time) { s.piece(w, b).times[what] += ns })
}

// blame is Observer.blame for the pieces of a wait.
func (s *traceWindows) blame(w *waiting, by *owner, from, to, ns timeline.Time, did *ledger, q *past) {
	s.each(from, to, ns, func(_ *traceWindow, a, b, ns timeline.Time) {
		if a != from || b != to {
			part := q.between(a, b)
			part.scale(ns)
			did = &part
		}
		s.piece(w, b).blame(by, ns, did)
	})
}

// piece returns the piece of a wait in the window that ends at t or contains it.
func (s *traceWindows) piece(w *waiting, t timeline.Time) *piece {
	i, ok := slices.BinarySearchFunc(w.pieces, s.index(t-1), func(p piece, n int) int { return n - s.index(p.at) })
	if !ok {
		w.forLock().pieces = slices.Insert(w.pieces, i, piece{at: t - 1})
	}
	return &w.pieces[i]
}

// clip moves the time of a message of a wrapped lock, whose clock is only approximate, to the time
// of the pass until now.
func (s *traceWindows) clip(from, to, now timeline.Time) (timeline.Time, timeline.Time) {
	if s != nil {
		to = min(now, max(to, s.begin+1))
		from = max(s.begin, min(from, to-1))
	}
	return from, to
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
		win := &traceWindow{rows: newTraceRows(s.max, s.goroutines), locks: map[*tracedLock]*lockFacts{}}
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
	for i := range (len(s.list) + 1) / 2 {
		win := s.list[2*i]
		if 2*i+1 < len(s.list) {
			win.merge(s.list[2*i+1])
		}
		s.list[i] = win
	}
	s.list = s.list[:(len(s.list)+1)/2]
	s.count()
}

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

// book adds the pieces of a finished wait to the windows. It counts for an owner where that was
// blamed last. whole is the row of the profile, to which the wait has been added.
func (s *traceWindows) book(g *timeline.Goroutine, w *waiting, whole *traceRow) {
	k := rowKeyOf(g, w, s.goroutines)
	for i := range w.pieces {
		p := &w.pieces[i]
		win := s.at(p.at)
		row := win.rows.row(k, nil)
		row.addTimes(p.times.waited(), &p.times, 1)
		for j := range p.parts {
			part := &p.parts[j]
			pair := win.rows.pair(row, &part.owner)
			pair.addInWindow(part, 1)
			switch of := whole.pairs[part.owner]; {
			case of == nil: // there was no room for it
				pair.over(1, int64(part.ns))
			case of.inWait > 0: // the piece is the latest
				if len(w.sums) == 0 || of.now == nil || of.now.ns == 0 {
					pair.over(1, of.inWait)
				} else if last := slices.Max(of.now.ends); last > p.at+1 {
					s.pair(last, k, &part.owner).over(0, of.inWait) // where upTo counts it
				} else {
					of.now.later++
					pair.over(1, of.inWait)
				}
				of.inWait = 0
			}
		}
	}
	end := s.at(max(s.begin+1, w.wake, w.resumed) - 1)
	row := end.rows.row(k, nil)
	row.over(w, w.waited)
	f := end.facts(w.lock)
	f.longest = max(f.longest, w.waited)
	s.fit(1)
}

// addInWindow adds the part of a number of waits in a window, without counting them.
func (p *tracePair) addInWindow(part *blamedPart, waits int64) {
	p.addTimes(part, waits)
	for i := range part.did.causes {
		p.did.count(causeKey{part.did.causes[i].via, part.did.causes[i].root}, waits)
	}
}

// pair returns the pair of a row in the window that ends at t or contains it.
func (s *traceWindows) pair(t timeline.Time, k traceRowKey, by *owner) *tracePair {
	win := s.at(t - 1)
	return win.rows.pair(win.rows.row(k, nil), by)
}

// bookSum adds a sum that was in the waits of a row since e.since to its window.
func (s *traceWindows) bookSum(of *traceRow, e *shownSum) {
	waits := of.clock - e.since
	if s == nil || waits == 0 {
		return
	}
	win, n, sum := s.at(e.sum.to-1), time.Duration(waits), e.sum
	row := win.rows.row(of.key, nil)
	row.addTimes(sum.times.waited(), &sum.times, n)
	of.eachPart(sum, func(_ *tracePair, part *blamedPart) { win.rows.pair(row, &part.owner).addInWindow(part, waits) })
	if e.rest.ns > 0 {
		win.rows.pair(row, &e.rest.owner).addInWindow(&e.rest, waits)
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
		s.cells += win.rows.cells + len(win.locks)
	}
}

// gap records a stretch of missing time.
func (s *traceWindows) gap(from, to timeline.Time) {
	if s == nil {
		return
	}
	s.each(from, to, to-from, func(win *traceWindow, _, _, ns timeline.Time) { win.missing += ns })
}

// contend adds ns to the time in which a lock was held while a goroutine waited for it.
func (o *Observer) contend(l *tracedLock, from, to, ns timeline.Time) {
	l.root().contended += ns
	if o.windows != nil {
		o.windows.each(from, to, ns, func(win *traceWindow, _, _, ns timeline.Time) { win.facts(l).contended += ns })
	}
}

// released records the number of waiters for a lock when its owner released it.
func (o *Observer) released(l *tracedLock, t timeline.Time, waiters int) {
	n := int32(waiters)
	l.waiters = max(l.waiters, n)
	if s := o.windows; s != nil {
		f := s.at(max(s.begin+1, t) - 1).facts(l)
		f.waiters = max(f.waiters, n)
	}
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
// The times and contentions of the windows sum to those of [Observer.Profile], row by row: a wait
// counts in the window in which it ended, and for an owner in the one in which that owner was blamed
// last. What owners did and the roots are those of each piece; a root that is known only for a wait
// as a whole is unknown in its pieces. The longest wait is that of the waits that ended in the
// window. InFlight, Unfinished and Dropped are in the last window. [contention.Merge] adds windows.
//
// There are at most 2,048 windows, with 65,536 rows and pairs in total. To stay within these
// limits, the windows are doubled as often as necessary: see WindowLength.
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
		for l, f := range win.locks {
			if root := l.root(); root != l {
				win.facts(root).merge(f)
				delete(win.locks, l)
			}
		}
		win.rows.copyTo(p, win.facts)
		if i == len(s.list)-1 {
			o.addRest(p, inFlight)
		}
		p.Finish(o.cuts.pass, i, true)
		out = append(out, p)
	}
	return out
}
