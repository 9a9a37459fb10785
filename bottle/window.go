package bottle

import "github.com/bottleneck-go/bottleneck/timeline"

// A graph has a current window from its beginning to its end, at least one. When it ends, what was
// accounted for in it goes into the sums, and into a graph of its own if windows were asked for.

// maxWindows bounds what a window that is far too small can cost.
const maxWindows = 100_000

// stretch is what belongs to the current window but to no box.
type stretch struct {
	number int
	start  timeline.Time
	idle   timeline.Time // of the clock, at the start
	procs  int           // largest GOMAXPROCS
	now    int           // present GOMAXPROCS
	missed timeline.Time // in gaps
	// capacity, all and while idle, up to a time that the clock has shown
	capacity, idleCapacity int64
	counted, idleCounted   timeline.Time
}

// turn ends the current window, which ends now, and begins the next.
func (o *Observer) turn() {
	if o.stretch.number >= 0 {
		o.closeWindow()
	} else {
		o.settleAll()
		o.discard() // what was before from
	}
	o.stretch.number++
	o.stretch.start = o.clock.now
	o.stretch.idle = o.clock.idle
	o.stretch.missed = 0
	o.stretch.capacity, o.stretch.idleCapacity = 0, 0
	o.stretch.procs = o.stretch.now
	switch {
	case o.clock.now >= o.to:
		o.ended = true
	case o.opt.Window > 0 && len(o.windows) < maxWindows:
		o.next = min(o.to, after(o.clock.now, o.opt.Window))
	default:
		o.next = o.to
	}
}

// discard forgets what was accounted for before the graph begins.
func (o *Observer) discard() {
	o.clock.carry = 0
	o.stretch.counted, o.stretch.idleCounted = o.clock.elapsed, o.clock.idle
	o.procs, o.minProcs = o.stretch.now, o.stretch.now
	for k, b := range o.boxes {
		b.win, b.sum, b.sites, b.starts, b.chains = account{}, account{}, siteTimes{}, nil, chains{}
		if b.single {
			delete(o.boxes, k)
		}
	}
	o.collector.win, o.collector.sum = collected{}, collected{}
	o.exited = 0
	o.inC, o.inCOf = 0, o.inCOf+1
	o.chains = chainTable{}
	o.forgetOpen()
	for m := range o.members.All() {
		m.visits, m.many = m.visits[:0], nil
		if m.g != nil {
			o.boxes[m.box.key] = m.box
			m.visit(m.box, 0, o.pieces.number)
		}
	}
}

// closeWindow ends the current window: its boxes go into the sums.
func (o *Observer) closeWindow() {
	o.settleAll()
	o.charge()
	if o.opt.Window > 0 && o.clock.now > o.stretch.start+o.stretch.missed {
		if len(o.windows) < maxWindows {
			o.windows = append(o.windows, o.windowGraph())
		} else {
			o.tooMany = true
		}
	}
	o.idle += o.clock.idle - o.stretch.idle
	o.capacity += o.stretch.capacity
	o.idleCapacity += o.stretch.idleCapacity
	o.pieces.missed += o.stretch.missed
	o.collector.sum.add(&o.collector.win)
	o.collector.win = collected{}
	for _, b := range o.boxes {
		n := b.sum.goroutines
		b.sum.add(&b.win)
		b.sum.goroutines = n // counted when they came
		b.win = account{}
	}
	for m := range o.members.All() {
		if m.g != nil {
			m.visit(m.box, o.stretch.number+1, o.pieces.number)
		}
	}
}
