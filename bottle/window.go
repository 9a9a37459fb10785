package bottle

import "github.com/bottleneck-go/bottleneck/timeline"

// A graph always has a current window, from its beginning to its end. When the window ends, its
// times are added to the sums and, if windows were requested, become a separate graph.

// maxWindows bounds the cost of windows that are much too short.
const maxWindows = 100_000

// stretch is the state of the current window that belongs to no box.
type stretch struct {
	number int
	start  timeline.Time
	idle   timeline.Time // idle time of the clock at the start
	procs  int           // largest GOMAXPROCS
	now    int           // current GOMAXPROCS
	missed timeline.Time // in gaps
	// Capacity, in total and while idle, up to a time of the clock.
	capacity, idleCapacity int64
	counted, idleCounted   timeline.Time
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
	*s = stretch{number: s.number + 1, start: o.clock.now, idle: o.clock.idle, procs: s.now, now: s.now, counted: s.counted, idleCounted: s.idleCounted}
	o.next = o.to
	if o.opt.Window > 0 && len(o.windows) < maxWindows {
		o.next = min(o.to, after(o.clock.now, o.opt.Window))
	}
}

// reset drops the sums of the graph that do not belong to a box.
func (o *Observer) reset() {
	o.procs, o.minProcs = o.stretch.now, o.stretch.now
	o.collector.win, o.collector.sum = Collector{}, Collector{}
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
	o.forgetOpen()
	for m := range o.members.All() {
		b := m.box
		m.box = nil
		if m.extra != nil {
			m.extra.visits, m.extra.many = nil, nil
		}
		if m.g != nil {
			o.boxes[b.key] = b
			m.visit(b, 0, o.pieces.number)
		}
	}
}

// closeWindow ends the current window and adds its boxes to the sums.
func (o *Observer) closeWindow() {
	o.settleAll()
	o.charge()
	if (o.opt.Window > 0 || o.opt.Collections) && o.clock.now > o.stretch.start+o.stretch.missed {
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
	o.collector.win = Collector{}
	for _, b := range o.boxes {
		n := b.sum.goroutines
		b.sum.add(&b.win)
		b.sum.goroutines = n // counted by visit
		b.win = account{}
	}
	for m := range o.members.All() {
		if m.g != nil {
			m.visit(m.box, o.stretch.number+1, o.pieces.number)
		}
	}
}
