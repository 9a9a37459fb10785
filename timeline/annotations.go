package timeline

import (
	"cmp"
	"slices"
	"time"
)

// aux replays the events that are not transitions of goroutines.
func (r *replay) aux(a *aux, t Time) {
	if a.kind == auxClock {
		c := &Clock{Trace: Time(a.id), Mono: a.parent, Wall: time.Unix(0, a.at)}
		for _, o := range r.observers {
			o.Clock(c)
		}
		return
	}
	if a.kind == auxSample {
		t = max(r.now, min(t, r.d.lastReal)-r.skipped) // samples may lie outside the trace
	} else {
		t = r.tick(t)
	}
	g := r.localAt(a.by)
	switch a.kind {
	case auxLabel:
		if lg := r.localAt(int32(a.at)); lg != nil {
			r.label(lg, a.name, t)
		}
	case auxTaskBegin, auxTaskEnd:
		r.task(a, g, t)
	case auxRegionBegin, auxRegionEnd:
		r.region(a, g, t)
	case auxLog:
		l := &Log{Time: t, G: g, TaskID: a.id, Category: a.name, Message: a.value, Stack: r.stackAt(a.stack)}
		for _, o := range r.observers {
			o.Log(l)
		}
		r.gate.log(l)
	case auxSample:
		s := &Sample{Time: t, G: g, Thread: r.threadAt(a.thread), Proc: a.proc, Stack: r.stackAt(a.stack)}
		for _, o := range r.observers {
			o.Sample(s)
		}
	}
}

func (r *replay) metric(rec *record, t Time) {
	m := &r.shownMetric
	*m = Metric{Time: t, Name: r.d.names[rec.g], Value: uint64(uint32(rec.x)) | uint64(rec.y)<<32, Stopped: r.gate.stopped()}
	if m.Name == procsMetric {
		r.gomaxprocs = m.Value
	}
	for _, o := range r.observers {
		o.Metric(m)
	}
	r.balance(t)
}

// rangeEvent opens or closes a range. A range that is reported as active is already open if it was
// carried over from an earlier generation.
func (r *replay) rangeEvent(rec *record, begin bool, t Time) {
	e := Range{Time: t, Start: t, Name: r.d.names[rec.x>>1], Begin: begin, OfG: rec.x&1 != 0, Proc: -1}
	open := &r.open
	if e.OfG {
		if e.G = r.localAt(rec.g); e.G == nil {
			return
		}
		e.Stack, open = r.stackAt(rec.y), &e.G.extra().ranges
	} else {
		e.G, e.Proc = r.localAt(rec.y), rec.g
	}
	if turnRange(open, &e, r.info.Start) {
		r.showRange(&e)
	}
}

func (r *replay) showRange(e *Range) {
	if e.Begin {
		r.gate.phase(e)
	}
	e.Stopped = r.gate.stopped()
	r.shownRange = *e
	for _, o := range r.observers {
		o.Range(&r.shownRange)
	}
	if !e.Begin {
		r.gate.phase(e)
	}
}

// turnRange opens or closes a range. It returns false if the range is already open.
func turnRange(open *[]openRange, e *Range, traceStart Time) bool {
	i := slices.IndexFunc(*open, func(o openRange) bool { return o.proc == e.Proc && o.name == e.Name })
	switch {
	case e.Begin && i >= 0:
		return false
	case e.Begin:
		*open = append(*open, openRange{e.Name, e.Proc, e.Time})
	case i >= 0:
		e.Start = (*open)[i].start
		*open = slices.Delete(*open, i, i+1)
	default:
		e.Start = traceStart
	}
	return true
}

func (r *replay) task(a *aux, g *Goroutine, t Time) {
	e := Task{Time: t, G: g, ID: a.id, ParentID: a.parent, Type: a.name, Begin: a.kind == auxTaskBegin, Stack: r.stackAt(a.stack)}
	if e.Begin {
		e.Start = t
		r.tasks[a.id] = openTask{a.name, a.parent, t}
	} else if o, ok := r.tasks[a.id]; ok {
		// The Reader of this generation may not have seen the beginning.
		e.Type, e.ParentID, e.Start = o.typ, o.parent, o.start
		delete(r.tasks, a.id)
	}
	for _, o := range r.observers {
		o.Task(&e)
	}
	r.gate.spans(duringTask, e.Type, e.Begin, e.Start != 0)
}

func (r *replay) region(a *aux, g *Goroutine, t Time) {
	if g == nil {
		return
	}
	e := RegionEvent{Time: t, G: g, Begin: a.kind == auxRegionBegin, Stack: r.stackAt(a.stack)}
	e.Region = Region{Type: a.name, TaskID: a.id}
	if o, ok := r.tasks[a.id]; ok {
		e.Region.Task = o.typ
	}
	if e.Begin {
		e.Region.Start = t
		x := g.extra()
		x.Regions = append(x.Regions, e.Region)
	} else if n := len(g.Regions()); n > 0 {
		// Regions nest; the runtime does not let them end out of order.
		x := g.Extra
		e.Region = x.Regions[n-1]
		x.Regions = x.Regions[:n-1]
	}
	for _, o := range r.observers {
		o.Region(&e)
	}
	r.gate.spans(duringRegion, e.Region.Type, e.Begin, e.Region.Start != 0)
}

func sortByID(gs []*Goroutine) {
	slices.SortFunc(gs, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
}
