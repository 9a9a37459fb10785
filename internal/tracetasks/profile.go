package tracetasks

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Profile returns the profile of the pass, diagnosed. Call it after End.
func (o *Observer) Profile() *granularity.Profile {
	p := &granularity.Profile{
		Source: granularity.SourceTrace, Accuracy: "upper-bound", Of: granularity.OfRegions,
		Start: int64(o.begin), Wall: o.covered(), Procs: o.procs,
		Samples: o.machine.samples, Pauses: o.machine.pauses,
	}
	switch {
	case o.opt.Tasks:
		p.Of = granularity.OfUserTasks
	case o.wholeLives():
		p.Of = granularity.OfGoroutines
	}
	if !o.wall.IsZero() {
		p.Time = o.wall.Add(time.Duration(o.begin - o.first))
	}
	if p.Procs == 0 {
		p.Procs = o.machine.mostRunning
		p.Warnings = append(p.Warnings, fmt.Sprintf("The trace does not tell GOMAXPROCS; at most %s ran at once.", format.Plural(p.Procs, "goroutine", "goroutines")))
	}
	p.Run = o.machine.run
	p.JudgeSamples()
	o.build(p)
	o.warn(p)
	p.Diagnose()
	return p
}

// build makes the classes from their sites.
func (o *Observer) build(p *granularity.Profile) {
	classes := map[*traceClass]*granularity.Class{}
	for _, s := range o.sites {
		c := classes[s.class]
		if c == nil {
			sum := s.class.Class
			c = &sum
			classes[s.class] = c
		}
		if s.Tasks == 0 {
			continue
		}
		site := s.Site
		site.Pool, site.Created, site.Submitted = s.key.pool, traceFrames(s.key.created, s.key.pool), traceFrames(s.key.submitted, s.key.pool)
		c.Add(&granularity.Class{Tasks: site.Tasks, RunningNS: site.RunningNS, WallNS: site.WallNS, BlockedNS: site.BlockedNS})
		c.Sites = append(c.Sites, site)
	}
	for from, c := range classes {
		if from.underWay == 0 && c.Tasks+c.Aggregated+c.Unmeasured == 0 {
			continue // its tasks got another name
		}
		o.finishSeries(c, from)
		p.Classes = append(p.Classes, *c)
	}
}

// finishSeries makes the bins of the class. The last one ends with the trace.
func (o *Observer) finishSeries(c *granularity.Class, from *traceClass) {
	for from.series.Shift < from.active.Shift {
		from.series.Fold()
	}
	for from.active.Shift < from.series.Shift {
		from.active.Fold()
	}
	var active int64
	from.series.Each(int64(o.end-o.begin), func(i int, start, end int64) {
		b, busy := &from.series.Bins[i], from.active.Bins[i].Busy
		active += busy
		c.Series = append(c.Series, granularity.Bin{
			At: int64(o.begin) + end, Ended: b.Ended, Busy: time.Duration(b.Busy),
			Active: min(1, float64(busy)/float64(end-start)),
		})
	})
	if length := int64(o.covered()); length > 0 {
		c.ActiveShare = min(1, float64(active)/float64(length))
	}
}

// warn adds the limits of the profile to its warnings.
func (o *Observer) warn(p *granularity.Profile) {
	p.Finish()
	if o.overflow > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("More than %s tasks: %s of further places are in the class (other).", format.Plural(maxSites, "place begins", "places begin"), format.Plural(o.overflow, "task", "tasks")))
	}
}
