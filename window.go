package bottleneck

import (
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// window is what was found in a generation of a live trace, or in several.
type window struct {
	graph    *bottle.Graph
	waits    *contention.Profile
	tasks    *granularity.Profile
	from, to time.Time
	info     timeline.Info // of Generations windows
}

// window cuts all analyses at the end of a generation. No more than n groups of each are kept apart.
func (a *analyses) window(g *timeline.Generation, clock *wallClock, n int) *window {
	graph := a.graph.Cut(g.End).Top(n)
	graph.CPUs = host.Processors()
	return &window{
		graph: graph,
		waits: a.waits.Cut(g.End).Top(n),
		tasks: a.tasks.Cut(g.End).Top(n),
		from:  clock.at(g.Start), to: clock.at(g.End),
		info: timeline.Info{Version: clock.version, Start: g.Start, End: g.End, Generations: 1, Events: g.Events, Size: -1},
	}
}

// wallClock tells the time of day of instants of the trace.
type wallClock struct {
	timeline.Base
	version int
	clock   timeline.Clock
}

func (w *wallClock) Begin(b *timeline.Begin) { w.version = b.Version }

func (w *wallClock) Clock(c *timeline.Clock) { w.clock = *c }

func (w *wallClock) at(t timeline.Time) time.Time {
	if w.clock.Wall.IsZero() {
		return time.Time{}
	}
	return w.clock.Wall.Add(time.Duration(t - w.clock.Trace))
}

// sum is a running total of windows. Putting them together takes some time for each row of the total, so it is done
// for several windows at once.
type sum struct {
	total   *window
	pending []*window
}

const maxPendingWindows = 16

func (s *sum) add(w *window, n int) {
	s.pending = append(s.pending, w)
	if len(s.pending) >= maxPendingWindows {
		s.read(n)
	}
}

// read returns the total; nil if there was no window yet. It is not changed later.
func (s *sum) read(n int) *window {
	if len(s.pending) > 0 {
		all := s.pending
		if s.total != nil {
			all = append([]*window{s.total}, all...)
		}
		s.total, s.pending = mergeWindows(all, n), nil
	}
	return s.total
}

// mergeWindows puts windows together that follow each other, of which no more than n groups are kept apart; nil if there are none.
func mergeWindows(ws []*window, n int) *window {
	if len(ws) == 0 {
		return nil
	}
	graphs := make([]*bottle.Graph, len(ws))
	waits := make([]*contention.Profile, len(ws))
	tasks := make([]*granularity.Profile, len(ws))
	out := &window{from: ws[0].from, to: ws[len(ws)-1].to, info: ws[0].info}
	for i, w := range ws {
		graphs[i], waits[i], tasks[i] = w.graph, w.waits, w.tasks
		if i > 0 {
			out.info.End = w.info.End
			out.info.Generations += w.info.Generations
			out.info.Events += w.info.Events
		}
	}
	graph, err := bottle.Merge(graphs...)
	if err != nil { // more than 292 years
		graph = graphs[len(graphs)-1]
		graph.Warnings = append(graph.Warnings, err.Error())
	}
	out.graph = graph.Top(n)
	out.waits = contention.Merge(waits...).Top(n)
	out.tasks = granularity.Merge(tasks...).Top(n)
	return out
}
