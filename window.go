package bottleneck

import (
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// window is the result of one or more bursts of tracing. All times and numbers are scaled to the
// time that the window stands for.
type window struct {
	graph    *bottle.Graph
	waits    *contention.Profile
	tasks    *granularity.Profile
	ledger   *ledger.Ledger // nil if not wanted
	sample   sample
	from, to time.Time
	info     timeline.Info

	throttling host.Throttling
}

// window cuts all analyses at the end of a burst. It keeps at most n groups of each apart. It
// returns nil if nothing was seen.
func (a *analyses) window(planned burst, t *timeline.StreamStats, clock *wallClock, n int) *window {
	graph, waits, tasks := a.graph.Cut(t.End).Top(n), a.waits.Cut(t.End).Top(n), a.tasks.Cut(t.End).Top(n)
	books := a.bursts.cut(t.End)
	if t.Generations == 0 || graph.Wall <= 0 {
		return nil
	}
	graph.CPUs = host.Processors()
	weight := planned.seen(graph.Wall)
	if books != nil {
		books = books.Top(n).Scale(weight)
	}
	return &window{
		ledger: books,
		graph:  graph.Scale(weight), waits: waits.Scale(weight), tasks: tasks.Scale(weight),
		sample: newSample(graph, planned, weight),
		from:   clock.at(t.Start), to: clock.at(t.End),
		info: timeline.Info{Version: clock.version, Start: t.Start, End: t.End, Generations: int(t.Generations), Events: t.Events, Size: -1},
	}
}

// burstLedger makes a ledger of each burst, each with its own observer.
type burstLedger struct {
	// Observer is that of the current burst; between bursts, it ignores everything.
	timeline.Observer
	books   *ledger.Observer // the same; nil between bursts
	version int
}

func (b *burstLedger) Begin(t timeline.Time, version int) {
	b.version = version
	b.books = ledger.NewObserver(ledger.Options{})
	b.Observer = b.books
	b.books.Begin(t, version)
}

func (b *burstLedger) Gap(from, to timeline.Time) {
	if b.books == nil {
		b.Begin(to, b.version)
		return
	}
	b.books.Gap(from, to)
}

// cut ends the ledger of a burst and returns it, or nil if there is none.
func (b *burstLedger) cut(t timeline.Time) *ledger.Ledger {
	if b.books == nil {
		return nil
	}
	l := b.books.Finish(t)
	b.Observer, b.books = timeline.Base{}, nil
	return l
}

// wallClock converts times of the trace to wall-clock times.
type wallClock struct {
	timeline.Base
	version int
	trace   timeline.Time // at the time wall
	wall    time.Time
}

func (w *wallClock) Begin(_ timeline.Time, version int) { w.version = version }

func (w *wallClock) Clock(t timeline.Time, _ uint64, wall time.Time) { w.trace, w.wall = t, wall }

func (w *wallClock) at(t timeline.Time) time.Time {
	if w.wall.IsZero() {
		return time.Time{}
	}
	return w.wall.Add(time.Duration(t - w.trace))
}

// sum is a running total of windows. The cost of a merge grows with the rows of the total, so
// several windows are merged at once.
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

// read returns the total, or nil if there is no window yet. The total is not modified afterward.
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

// mergeWindows merges consecutive windows, if any, and keeps at most n groups apart.
func mergeWindows(ws []*window, n int) *window {
	if len(ws) == 0 {
		return nil
	}
	graphs := make([]*bottle.Graph, len(ws))
	waits := make([]*contention.Profile, len(ws))
	tasks := make([]*granularity.Profile, len(ws))
	books := make([]*ledger.Ledger, len(ws))
	out := &window{from: ws[0].from, to: ws[len(ws)-1].to, info: ws[0].info}
	for i, w := range ws {
		graphs[i], waits[i], tasks[i], books[i] = w.graph, w.waits, w.tasks, w.ledger
		out.sample.add(&w.sample)
		out.throttling.Periods += w.throttling.Periods
		out.throttling.Throttled += w.throttling.Throttled
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
	out.sample.keep(out.graph)
	if l, err := ledger.Merge(books...); err == nil {
		l.Instances = 0
		out.ledger = l.Top(n)
	}
	out.waits = contention.Merge(waits...).Top(n)
	out.tasks = granularity.Join(tasks...).Top(n)
	return out
}
