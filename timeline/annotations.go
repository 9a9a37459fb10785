package timeline

import (
	"cmp"
	"slices"
)

// aux replays the events that are not transitions of goroutines.
func (r *replay) aux(a *aux, t Time) {
	if a.kind == auxClock {
		c := &Clock{Trace: Time(a.id), Mono: a.parent, Wall: a.wall}
		for _, o := range r.observers {
			o.Clock(c)
		}
		return
	}
	switch a.kind {
	case auxRangeActive:
		t = r.now // a status: its time says nothing
	case auxSample:
		t = max(r.now, min(t, r.d.lastReal)) // samples may lie outside of the trace proper
	default:
		t = r.tick(t)
	}
	g := r.localAt(a.by)
	switch a.kind {
	case auxRangeBegin, auxRangeActive:
		r.rangeBegin(a, g, t)
	case auxRangeEnd:
		r.rangeEnd(a, g, t)
	case auxLabel:
		if lg := r.localAt(int32(a.scopeID)); lg != nil {
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
	case auxMetric:
		m := &Metric{Time: t, Name: a.name, Value: a.id}
		for _, o := range r.observers {
			o.Metric(m)
		}
	case auxSample:
		s := &Sample{Time: t, G: g, Thread: r.threadAt(a.thread), Proc: a.proc, Stack: r.stackAt(a.stack)}
		for _, o := range r.observers {
			o.Sample(s)
		}
	}
}

func (r *replay) showRange(e *Range) {
	for _, o := range r.observers {
		o.Range(e)
	}
}

// rangeBegin opens a range; one that is reported active and was carried here
// from an earlier generation is open already.
func (r *replay) rangeBegin(a *aux, g *Goroutine, t Time) {
	e := Range{Time: t, Start: t, Name: a.name, Begin: true, Scope: a.scope, G: g, Proc: a.proc}
	if a.scope == ScopeGoroutine {
		if e.G = r.localAt(int32(a.scopeID)); e.G == nil || e.G.InRange(a.name) {
			return
		}
		e.G.ranges = append(e.G.ranges, openRange{a.name, t})
	} else {
		key := rangeKeyOf(a)
		if _, ok := r.open[key]; ok {
			return
		}
		r.open[key] = t
		if a.scope == ScopeProc {
			e.Proc = int32(a.scopeID)
		}
	}
	r.showRange(&e)
}

func (r *replay) rangeEnd(a *aux, g *Goroutine, t Time) {
	e := Range{Time: t, Start: r.info.Start, Name: a.name, Scope: a.scope, G: g, Proc: a.proc}
	if a.scope == ScopeGoroutine {
		if e.G = r.localAt(int32(a.scopeID)); e.G == nil {
			return
		}
		i := slices.IndexFunc(e.G.ranges, func(o openRange) bool { return o.name == a.name })
		if i >= 0 {
			e.Start = e.G.ranges[i].start
			e.G.ranges = slices.Delete(e.G.ranges, i, i+1)
		}
	} else {
		key := rangeKeyOf(a)
		if start, ok := r.open[key]; ok {
			e.Start = start
			delete(r.open, key)
		}
		if a.scope == ScopeProc {
			e.Proc = int32(a.scopeID)
		}
	}
	r.showRange(&e)
}

func rangeKeyOf(a *aux) rangeKey {
	if a.scope == ScopeProc {
		return rangeKey{a.name, a.scopeID}
	}
	return rangeKey{a.name, -1}
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
		g.Regions = append(g.Regions, e.Region)
	} else if n := len(g.Regions); n > 0 {
		// Regions nest; the runtime does not let them end out of order.
		e.Region = g.Regions[n-1]
		g.Regions = g.Regions[:n-1]
	}
	for _, o := range r.observers {
		o.Region(&e)
	}
}

func sortByID(gs []*Goroutine) {
	slices.SortFunc(gs, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
}
