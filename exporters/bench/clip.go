package bench

import (
	"github.com/bottleneck-go/bottleneck/timeline"
)

// clip forwards selected spans of a trace to an observer as if nothing happened between them. It
// maps a time outside the spans to the next edge, so that events there take no time. It forwards
// all other information, so that the states of goroutines stay correct.
type clip struct {
	timeline.Base
	to    timeline.Observer
	spans []span
	next  int           // the first span that has not ended
	done  timeline.Time // total length of the spans that have ended
}

// at maps a time. Its arguments must not decrease.
func (c *clip) at(t timeline.Time) timeline.Time {
	for c.next < len(c.spans) && t >= c.spans[c.next].to {
		c.done += c.spans[c.next].to - c.spans[c.next].from
		c.next++
	}
	if c.next == len(c.spans) || t <= c.spans[c.next].from {
		return c.done
	}
	return c.done + t - c.spans[c.next].from
}

// Begin implements [timeline.Observer].
func (c *clip) Begin(b *timeline.Begin) { c.to.Begin(&timeline.Begin{Version: b.Version}) }

// Transition implements [timeline.Observer]. It does not map the start of the interval, which a
// bottle graph does not use.
func (c *clip) Transition(t *timeline.Transition) {
	moved := *t
	moved.End = c.at(t.End)
	moved.Start = min(t.Start, moved.End)
	c.to.Transition(&moved)
}

// Named implements [timeline.Observer].
func (c *clip) Named(g *timeline.Goroutine, t timeline.Time) { c.to.Named(g, c.at(t)) }

// Label implements [timeline.Observer].
func (c *clip) Label(g *timeline.Goroutine, t timeline.Time) { c.to.Label(g, c.at(t)) }

// Range implements [timeline.Observer].
func (c *clip) Range(r *timeline.Range) {
	moved := *r
	moved.Time = c.at(r.Time)
	moved.Start = min(r.Start, moved.Time)
	c.to.Range(&moved)
}

// Region implements [timeline.Observer].
func (c *clip) Region(r *timeline.RegionEvent) {
	moved := *r
	moved.Time = c.at(r.Time)
	c.to.Region(&moved)
}

// Metric implements [timeline.Observer].
func (c *clip) Metric(m *timeline.Metric) {
	moved := *m
	moved.Time = c.at(m.Time)
	c.to.Metric(&moved)
}

// End implements [timeline.Observer].
func (c *clip) End(e *timeline.End) { c.to.End(&timeline.End{Time: c.at(e.Time)}) }
