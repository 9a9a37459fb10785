package bottle

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A pass over a live trace never ends, so its graph is taken in pieces. The carry of the clock goes
// from one piece into the next, so the pieces sum to the graph of the whole pass, bit for bit; see
// [Merge].

// pieces is the state for dividing a pass into pieces.
type pieces struct {
	source *int // distinguishes the graphs of this pass from those of other passes
	number int  // number of the current piece
	missed timeline.Time
	// away maps the ID of each goroutine that had not exited before the latest gap to its
	// visits.
	away map[int64][]visit
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
	p.away = map[int64][]visit{}
	for m := range members.All() {
		if m.g == nil && m.box != nil {
			p.away[int64(m.since)] = m.visits()
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
		g := o.newGraph(o.clock.now, o.clock.now, 0, o.stretch.now)
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
	o.pieces.missed, o.pieces.away = 0, nil
	o.idle, o.capacity, o.idleCapacity, o.windows, o.tooMany = 0, 0, 0, nil, false
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
			x.many = nil
			x.visits = slices.DeleteFunc(x.visits, func(v visit) bool { return boxes[v.box.key] != v.box })
		}
		m.visit(m.box, o.stretch.number+1, o.pieces.number)
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
