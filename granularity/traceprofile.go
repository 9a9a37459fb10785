package granularity

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Profile returns the profile of the pass, diagnosed. Call it after End.
func (o *TraceObserver) Profile() *Profile {
	p := &Profile{
		Source: SourceTrace, Accuracy: "upper-bound",
		Start: int64(o.begin), Wall: o.covered(), Procs: o.procs,
		Samples: o.machine.samples, Pauses: o.machine.pauses,
		merged: o.pieces.mark(),
	}
	if o.opt.Hz > 0 {
		p.Hz, p.HzOrigin = o.opt.Hz, "told"
	}
	if !o.clock.Wall.IsZero() {
		p.Time = o.clock.Wall.Add(time.Duration(o.begin - o.clock.Trace))
	}
	if p.Procs == 0 {
		p.Procs = o.machine.mostRunning
		p.Warnings = append(p.Warnings, fmt.Sprintf("The trace does not tell GOMAXPROCS; at most %s ran at once.", format.Plural(p.Procs, "goroutine", "goroutines")))
	}
	o.machine.utilisation(p)
	o.build(p)
	o.warn(p)
	p.Diagnose()
	return p
}

// build makes the classes from their sites.
func (o *TraceObserver) build(p *Profile) {
	classes := map[*traceClass]*Class{}
	for _, s := range o.sites {
		c := classes[s.class]
		if c == nil {
			c = &Class{Name: s.class.name, Unmeasured: s.class.unmeasured, Nested: s.class.nested, Aggregated: s.class.aggregated}
			classes[s.class] = c
		}
		if s.wall.Count() == 0 {
			continue
		}
		site := Site{
			Pool: s.key.pool, Created: traceFrames(s.key.created), Submitted: traceFrames(s.key.submitted),
			Tasks: s.wall.Count(), Cycles: s.cycles, RunningNS: s.running, WallNS: s.wall, BlockedNS: s.blocked,
		}
		c.Tasks += site.Tasks
		c.Cycles.Merge(&site.Cycles)
		c.RunningNS.Merge(&site.RunningNS)
		c.WallNS.Merge(&site.WallNS)
		c.BlockedNS.Merge(&site.BlockedNS)
		c.ReadyNS.Merge(&s.ready)
		c.Sites = append(c.Sites, site)
	}
	for from, c := range classes {
		order.Stable(c.Sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(b.RunningNS.Sum(), a.RunningNS.Sum()), cmp.Compare(b.Tasks, a.Tasks),
				strings.Compare(at(a.Created), at(b.Created)), strings.Compare(at(a.Submitted), at(b.Submitted)))
		})
		o.finishSeries(c, from)
		p.Classes = append(p.Classes, *c)
	}
	order.Stable(p.Classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.RunningNS.Sum(), a.RunningNS.Sum()), strings.Compare(a.Name, b.Name))
	})
}

// finishSeries makes the bins of the class. The last one ends with the trace.
func (o *TraceObserver) finishSeries(c *Class, from *traceClass) {
	for from.series.shift < from.active.shift {
		from.series.fold()
	}
	for from.active.shift < from.series.shift {
		from.active.fold()
	}
	width, length := int64(1)<<from.series.shift, int64(o.end-o.begin)
	var active int64
	for i, b := range from.series.bins {
		start := int64(i) * width
		if start >= length {
			break
		}
		end := min(start+width, length)
		active += from.active.bins[i].busy
		c.Series = append(c.Series, Bin{
			At: int64(o.begin) + end, Ended: b.ended, Busy: time.Duration(b.busy),
			Active: min(1, float64(from.active.bins[i].busy)/float64(end-start)),
		})
	}
	if length = int64(o.covered()); length > 0 {
		c.ActiveShare = min(1, float64(active)/float64(length))
	}
}

// warn says what limits the trust.
func (o *TraceObserver) warn(p *Profile) {
	p.warnTrace()
	if len(p.Classes) == 0 && o.opt.Tasks && !o.opt.AggregateNested && o.regions {
		p.Warnings[len(p.Warnings)-1] = "There is no user task (runtime/trace.NewTask) in the trace, but there are regions."
	}
	if o.overflow > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("More than %s tasks: %s of further places are in the class (other).", format.Plural(o.opt.MaxSites, "place begins", "places begin"), tasks(o.overflow)))
	}
}
