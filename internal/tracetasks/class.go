package tracetasks

import (
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/series"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// traceClass accumulates one class of tasks of a trace.
type traceClass struct {
	granularity.Class // its name, and counts besides those of its sites

	series   series.Series // in ns since the begin of the trace
	active   series.Series // times in which at least one task was under way
	underWay int
	since    timeline.Time
}

// traceSite accumulates one place that tasks of a class come from.
type traceSite struct {
	granularity.Site // without call chains
	class            *traceClass
	key              traceSiteKey
}

type traceSiteKey struct {
	class, pool        string
	created, submitted *timeline.Stack
}

// traceTask is one execution.
type traceTask struct {
	self, wall, off timeline.Time
	ready           timeline.Time // part of off
	start, end      timeline.Time
}

// site returns the place of key. Beyond the limit it returns a place of the class "(other)".
func (o *Observer) site(key traceSiteKey) *traceSite {
	if s := o.sites[key]; s != nil {
		return s
	}
	if len(o.sites) >= maxSites {
		o.overflow++
		key = traceSiteKey{class: "(other)"}
		if s := o.sites[key]; s != nil {
			return s
		}
	}
	c := o.classes[key.class]
	if c == nil {
		c = &traceClass{series: series.Series{Shift: traceShift}, active: series.Series{Shift: traceShift}}
		c.Name = key.class
		o.classes[key.class] = c
	}
	s := &traceSite{class: c, key: key}
	o.sites[key] = s
	return s
}

// maxSites limits the number of sites of a profile.
const maxSites = 2048

// traceShift is the first width of a bin: 2^20 ns are 1 ms.
const traceShift = 20

// enter begins a task of the class; leave ends one.
func (c *traceClass) enter(now timeline.Time) {
	if c.underWay++; c.underWay == 1 {
		c.since = now
	}
}

func (c *traceClass) leave(now, begin timeline.Time) {
	if c.underWay--; c.underWay == 0 {
		c.active.Add(int64(c.since-begin), int64(now-begin), 1)
	}
}

// record counts an execution.
func (s *traceSite) record(x *traceTask, begin timeline.Time) {
	s.Tasks++
	s.RunningNS.Add(uint64(x.self))
	s.WallNS.Add(uint64(x.wall))
	s.BlockedNS.Add(uint64(x.off))
	s.class.ReadyNS.Add(uint64(min(x.ready, x.off)))
	s.class.series.Add(int64(x.start-begin), int64(x.end-begin), 1)
}
