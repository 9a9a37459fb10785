package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// loneliness measures for how long each worker, that is each user region, was the only
// goroutine that ran.
type loneliness struct {
	timeline.Base
	alone map[string]time.Duration

	running map[int]*timeline.Goroutine // by Index
	since   timeline.Time               // when the set last changed
}

// Begin implements [timeline.Observer].
func (l *loneliness) Begin(b *timeline.Begin) {
	l.alone = map[string]time.Duration{}
	l.running = map[int]*timeline.Goroutine{}
	l.since = b.Time
}

// Transition implements [timeline.Observer].
func (l *loneliness) Transition(t *timeline.Transition) {
	l.settle(t.End)
	if t.To.OnProc() {
		l.running[t.G.Index] = t.G
	} else {
		delete(l.running, t.G.Index)
	}
}

// Region implements [timeline.Observer]. The regions have changed already, so time
// up to the end of a region is lost; a worker's lasts until it has nothing left to do.
func (l *loneliness) Region(e *timeline.RegionEvent) {
	if e.Begin {
		l.since = e.Time
		return
	}
	if len(l.running) == 1 && l.running[e.G.Index] != nil {
		l.alone[e.Region.Type] += time.Duration(e.Time - l.since)
	}
	l.since = e.Time
}

// settle accounts for the time until now.
func (l *loneliness) settle(now timeline.Time) {
	if len(l.running) == 1 {
		for _, g := range l.running {
			if n := len(g.Regions); n > 0 {
				l.alone[g.Regions[n-1].Type] += time.Duration(now - l.since)
			}
		}
	}
	l.since = now
}

// sentence says what the neck is and why. Everything in it is measured; the
// reason is given only if the neck is the worker that had the large file.
func (r *demoRun) sentence() string {
	neck := neckOf(r.graph)
	if neck == nil {
		return "This time no worker is the neck: none ran alone for long enough. Other programs may have kept the processors busy, or the large file is not large enough (-factor)."
	}
	alone := r.alone[neck.Group]
	s := fmt.Sprintf("The neck: %s ran alone for %s (%s of the run), a box %s tall and only %s wide",
		neck.Group, format.Duration(alone), format.Percent(alone, r.graph.Wall),
		format.Duration(neck.Share), format.Parallelism(neck.Parallelism))
	if w := r.result.Large(); w != nil && w.Name == neck.Group {
		s += fmt.Sprintf(":\none file is %d times larger than the rest", r.factor)
	}
	return s + "."
}

// neckOf returns the worker's box in the neck that lost most of the capacity, or nil.
func neckOf(g *bottle.Graph) *bottle.Box {
	for _, l := range g.Neck() {
		if !l.Idle() && strings.HasPrefix(l.Boxes[0].Group, "worker ") {
			return l.Boxes[0]
		}
	}
	return nil
}
