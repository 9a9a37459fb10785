package tracetasks

import (
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A pass over a live trace never ends, so its profile is taken in pieces. A task belongs, with all
// its time, to the piece in which it ended. The ActiveShare of all its pieces shows that it was under
// way.

// Cut ends the current profile at the time t, which must not precede the latest event, returns it,
// and begins the next one. A task counts in the profile in which it ended. Classes have no series.
// [granularity.Join] combines consecutive profiles.
func (o *Observer) Cut(t timeline.Time) *granularity.Profile {
	o.end = max(t, o.machine.now)
	o.machine.finish(o.end)
	for _, c := range o.classes {
		if c.underWay > 0 {
			c.active.Add(int64(c.since-o.begin), int64(o.end-o.begin), 1)
			c.since = o.end
		}
	}
	p := o.Profile()
	p.DropSeries()
	o.begin = o.end
	o.missed = 0
	m := &o.machine
	o.machine = traceMachine{now: m.now, width: granularity.SampleEvery, running: m.running, mostRunning: m.running, stops: m.stops, stoppedAt: m.stoppedAt}
	o.forget()
	for g := range o.goroutines.All() {
		for j := range g.stack {
			o.goOn(&g.stack[j].site)
		}
	}
	if len(o.open) > maxOpenTasks {
		for _, t := range o.open { // their ends are not in the trace
			o.taskEnds(t, nil, nil, o.end)
		}
		clear(o.open)
	}
	for _, k := range o.open {
		o.goOn(&k.site)
	}
	return p
}

// maxOpenTasks is the maximum number of tasks carried from one piece to the next.
const maxOpenTasks = 1 << 16

// goOn carries what is under way at a site into the next piece.
func (o *Observer) goOn(s **traceSite) {
	if *s != nil {
		*s = o.site((*s).key)
		(*s).class.enter(o.begin)
	}
}

// Gap implements [timeline.Observer]. The time in a gap is not in Wall, and tasks under way become
// unmeasured.
func (o *Observer) Gap(from, to timeline.Time) {
	o.machine.advance(from)
	for id, t := range o.open {
		o.lost(t.site, from)
		o.taskEnds(t, nil, nil, from)
		delete(o.open, id)
	}
	o.machine.gap(to)
	o.missed += to - from
}

// gap continues at t with nothing running.
func (m *traceMachine) gap(t timeline.Time) {
	if m.sample.Wall > 0 {
		m.closeSample()
	}
	m.now, m.running, m.stops = max(m.now, t), 0, 0
}

// covered returns the time that the profile covers.
func (o *Observer) covered() time.Duration {
	return time.Duration(o.end - o.begin - o.missed)
}
