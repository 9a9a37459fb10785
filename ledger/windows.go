package ledger

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A gap is booked when it ends and a goroutine's running when it stops, which may be after the end
// of the window in which they began. So each window has its own observer. It begins in the state of
// the previous window's observer and sees events until everything that began in the window has
// ended. Its ledger is the one that Options.From and To produce. At most maxOpen observers are
// active. If something lasts longer than maxOpen windows, it has no cause in the first of them.

const (
	maxOpen = 4
	// maxWindows bounds the ledgers, and maxWindowRows their rows: if there are more ledgers,
	// each keeps fewer rows.
	maxWindows    = 2048
	maxWindowRows = 1 << 17
	keptRows      = 1024
	checkEvery    = 256 // transitions
)

// windows is an observer that makes a ledger of each window of a fixed length.
type windows struct {
	timeline.Base
	width timeline.Time
	now   *Observer   // of the current window; nil after the last
	open  []*Observer // of earlier windows, oldest first
	list  []*Ledger
	rows  int
	keep  int // number of rows in a ledger
	seen  int
	to    timeline.Time
}

// NewWindows returns an observer for one pass that makes a ledger of each window of the given
// length, which must be positive. After the pass, ledgers returns them in order. There are at most
// 2,048, each with its largest rows. The last window may be shorter.
func NewWindows(opt Options, width time.Duration) (o timeline.Observer, ledgers func() []*Ledger) {
	opt.Stacks = false
	w := &windows{width: timeline.Time(width), keep: keptRows, to: math.MaxInt64}
	if opt.To > 0 {
		w.to = timeline.Time(opt.To)
	}
	opt.From = max(opt.From, 0)
	opt.To = opt.From + width
	w.now = NewObserver(opt)
	return w, func() []*Ledger { return w.list }
}

// each passes an event at time t to the observers of all open windows.
func (w *windows) each(t timeline.Time, see func(*Observer)) {
	w.until(t)
	for _, o := range w.open {
		see(o)
	}
	if w.now != nil {
		see(w.now)
	}
}

// until begins all windows that start at or before t.
func (w *windows) until(t timeline.Time) {
	for w.now != nil && t-w.now.offset >= w.now.length {
		o := w.now
		end := o.offset + o.length
		o.advance(end)
		w.open = append(w.open, o)
		if w.now = nil; len(w.list)+len(w.open) < maxWindows && timeline.Time(o.opt.To) < w.to {
			w.now = o.fork(end, min(w.width, w.to-timeline.Time(o.opt.To)))
		}
		if len(w.open) > maxOpen {
			w.finish(w.open[0].Finish(end))
		}
	}
	if w.seen++; w.seen%checkEvery == 0 {
		for len(w.open) > 0 && w.open[0].done() {
			w.finish(w.open[0].Finish(t))
		}
	}
}

// finish records the ledger of the oldest open window.
func (w *windows) finish(l *Ledger) {
	l = l.Top(w.keep)
	w.open = slices.Delete(w.open, 0, 1)
	w.list = append(w.list, l)
	for w.rows += len(l.Rows); w.rows > maxWindowRows; {
		w.keep /= 2
		w.rows = 0
		for i, l := range w.list {
			w.list[i] = l.Top(w.keep)
			w.rows += len(w.list[i].Rows)
		}
	}
}

// done reports whether everything that began before the end has ended.
func (o *Observer) done() bool {
	if o.idle > 0 || o.who == none && o.whoSince < o.length {
		return false
	}
	for i := range o.slots {
		s := &o.slots[i]
		if m := s.occupant(); !s.occupied && (s.at < o.length || len(s.pending) > 0) || s.occupied && m != nil && m.on && m.since < o.length {
			return false
		}
	}
	return len(o.waiting) == 0
}

// fork returns an observer in the state of o whose ledger begins at a time and has a length.
// Earlier times count as 0, as if Options.From were that time.
func (o *Observer) fork(at, length timeline.Time) *Observer {
	n := NewObserver(o.opt)
	n.opt.From = o.opt.To
	n.opt.To = n.opt.From + time.Duration(length)
	n.version, n.offset, n.length = o.version, at, length
	if o.procs > 0 {
		n.setProcs(o.procs)
	}
	n.slots, n.gaps, n.empty, n.running, n.ready, n.queuing = slices.Clone(o.slots), o.gaps, o.empty, o.running, o.ready, o.queuing
	for i := range n.slots {
		n.slots[i].mark, n.slots[i].locked, n.slots[i].pending = mark{}, 0, nil
	}
	n.groups.of, n.groups.names = maps.Clone(o.groups.of), slices.Clone(o.groups.names)
	n.active, n.helps, n.program, n.helpers, n.who = slices.Clone(o.active), slices.Clone(o.helps), o.program, o.helpers, o.who
	n.stop, n.stopper, n.stopped = o.stop, o.stopper, o.stopped
	n.assists = maps.Clone(o.assists)
	n.heap.size, n.heap.before = o.heap.size, o.heap.before
	n.history.begin(0, n.who)
	n.waiting, n.locked = slices.Clone(o.waiting), o.locked
	i := 0
	for from := range o.members.All() {
		if from.g != nil {
			m := n.members.At(i)
			*m = *from
			m.waitedAt = 0
			if from.run != nil {
				r := *from.run
				r.since, r.part, r.ready, r.marked, m.run = 0, 0, mark{}, false, &r
			}
		}
		i++
	}
	for i := range n.slots {
		if s := &n.slots[i]; s.occupant() != nil {
			s.m = n.members.At(s.g.Index)
		}
	}
	return n
}

// Begin implements [timeline.Observer], as do the methods below.
func (w *windows) Begin(t timeline.Time, version int) { w.now.Begin(t, version) }

func (w *windows) Transition(t *timeline.Transition) {
	w.each(t.End, func(o *Observer) { o.Transition(t) })
}

func (w *windows) Named(g *timeline.Goroutine, t timeline.Time) {
	w.each(t, func(o *Observer) { o.Named(g, t) })
}

func (w *windows) Label(g *timeline.Goroutine, t timeline.Time) {
	w.each(t, func(o *Observer) { o.Label(g, t) })
}

func (w *windows) Region(e *timeline.Span) { w.each(e.Time, func(o *Observer) { o.Region(e) }) }
func (w *windows) Range(e *timeline.Span)  { w.each(e.Time, func(o *Observer) { o.Range(e) }) }
func (w *windows) Metric(t timeline.Time, name string, value uint64, stopped bool) {
	w.each(t, func(o *Observer) { o.Metric(t, name, value, stopped) })
}
func (w *windows) Sample(t timeline.Time, g *timeline.Goroutine, stack *timeline.Stack) {
	w.each(t, func(o *Observer) { o.Sample(t, g, stack) })
}

func (w *windows) End(t timeline.Time) {
	w.until(t)
	if w.now != nil && w.now.offset < t {
		w.open = append(w.open, w.now)
	}
	w.now = nil
	for len(w.open) > 0 {
		w.open[0].End(t)
		w.finish(w.open[0].Ledger())
	}
}
