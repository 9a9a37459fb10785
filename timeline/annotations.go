package timeline

import (
	"slices"
	"time"
)

// aux replays the events that are not transitions of goroutines.
func (r *replay) aux(a *aux, t Time) {
	if a.kind == auxClock {
		for _, o := range r.observers {
			o.Clock(Time(a.id), a.parent, time.Unix(0, a.at))
		}
		return
	}
	if a.kind == auxSample {
		t = max(r.now, min(t, r.d.lastReal)-r.skipped) // samples may lie outside the trace
	} else {
		t = r.tick(t)
	}
	g, stack := r.localAt(a.by), r.stackAt(a.stack)
	e := Span{Time: t, G: g, Name: a.name, TaskID: a.id, ParentID: a.parent, Stack: stack, Proc: -1}
	switch a.kind {
	case auxLabel:
		if lg := r.localAt(int32(a.at)); lg != nil {
			r.label(lg, a.name, t)
		}
	case auxTaskBegin, auxTaskEnd:
		e.Begin = a.kind == auxTaskBegin
		r.task(&e)
	case auxRegionBegin, auxRegionEnd:
		if e.Begin = a.kind == auxRegionBegin; g != nil {
			r.region(&e)
		}
	case auxLog:
		l := &Log{Time: t, G: g, TaskID: a.id, Category: a.name, Message: a.value, Stack: stack}
		for _, o := range r.observers {
			o.Log(l)
		}
		r.gate.log(l)
	case auxSample:
		for _, o := range r.observers {
			o.Sample(t, g, stack)
		}
	}
}

func (r *replay) metric(rec *record, t Time) {
	name, value, stopped := r.d.names[rec.g], uint64(uint32(rec.x))|uint64(rec.y)<<32, r.gate.stopped()
	if name == procsMetric {
		r.gomaxprocs = value
	}
	for _, o := range r.observers {
		o.Metric(t, name, value, stopped)
	}
	r.balance(t)
}

// showSpan calls a method of the observers.
func (r *replay) showSpan(e *Span, method func(Observer, *Span)) {
	r.span = *e
	for _, o := range r.observers {
		method(o, &r.span)
	}
}

// rangeEvent opens or closes a range. A range that is reported as active is already open if it was
// carried over from an earlier generation.
func (r *replay) rangeEvent(rec *record, begin bool, t Time) {
	e := Span{Time: t, Start: t, Name: r.d.names[rec.x>>1], Begin: begin, OfG: rec.x&1 != 0, Proc: -1}
	open := &r.open
	if e.OfG {
		if e.G = r.localAt(rec.g); e.G == nil {
			return
		}
		e.Stack, open = r.stackAt(rec.y), &e.G.extra().ranges
	} else {
		e.G, e.Proc = r.localAt(rec.y), rec.g
	}
	switch i := slices.IndexFunc(*open, func(o openRange) bool { return o.proc == e.Proc && o.name == e.Name }); {
	case begin && i >= 0:
		return
	case begin:
		*open = append(*open, openRange{e.Name, e.Proc, t})
	case i >= 0:
		e.Start = (*open)[i].start
		*open = slices.Delete(*open, i, i+1)
	default:
		e.Start = r.info.Start
	}
	r.showRange(&e)
}

func (r *replay) showRange(e *Span) {
	if e.Begin {
		r.gate.phase(e)
	}
	e.Stopped = r.gate.stopped()
	r.showSpan(e, Observer.Range)
	if !e.Begin {
		r.gate.phase(e)
	}
}

func (r *replay) task(e *Span) {
	if e.Begin {
		e.Start = e.Time
		r.tasks[e.TaskID] = openTask{e.Name, e.ParentID, e.Time}
	} else if o, ok := r.tasks[e.TaskID]; ok {
		// The decoder of this generation may not have seen the beginning.
		e.Name, e.ParentID, e.Start = o.typ, o.parent, o.start
		delete(r.tasks, e.TaskID)
	}
	r.showSpan(e, Observer.Task)
	r.gate.spans(duringTask, e)
}

func (r *replay) region(e *Span) {
	e.Task = r.tasks[e.TaskID].typ
	if e.Begin {
		e.Start = e.Time
		x := e.G.extra()
		x.Regions = append(x.Regions, *e)
	} else if n := len(e.G.Regions()); n > 0 {
		// Regions nest; the runtime does not let them end out of order.
		x := e.G.Extra
		o := x.Regions[n-1]
		e.Name, e.TaskID, e.Task, e.Start = o.Name, o.TaskID, o.Task, o.Start
		x.Regions = x.Regions[:n-1]
	}
	r.showSpan(e, Observer.Region)
	r.gate.spans(duringRegion, e)
}
