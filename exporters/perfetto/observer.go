package perfetto

import (
	"github.com/bottleneck-go/bottleneck/internal/byindex"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// observer turns the events of a trace into packets, in the order of time. The slices of processors
// are an exception: they are written when they end, because only then does the trace identify the
// processor.
type observer struct {
	timeline.Base
	w *writer

	program uint64 // the tracks
	begun   bool
	now     timeline.Time

	groups       map[string]*group
	lanes        byindex.Table[*lane]
	tracks       int
	otherThreads int64
	threads      map[int64]bool // thread numbers in use, at most maxTracks
	procs        map[int32]*processor
	flows        uint64

	running, runnable gauge
	gauges            map[string]uint64 // tracks by metric
	spans             map[string]*stack // ranges of the whole program, by name
	tasks             taskLanes
}

// lane is a goroutine with its track.
type lane struct {
	id     int64
	group  *group
	track  uint64
	shared bool
	open   bool // whether a slice of the state is open
	state  timeline.State
	inner  stack // regions and runtime ranges
}

// processor is a P with its track.
type processor struct {
	track uint64
	until timeline.Time // end of its last slice
	inner stack         // runtime ranges
}

// Begin implements [timeline.Observer]. It describes the tracks of the whole program.
func (o *observer) Begin(t timeline.Time, _ int) {
	o.now, o.begun = t, true
	o.program = o.w.process(programPID, clean(o.w.title))
	o.running = gauge{track: o.w.track(o.program, "running goroutines (parallelism)", unitCount)}
	o.runnable = gauge{track: o.w.track(o.program, "runnable goroutines", unitCount)}
	o.w.process(processorsPID, "processors")
}

// lane returns the lane of a live goroutine.
func (o *observer) lane(g *timeline.Goroutine) *lane {
	if g != nil {
		if l := o.lanes.Known(g.Index); l != nil && *l != nil && (*l).id == g.ID {
			return *l
		}
	}
	return nil
}

// at moves the clock and writes the gauges that changed before.
func (o *observer) at(t timeline.Time) {
	if t > o.now {
		o.running.flush(o.w, o.now)
		o.runnable.flush(o.w, o.now)
		o.now = t
	}
}

func (o *observer) Transition(t *timeline.Transition) {
	o.at(t.End)
	o.count(t.State, -1)
	o.count(t.To, 1)
	l := o.lane(t.G)
	if l != nil && l.open {
		o.leave(l, t)
	}
	o.onProc(t)
	if !t.To.Alive() {
		if l != nil {
			o.gone(l)
			*o.lanes.At(t.G.Index) = nil
		}
		return
	}
	if l == nil {
		l = o.appear(t.G)
		*o.lanes.At(t.G.Index) = l
	}
	o.enter(l, t.G, t.To, o.wake(t))
}

// count updates the numbers of running and runnable goroutines.
func (o *observer) count(s timeline.State, by int64) {
	switch {
	case s.Runs():
		o.running.add(by)
	case s == timeline.Runnable:
		o.runnable.add(by)
	}
}

// wake marks on the waker's track that it woke the goroutine. It returns the flow, or 0 if there is
// no waker.
func (o *observer) wake(t *timeline.Transition) uint64 {
	waker := o.lane(t.Waker)
	if t.State != timeline.Waiting || t.To != timeline.Runnable || waker == nil || !waker.open {
		return 0
	}
	o.flows++
	o.w.begin(typeInstant, waker.track, "wake", "wakes "+clean(t.G.Name()))
	o.w.annotate([]note{number("goroutine", t.G.ID), text("waited_for", t.Wait.String())})
	o.w.event.fixed(eventFlowIDs, o.flows)
	o.w.put(t.End, packetTrackEvent, o.w.event)
	return o.flows
}

// enter begins the slice of a goroutine's state.
func (o *observer) enter(l *lane, g *timeline.Goroutine, s timeline.State, flow uint64) {
	category, name := "state", s.String()
	switch s {
	case timeline.Waiting, timeline.SyscallBlocked:
		category, name = "blocked", "blocked: "+g.Wait().String()
	case timeline.InC:
		name = "in C"
	case timeline.InCDetached:
		name = "in C, on a thread of its own"
	case timeline.InCUncounted:
		name = "in C, no processor free"
	case timeline.Running:
		if g.Label() != "" {
			name = "running: " + clean(g.Label())
		}
	}
	o.w.begin(typeSliceBegin, l.track, category, name)
	if l.shared {
		o.w.annotate([]note{number("goroutine", g.ID)})
	}
	if flow > 0 {
		o.w.event.fixed(eventTerminatingFlowIDs, flow)
	}
	o.w.put(o.now, packetTrackEvent, o.w.event)
	l.open, l.state = true, s
}

// leave ends the slice of the state of an interval, and adds what is known only at its end.
func (o *observer) leave(l *lane, i *timeline.Transition) {
	notes := make([]note, 0, 6)
	if i.State.OnProc() && i.Proc >= 0 {
		notes = append(notes, number("proc", int64(i.Proc)))
	}
	if i.State.OnProc() && i.Thread >= 0 {
		notes = append(notes, number("thread", i.Thread))
	}
	if i.State == timeline.Waiting && i.Reason != "" {
		notes = append(notes, text("reason", clean(i.Reason)))
	}
	if i.Stack != nil {
		notes = append(notes, text("stack", o.w.chain(i.Stack)))
	}
	if i.Waker != nil {
		notes = append(notes, text("woken_by", clean(i.Waker.Name())))
		if i.WakerStack != nil {
			notes = append(notes, text("waker_stack", o.w.chain(i.WakerStack)))
		}
	}
	o.w.end(o.now, l.track, notes...)
	l.open = false
}

// gone ends all open slices of a goroutine.
func (o *observer) gone(l *lane) {
	l.inner.closeAll(o.w, o.now)
	if l.open {
		o.w.end(o.now, l.track)
	}
	if l.shared {
		l.group.free = append(l.group.free, l.track)
	}
}

// processor returns a P. It creates the track when the P is first seen.
func (o *observer) processor(id int32) *processor {
	p := o.procs[id]
	if p == nil {
		p = &processor{track: o.w.thread(processorsPID, o.newTID(), "P"+itoa(int64(id)))}
		o.procs[id] = p
	}
	return p
}

// onProc writes the slice of a processor for an interval that has ended.
func (o *observer) onProc(t *timeline.Transition) {
	if !t.State.OnProc() || t.Proc < 0 {
		return
	}
	p := o.processor(t.Proc)
	from := max(t.Start, p.until) // contradictions in a trace must not make slices overlap
	if t.End < from {
		return
	}
	p.until = t.End
	category := "state"
	switch t.State {
	case timeline.Syscall:
		category = "syscall"
	case timeline.InC:
		category = "c"
	}
	notes := []note{number("goroutine", t.G.ID), number("thread", t.Thread)}
	if t.Thread < 0 {
		notes = notes[:1] // not known
	}
	o.w.slice(typeSliceBegin, from, p.track, category, clean(t.G.Name()), notes...)
	o.w.end(t.End, p.track)
}

// Named implements [timeline.Observer]. A goroutine that is named late moves to a track of its
// group.
func (o *observer) Named(g *timeline.Goroutine, t timeline.Time) {
	o.at(t)
	l := o.lane(g)
	if l == nil || o.groupOf(g) == l.group {
		return
	}
	open, state := l.open, l.state
	o.gone(l)
	moved := o.appear(g)
	moved.inner.until = t // do not show the truncated slices again in full
	*o.lanes.At(g.Index) = moved
	if open {
		o.enter(moved, g, state, 0)
	}
}

func (o *observer) Label(g *timeline.Goroutine, t timeline.Time) {
	o.at(t)
	if l := o.lane(g); l != nil && l.open && l.state == timeline.Running {
		o.w.end(t, l.track)
		o.enter(l, g, l.state, 0)
	}
}

// Gap implements [timeline.Observer]. Open slices end at the beginning of the gap, because their
// ends are unknown.
func (o *observer) Gap(from, to timeline.Time) {
	o.at(from)
	o.closeSpans()
	o.at(to)
}

func (o *observer) End(t timeline.Time) {
	o.at(t)
	o.finish()
}

// finish closes the open slices at the end of the trace.
func (o *observer) finish() {
	if !o.begun {
		return
	}
	for l := range o.lanes.All() {
		if *l != nil {
			o.gone(*l)
			*l = nil
		}
	}
	o.closeSpans()
	o.running.flush(o.w, o.now)
	o.runnable.flush(o.w, o.now)
}
