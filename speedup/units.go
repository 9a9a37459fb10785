package speedup

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Units of equal work are user regions of one type that the program marks. They show in a single
// run what one worker would need for a unit: nothing disturbed a unit that ran while no other
// goroutine of the program did. The extra time of the other units is hardware interference or
// parallel overhead: the remainder of eq. 3, which an estimate cannot determine otherwise.

// unitTimes sums up the units of equal work in a run.
type unitTimes struct {
	Count   int           // units that began and ended in the run
	Running time.Duration // running time of their goroutines inside of them, summed
	Alone   int           // units during which no other goroutine of the program ran
	// Median is the running time of a unit that ran alone; 0 if there was none.
	Median time.Duration
}

// leastAlone is the minimum number of units that ran alone for an estimate.
const leastAlone = 3

// maxAlone bounds the times kept. The first ones represent all.
const maxAlone = 10_000

// units collects the units of a run.
type units struct {
	company timeline.Time // time so far in which more than one goroutine of the application ran
	count   int
	run     timeline.Time
	alone   int
	times   []timeline.Time
}

// unit is the open unit of a goroutine.
type unit struct {
	depth           int // of regions of the type; the outermost is the unit
	run, company    timeline.Time
	since, together timeline.Time // now and units.company, when last settled
}

// settleUnit accounts for a goroutine's time in its unit until now.
func (o *observer) settleUnit(m *member) {
	u := &m.unit
	if u.depth == 0 {
		return
	}
	if m.state == timeline.Running {
		u.run += o.now - u.since
		u.company += o.units.company - u.together
	}
	u.since, u.together = o.now, o.units.company
}

// regionUnit begins or ends a unit.
func (o *observer) regionUnit(m *member, begin bool) {
	u := &m.unit
	if begin {
		if u.depth == 0 {
			*u = unit{since: o.now, together: o.units.company}
		}
		u.depth++
		return
	}
	if u.depth == 0 {
		return // it began before the trace
	}
	o.settleUnit(m)
	if u.depth--; u.depth > 0 {
		return
	}
	o.units.count++
	o.units.run += u.run
	if u.company*100 <= u.run {
		o.units.alone++
		if len(o.units.times) < maxAlone {
			o.units.times = append(o.units.times, u.run)
		}
	}
}

func (u *units) sum() *unitTimes {
	s := &unitTimes{Count: u.count, Running: time.Duration(u.run), Alone: u.alone}
	if n := len(u.times); n > 0 {
		slices.Sort(u.times)
		s.Median = time.Duration(u.times[n/2])
	}
	return s
}
