package counters

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// span follows a range of the whole program, such as a mark phase.
func (o *Observer) span(e *timeline.Range) {
	if e.Begin {
		o.open[e.Name] = e.Time
		return
	}
	delete(o.open, e.Name)
	o.addSpan(e.Name, e.Start, e.Time)
}

// worldSpan follows a stop-the-world phase: a range of the goroutine that stops it, but everybody's
// business.
func (o *Observer) worldSpan(e *timeline.Range) { o.span(e) }

func (o *Observer) addSpan(name string, from, to timeline.Time) {
	o.rec.Spans = append(o.rec.Spans, Span{Name: name, Begin: int64(max(from, o.begin) - o.begin), End: int64(to - o.begin)})
}

// endSpans closes at the end of the trace what is still open.
func (o *Observer) endSpans(t timeline.Time) {
	names := make([]string, 0, len(o.open))
	for name := range o.open {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		o.addSpan(name, o.open[name], t)
	}
	clear(o.open)
}

// Log implements [timeline.Observer].
func (o *Observer) Log(l *timeline.Log) {
	if l.Category != markCategory && !slices.Contains(o.opt.Categories, l.Category) {
		return
	}
	m := Marker{Time: int64(l.Time - o.begin), Text: l.Message}
	if l.G != nil {
		m.Goroutine = l.G.ID
	}
	o.rec.Markers = append(o.rec.Markers, m)
}

// Clock implements [timeline.Observer].
func (o *Observer) Clock(c *timeline.Clock) {
	if o.anchored {
		return
	}
	o.anchored = true
	since := c.Trace - o.begin
	o.mono = int64(c.Mono) - int64(since)
	o.rec.Start = c.Wall.Add(-duration(since))
}
