package tracetasks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Goroutines as tasks. In a trace without regions, every goroutine of the program is a task, from its
// creation to its exit. Its class is its name, and its creation site the go statement. If several go
// statements start goroutines of one name, the classes of all but the first also have the line.
//
// The granularity is the goroutine's running time, including time in C. The task is nested if a
// goroutine other than main started it. If nested tasks are aggregated, a goroutine that ends
// before its creator is part of the creator's task.
//
// A goroutine that serves requests is named after the handler while one runs (see naming.go in
// package timeline). A request is a task nested in it, between two reads. Its class is the handler
// or, if no call chain shows it, the function of the connection with " (request)". A task of a pool
// that package instrument has changed is nested, too: a region of the pool's user task.
//
// Goroutines that began before the trace, or were alive at its end, are unmeasured. Those for which
// both hold are not tasks of the trace.

// wholeLives reports whether goroutines are the tasks, given the trace so far.
func (o *Observer) wholeLives() bool { return !o.regions && !o.opt.Tasks }

// tasksAreRegions drops the goroutines, because the trace has regions.
func (o *Observer) tasksAreRegions(now timeline.Time) {
	if o.wholeLives() {
		for g := range o.goroutines.All() {
			for i := range g.stack {
				o.ends(&g.stack[i], nil, nil, now)
			}
			g.stack, g.born, g.older, g.serving = nil, false, false, false
		}
		o.forget()
		clear(o.statements)
		clear(o.living)
	}
	o.regions = true
}

// appears begins the life of a goroutine.
func (o *Observer) appears(g *goroutineTasks, t *timeline.Transition) {
	if t.G.Kind != timeline.Application {
		return
	}
	if g.id = t.G.ID; t.State == timeline.NotExist {
		g.born = true
		site := o.lifeSite(t.G)
		site.class.enter(t.End)
		g.push(t.G, t.End, openRegion{site: site, inner: t.G.Creator().ID > mainID})
		if o.living != nil {
			o.living[g.id] = t.G.Index
		}
	} else {
		g.older = t.End == o.first
	}
	o.serve(g, t.G, t.End)
	if g.serving && !g.born {
		request := &g.stack[len(g.stack)-1]
		o.ends(request, nil, nil, t.End)
		request.start = never
	}
}

// mainID is the ID of the main goroutine.
const mainID = 1

// disappears ends the life of a goroutine at its exit or at the end of the known trace.
func (o *Observer) disappears(g *goroutineTasks, t *timeline.Transition) {
	exits := t.To == timeline.NotExist
	if g.serving && exits {
		o.requestEnds(g, t.G, t.End)
	}
	switch {
	case g.born && exits:
		life := g.pop()
		o.ended(g, &life, t.G, t.End)
	case g.older && exits && t.G.Kind == timeline.Application:
		o.lost(o.lifeSite(t.G), -1)
	}
	if g.born {
		delete(o.living, g.id)
	}
}

// aggregate adds the running time of a goroutine to its creator, if that is a task under way.
func (o *Observer) aggregate(of *timeline.Goroutine, total timeline.Time) bool {
	index, alive := o.living[of.Creator().ID]
	if alive {
		o.goroutines.At(index).running += total
	}
	return alive
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, now timeline.Time) {
	o.until(now)
	if !o.wholeLives() {
		return
	}
	k := o.goroutines.At(g.Index)
	o.serve(k, g, now)
	if !k.born || g.Serves() {
		return
	}
	life := &k.stack[0]
	if site := o.lifeSite(g); site != life.site {
		life.site.class.leave(now, o.begin)
		life.site = site
		life.site.class.enter(now)
	}
}

// serve follows a goroutine that serves requests. Its name is that of the handler, a name that
// shows that it reads, or that of its start function.
func (o *Observer) serve(k *goroutineTasks, g *timeline.Goroutine, now timeline.Time) {
	if !g.Serves() {
		return
	}
	reads := g.Reading()
	switch {
	case reads && k.serving:
		o.requestEnds(k, g, now)
	case !reads && !k.serving && g.Func != "":
		k.serving = true
		k.push(g, now, openRegion{inner: true, followed: o.begins(now)})
	}
	if !k.serving {
		return
	}
	if r := &k.stack[len(k.stack)-1]; r.start != never && (r.site == nil || !r.handled && g.Func != g.Start) {
		key := lifeKey{g.Func, g.Start, g.Creator().Stack}
		if r.handled = g.Func != g.Start; !r.handled {
			key.name += " (request)"
		}
		if r.site != nil {
			r.site.class.leave(now, o.begin)
		}
		r.site = o.siteOfLife(key)
		r.site.class.enter(now)
	}
}

// requestEnds ends the request under way.
func (o *Observer) requestEnds(k *goroutineTasks, g *timeline.Goroutine, now timeline.Time) {
	k.serving = false
	if r := k.pop(); r.start != never {
		o.ends(&r, g, nil, now)
		o.ended(k, &r, g, now)
	}
}

// lifeKey identifies the place of a goroutine or a request.
type lifeKey struct {
	name, pool string
	created    *timeline.Stack
}

// lifeSite returns the place that a goroutine comes from.
func (o *Observer) lifeSite(g *timeline.Goroutine) *traceSite {
	k := lifeKey{name: g.Func, created: g.Creator().Stack}
	if g.Serves() || k.name == "" {
		k.name = g.Start
	}
	return o.siteOfLife(k)
}

func (o *Observer) siteOfLife(k lifeKey) *traceSite {
	s := o.lives[k]
	if s == nil {
		s = o.site(traceSiteKey{class: o.className(cmp.Or(k.name, "(unnamed)"), k.created), pool: k.pool, created: k.created})
		o.lives[k] = s
	}
	return s
}

// className returns the class of the goroutines with a name that a go statement starts.
func (o *Observer) className(name string, created *timeline.Stack) string {
	at := statement(created)
	first, known := o.statements[name]
	if !known || first == nil {
		o.statements[name], first = at, at
	}
	if at == nil || at.Func == first.Func && at.Line == first.Line {
		return name
	}
	return fmt.Sprintf("%s (%s:%d)", name, at.File[strings.LastIndexByte(at.File, '/')+1:], at.Line)
}

// statement returns the innermost frame of a call chain in traceFrames, or nil.
func statement(s *timeline.Stack) *timeline.Frame {
	if s == nil {
		return nil
	}
	for _, f := range s.Frames {
		if !isOurs(f) {
			return f
		}
	}
	return nil
}
