package counters

import (
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A quantum belongs to the group in which its goroutine spent most of it: an allocation that
// assists the collector for a moment leaves the quantum with the application, as it is in a bottle
// graph for most of its time.

// groupOf returns the group that a goroutine belongs to now.
func (o *Observer) groupOf(q *quantum) int32 {
	name, kind := o.opt.Group.BoxOf(q.g, q.world)
	g := Group{Name: name, Kind: kinds[string(kind)]}
	i, ok := o.groups[g]
	if !ok {
		i = int32(len(o.rec.Groups))
		o.rec.Groups = append(o.rec.Groups, g)
		o.groups[g] = i
	}
	return i
}

// kinds are the kinds of groups by name, as a bottle graph has them.
var kinds = map[string]timeline.Kind{
	timeline.Application.String(): timeline.Application,
	timeline.GC.String():          timeline.GC,
	timeline.Runtime.String():     timeline.Runtime,
	timeline.Tracer.String():      timeline.Tracer,
}

// regroup looks for the group of a goroutine anew.
func (o *Observer) regroup(g *timeline.Goroutine, t timeline.Time) {
	q := o.quantumOf(g)
	if q == nil || q.row < 0 {
		return
	}
	if now := o.groupOf(q); now != q.group {
		o.settleGroup(q, t)
		q.group = now
	}
}

// settleGroup accounts for the time that the quantum spent for its group until now.
func (o *Observer) settleGroup(q *quantum, t timeline.Time) {
	d := t - q.groupSince
	q.groupSince = t
	for i := range q.parts {
		if q.parts[i].group == q.group {
			q.parts[i].time += d
			return
		}
	}
	q.parts = append(q.parts, part{q.group, d})
}

// longest returns the group with most of the quantum's time, the latest of equals.
func longest(q *quantum) int32 {
	best := q.parts[0]
	for _, p := range q.parts[1:] {
		if p.time >= best.time {
			best = p
		}
	}
	return best.group
}

// Named implements [timeline.Observer].
func (o *Observer) Named(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Label implements [timeline.Observer].
func (o *Observer) Label(g *timeline.Goroutine, t timeline.Time) { o.regroup(g, t) }

// Region implements [timeline.Observer].
func (o *Observer) Region(e *timeline.RegionEvent) { o.regroup(e.G, e.Time) }
