package bottle

import (
	"maps"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A graph always has a current window, from its beginning to its end. When the window ends, its
// times are added to the sums and, if windows were requested, become a separate graph.

// maxWindows bounds the cost of windows that are much too short.
const maxWindows = 100_000

// span holds the numbers of a window, or of the whole graph, that belong to no box.
type span struct {
	idle, missed           timeline.Time // missed: in gaps
	capacity, idleCapacity int64         // in total, and while idle
	procs                  int           // largest GOMAXPROCS
	collector              Collector     // without Work and Share, which follow from the boxes
}

// stretch is the state of the current window that belongs to no box.
type stretch struct {
	span            // idle is known at the end
	number    int32 // −1 before the graph begins
	start     timeline.Time
	idleStart timeline.Time // idle time of the clock at the start
	now       int           // current GOMAXPROCS
	// The capacity is counted up to these times of the clock.
	counted, idleCounted timeline.Time
}

// turn ends the current window and begins the next one.
func (o *Observer) turn() {
	if o.stretch.number >= 0 {
		o.closeWindow()
	} else {
		o.settleAll()
		o.discard() // times before from
	}
	o.beginWindow()
	o.ended = o.clock.now >= o.to
}

func (o *Observer) beginWindow() {
	s := &o.stretch
	*s = stretch{number: s.number + 1, start: o.clock.now, idleStart: o.clock.idle, span: span{procs: s.now}, now: s.now, counted: s.counted, idleCounted: s.idleCounted}
	o.next = o.to
	if o.opt.Window > 0 && len(o.windows) < maxWindows {
		o.next = min(o.to, after(o.clock.now, o.opt.Window))
	}
}

// reset drops the sums of the graph that do not belong to a box.
func (o *Observer) reset() {
	o.whole, o.minProcs = span{procs: o.stretch.now}, o.stretch.now
	o.stretch.collector = Collector{}
	o.latency, o.chains = Latency{}, chainTable{}
	o.exited, o.latest = 0, nil
	o.inC, o.inCOf = 0, o.inCOf+1
}

// discard drops everything before the beginning of the graph.
func (o *Observer) discard() {
	o.clock.carry = 0
	o.stretch.counted, o.stretch.idleCounted = o.clock.elapsed, o.clock.idle
	o.reset()
	for k, b := range o.boxes {
		b.win, b.sum, b.sites, b.starts, b.chains = account{}, account{}, siteTimes{}, nil, chains{}
		if b.single {
			delete(o.boxes, k)
		}
	}
	for open := range o.open.All() {
		open.here, open.elsewhere = ran{}, nil
	}
	for m := range o.members.All() {
		b := m.box
		m.box = nil
		if m.extra != nil {
			m.extra.visits = nil
		}
		if m.g != nil {
			o.boxes[b.key] = b
			o.visit(m, b, 0)
		}
	}
}

// closeWindow ends the current window and adds its boxes to the sums.
func (o *Observer) closeWindow() {
	o.settleAll()
	o.charge()
	s, whole := &o.stretch.span, &o.whole
	s.idle = o.clock.idle - o.stretch.idleStart
	if (o.opt.Window > 0 || o.opt.Collections) && o.clock.now > o.stretch.start+o.stretch.missed {
		if len(o.windows) < maxWindows {
			o.windows = append(o.windows, o.windowGraph())
		} else {
			o.tooMany = true
		}
	}
	whole.idle += s.idle
	whole.missed += s.missed
	whole.capacity += s.capacity
	whole.idleCapacity += s.idleCapacity
	whole.procs = max(whole.procs, s.procs)
	whole.collector.add(&s.collector, 1)
	for _, b := range o.boxes {
		n := b.sum.goroutines
		b.sum.add(&b.win)
		b.sum.goroutines = n // counted by visit
		b.win = account{}
	}
	for m := range o.members.All() {
		if m.g != nil {
			o.visit(m, m.box, o.stretch.number+1)
		}
	}
}

// A pass over a live trace never ends, so its graph is taken in pieces. The carry of the clock goes
// from one piece into the next, so the pieces sum to the graph of the whole pass, bit for bit; see
// [Merge].

// pieces is the state for dividing a pass into pieces.
type pieces struct {
	source *int // distinguishes the graphs of this pass from those of other passes
	number int  // number of the current piece
	// start is the first window of the current piece, before that of the previous one.
	start, before int32
	// away maps the ID of each goroutine that had not exited before the latest gap to its
	// visits.
	away map[int64]map[*box]int32
}

// merged is the part of a pass that a graph comes from.
type merged struct {
	source      *int
	first, last int // numbers of pieces
}

func (p *pieces) mark() merged {
	if p.source == nil {
		p.source = new(int)
	}
	return merged{source: p.source, first: p.number, last: p.number}
}

// remember saves the visits of the goroutines before a gap.
func (p *pieces) remember(members *byindex.Table[member]) {
	p.away = map[int64]map[*box]int32{}
	for m := range members.All() {
		if m.g == nil && m.box != nil {
			m.leave()
			p.away[int64(m.since)] = m.extra.visits
			*m = member{}
		}
	}
}

// recall restores the visits of a goroutine that returns after a gap.
func (p *pieces) recall(m *member) {
	if p.away == nil {
		return
	}
	if v, ok := p.away[m.g.ID]; ok {
		m.rare().visits = v
		delete(p.away, m.g.ID)
	}
}

func (a *account) visitedAgain(directly bool) {
	a.goroutines++
	a.known++
	if directly {
		a.carried++
	}
}

// keptBoxes is the number of boxes without a live goroutine that are kept for the next piece. They
// only cost memory, and ensure that returning goroutines are not counted twice.
const keptBoxes = 1024

// Cut ends the current graph at time t, returns it, and begins the next one. t must not be before
// the latest event. The graphs of all cuts and that of the rest of the pass sum to the graph of the
// whole pass, bit for bit; see [Merge]. The windows of the graph are those since the previous cut.
//
// It takes about 0.5 µs per box and live goroutine. The time in a gap belongs to no graph.
func (o *Observer) Cut(t timeline.Time) *Graph {
	o.advance(max(t, o.clock.now))
	if o.stretch.number < 0 { // before the graph begins
		g := o.newGraph(o.clock.now, o.clock.now, &span{procs: o.stretch.now})
		g.merged = o.pieces.mark()
		return g
	}
	to := o.to
	if !o.ended {
		o.closeWindow()
		o.to = o.clock.now
	}
	g := o.Graph()
	o.to, o.from = to, min(to, o.clock.now)
	o.pieces.number++
	o.pieces.before, o.pieces.start = o.pieces.start, o.stretch.number+1
	o.pieces.away, o.windows, o.tooMany = nil, nil, false
	o.reset()
	o.forget()
	if !o.ended {
		o.beginWindow()
	}
	return g
}

// forget resets the boxes and drops those that are no longer needed.
func (o *Observer) forget() {
	used := make(map[*box]bool, len(o.boxes))
	for m := range o.members.All() {
		if m.g != nil {
			used[m.box] = true
		}
	}
	unused := 0
	for _, b := range o.boxes {
		if !used[b] && !b.single {
			unused++
		}
	}
	boxes := make(map[boxKey]*box, len(used))
	for k, b := range o.boxes {
		if used[b] || unused <= keptBoxes && !b.single && !b.folded {
			b.sum, b.sites, b.chains = account{}, siteTimes{}, chains{}
			boxes[k] = b
		}
	}
	pruned := len(boxes) < len(o.boxes)
	o.boxes = boxes
	for m := range o.members.All() {
		if m.g == nil {
			continue
		}
		if x := m.extra; x != nil && pruned {
			maps.DeleteFunc(x.visits, func(b *box, _ int32) bool { return boxes[b.key] != b })
		}
		m.box.sum.visitedAgain(true)
	}
}

// Gap implements [timeline.Observer]: the time in a gap belongs to no graph.
func (o *Observer) Gap(from, to timeline.Time) {
	o.advance(from)
	o.pieces.remember(&o.members)
	for !o.ended {
		until := min(to, o.next)
		if o.stretch.number >= 0 {
			o.stretch.missed += until - o.clock.now
		}
		o.clock.now = until
		if to < o.next {
			break
		}
		o.turn()
	}
}
