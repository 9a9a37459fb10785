package granularity

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Profile returns what was recorded so far, diagnosed. It excludes tasks under way. Recording
// continues during the call. It takes about 0.1 ms per site and 10 µs per thread.
func (r *Recorder) Profile() *Profile {
	countNotes()
	r.mu.Lock()
	now := r.now()
	if r.machine.stop != nil {
		r.machine.sample(now, r.base.Refined().Monotonic)
	}
	sites := slices.Collect(maps.Values(r.sites))
	samples, pauses := slices.Clone(r.machine.samples), slices.Clone(r.machine.pauses)
	r.mu.Unlock()

	info, base := r.clock.Info(), r.base.Refined()
	p := &Profile{
		Source:   string(info.Source),
		Accuracy: string(info.Accuracy),
		Hz:       info.Hz,
		HzOrigin: info.HzOrigin,
		HzPPM:    info.HzPPM,
		Time:     r.began.at,
		Start:    base.Monotonic(r.began.tick),
		Wall:     now.at.Sub(r.began.at),
		Procs:    runtime.GOMAXPROCS(0),
		Samples:  samples,
		Pauses:   pauses,
	}
	if now.cpu > 0 {
		p.Run = newSample(&r.began, &now, base.Monotonic(now.tick))
		w := processWaits()
		p.Run.Ready, p.Run.Delayed = max(0, w.ready-r.waited.ready), max(0, w.delayed-r.waited.delayed)
	}
	if p.Overhead, p.OverheadOrigin = empty.known(), "the cost of an empty task"; p.Overhead == 0 {
		p.OverheadOrigin = "not known, because the process was busy when the recorder and the profile were made"
	}
	if info.Hz == r.base.Hz {
		p.Hz, p.HzPPM = base.Hz, base.PPM
	}
	s := snapshot{r: r, p: p, base: base, now: now, classes: map[*class]*Class{}}
	raw := map[*site]*counts{}
	for _, site := range sites {
		raw[site] = site.copy()
	}
	s.most = mostCycles(maps.Values(raw), p)
	r.logMu.Lock()
	s.entries = slices.Clone(r.log)
	r.logMu.Unlock()
	for _, site := range sites {
		s.add(site, raw[site])
	}
	s.build()
	s.warn(info)
	p.Diagnose()
	return p
}

// snapshot makes a profile of a recorder's data.
type snapshot struct {
	r       *Recorder
	base    *cycles.Timebase
	p       *Profile
	most    float64 // part of the estimated cycles that the process can have executed
	now     moment
	classes map[*class]*Class
	entries []entry
}

// add adds one site to its class.
func (s *snapshot) add(from *site, raw *counts) {
	place, sum := raw.tasks(s.p, s.most)
	if sum.Executions()+sum.Nested+sum.Aggregated == 0 {
		return
	}
	into := s.classes[from.class]
	if into == nil {
		into = &Class{Name: from.class.name}
		s.classes[from.class] = into
	}
	place.raw, place.Created = raw, frames(from.key.chain)
	if pool := from.key.pool; pool != nil {
		place.Pool, place.Submitted = pool.name, place.Created
		sum.Workers = int(pool.workers.Load())
	}
	free := sum.Workers <= 0 || into.Workers == unlimited
	if into.Add(&sum); free {
		into.Workers = unlimited
	}
	into.Sites = append(into.Sites, place)
}

// copy returns the executions counted so far.
func (s *site) copy() *counts {
	s.cell.mu.Lock()
	defer s.cell.mu.Unlock()
	c := s.cell.counts.since(&counts{})
	c.rest = s.pace.unrepresented()
	return c
}

// since returns the executions counted after o, an earlier copy. If tasks have left their threads
// since, but none was sampled, the sample is that of all.
func (c *counts) since(o *counts) *counts {
	out := &counts{
		unmeasured: less(c.unmeasured, o.unmeasured), nested: less(c.nested, o.nested), aggregated: less(c.aggregated, o.aggregated),
		skipped: less(c.skipped, o.skipped), rest: c.rest - o.rest,
	}
	later := func(into, h, before *Histogram) {
		if before.count == 0 {
			into.Merge(h)
		} else {
			*into = h.since(*before)
		}
		into.pack()
	}
	later(&out.cycles, &c.cycles, &o.cycles)
	later(&out.wall, &c.wall, &o.wall)
	later(&out.blocked, &c.blocked, &o.blocked)
	if c.left != nil {
		before := cmp.Or(o.left, &left{})
		out.left = &left{}
		later(&out.left.wall, &c.left.wall, &before.wall)
		later(&out.left.sampled, &c.left.sampled, &before.sampled)
		if later(&out.left.cycles, &c.left.cycles, &before.cycles); out.left.cycles.count == 0 {
			later(&out.left.cycles, &c.left.cycles, &Histogram{})
		}
	}
	return out
}

// tasks returns the site with its tasks, and what it adds to its class.
func (c *counts) tasks(p *Profile, most float64) (place Site, sum Class) {
	place.Cycles.Merge(&c.cycles)
	place.WallNS.Merge(&c.wall)
	place.BlockedNS.Merge(&c.blocked)
	sum.Unmeasured, sum.Nested, sum.Aggregated = c.unmeasured, c.nested, c.aggregated
	sum.Skipped = uint64(max(int64(c.skipped)+c.rest, 0))
	var gone left
	if c.left != nil {
		gone.wall.Merge(&c.left.wall)
		gone.sampled.Merge(&c.left.sampled)
		gone.cycles.Merge(&c.left.cycles)
	}
	like := func(h *Histogram) { // counts the rest as the median
		if h.AddN(uint64(h.Quantile(.5)), uint64(max(c.rest, 0))); c.rest < 0 {
			h.drop(uint64(-c.rest))
		}
	}
	if gone.wall.Count() > place.Cycles.Count() {
		like(&gone.wall)
	} else if place.Cycles.Count() > 0 {
		like(&place.Cycles)
		like(&place.WallNS)
		place.BlockedNS.drop(place.BlockedNS.Count() - min(place.BlockedNS.Count(), place.Cycles.Count()))
	}
	sum.Longest = time.Duration(gone.wall.Max())
	if gone.estimate(&place, 1e9/p.Hz, most) {
		sum.Estimated = gone.wall.Count()
	} else {
		sum.Unmeasured += gone.wall.Count()
	}
	place.Tasks = place.Cycles.Count()
	if p.Accuracy != string(cycles.UpperBound) { // which does not show whether a task was off the processor
		place.BlockedNS.AddN(0, place.Tasks-place.BlockedNS.Count())
	}
	packAll(place.histograms())
	sum.Tasks, sum.Cycles, sum.WallNS, sum.BlockedNS = place.Tasks, place.Cycles, place.WallNS, place.BlockedNS
	return place, sum
}

// mostCycles returns the part of the cycles estimated for the sites that the process can have
// executed: a sample of few tasks of very different sizes may have more of the large ones.
func mostCycles(sites iter.Seq[*counts], p *Profile) float64 {
	var measured, estimated float64
	for c := range sites {
		measured += c.cycles.Sum()
		if c.left != nil {
			var place Site
			c.left.estimate(&place, 1e9/p.Hz, 1)
			estimated += place.Cycles.Sum()
		}
	}
	late := time.Duration(p.Procs) * 4 * time.Millisecond // the system adds the time of a running thread so late
	most := (p.Run.CPU+late).Seconds()*p.Hz - measured
	if p.Run.CPU == 0 || p.Hz == 0 || estimated <= most {
		return 1
	}
	return max(most, 0) / estimated
}

// estimate adds the tasks that have left their threads. Their cycles are those of the sample,
// scaled to the number of tasks and reduced to a part, and their time off the processor is the rest
// of their wall time. It reports false if there is no sample.
func (l *left) estimate(place *Site, nsPerCycle, part float64) bool {
	sample, all, costly := l.cycles.Count(), l.wall.Count(), l.sampled.Count()
	switch {
	case all+costly == 0:
		return true
	case sample == 0:
		return false
	}
	// A block costs a locked task more than others: no task executes for longer than its wall
	// time.
	most := uint64(math.MaxUint64)
	if mean := l.wall.Mean(); all > 0 {
		most = uint64(mean / nsPerCycle)
	}
	total, given, seen := all+costly, uint64(0), uint64(0)
	var sum float64
	for value, count := range l.cycles.Buckets() {
		seen += count
		n := total*seen/sample - given
		given += n
		value = uint64(float64(min(value, most)) * part)
		place.Cycles.AddN(value, n)
		sum += float64(value) * float64(n)
	}
	executed := uint64(sum / float64(total) * nsPerCycle)
	walls := &l.wall
	if all == 0 {
		walls = &l.sampled
	} else {
		// If the sample's own wall times are longer, that is due to the locks.
		for wall, count := range l.sampled.Buckets() {
			wall = min(wall, uint64(l.wall.Mean()))
			place.WallNS.AddN(wall, count)
			place.BlockedNS.AddN(wall-min(executed, wall), count)
		}
	}
	place.WallNS.Merge(walls)
	for wall, count := range walls.Buckets() {
		place.BlockedNS.AddN(wall-min(executed, wall), count)
	}
	return true
}

// build creates the classes and the log.
func (s *snapshot) build() {
	for from, c := range s.classes {
		s.finishSeries(c, from)
		packAll(c.histograms())
		c.Workers = max(c.Workers, 0)
		s.p.Classes = append(s.p.Classes, *c)
	}
	s.p.sort()
	order.Stable(s.entries, func(a, b entry) int { return cmp.Compare(a.EndedAt, b.EndedAt) })
	for i := range s.entries {
		s.p.Log = append(s.p.Log, s.record(&s.entries[i]))
	}
	s.p.LogDropped = uint64(max(s.r.unlogged.Load(), 0))
}

// finishSeries converts ticks to times. The last bin ends now.
func (s *snapshot) finishSeries(c *Class, from *class) {
	from.mu.Lock()
	over := from.series
	from.mu.Unlock()
	length := s.now.tick - s.r.began.tick
	var activeTicks float64
	over.Each(length, func(i int, start, end int64) {
		b := &over.Bins[i]
		part := min(1, float64(b.Busy)/float64(end-start)) // at most: as if one task followed the other
		activeTicks += part * float64(end-start)
		c.Series = append(c.Series, Bin{
			At:     s.base.Monotonic(s.r.began.tick + end),
			Ended:  b.Ended,
			Busy:   time.Duration(s.base.NS(b.Busy)),
			Active: part,
		})
	})
	if length > 0 {
		c.ActiveShare = activeTicks / float64(length)
	}
}

// record makes the public record of a task.
func (s *snapshot) record(e *entry) TaskRecord {
	t := e.TaskRecord
	t.Class, t.Created = e.site.class.name, frames(e.site.key.chain)
	if pool := e.site.key.pool; pool != nil {
		t.Pool, t.Submitted = pool.name, frames(e.site.key.chain)
	}
	for _, at := range []*int64{&t.CreatedAt, &t.SubmittedAt, &t.StartedAt, &t.EndedAt} {
		if *at != 0 { // it was executed inline
			*at = s.base.Monotonic(*at)
		}
	}
	t.Blocked = time.Duration(s.base.NS(int64(t.Blocked)))
	return t
}

// cheapReading is less than the cost of reading a clock with a system call.
const cheapReading = 100 * time.Nanosecond

// fall returns a warning if the clock is not the first one that usually works, or "". It names the
// clock, what a reading costs, and why better ones are refused.
func fall(info *cycles.Info) string {
	why := fmt.Sprintf("the clock is %s, and a task needs two readings of %v each. Better ones are refused here: %s.", info.Source, info.Costs, strings.Join(info.Refused, "; "))
	switch {
	case info.Accuracy == cycles.UpperBound:
		return "Cycles are upper bounds, which include time off the processor: " + why
	case info.Costs >= cheapReading:
		return "Measuring is not cheap: " + why
	}
	return ""
}

// warn adds the limits of the profile to its warnings.
func (s *snapshot) warn(info cycles.Info) {
	p := s.p
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	if info.Accuracy == cycles.CountedUser {
		add("Cycles are those in user mode only: the system does not grant counting in the kernel.")
	}
	if w := fall(&info); w != "" {
		p.Warnings = append(p.Warnings, w)
	}
	var unmeasured, estimated, skipped uint64
	for i := range p.Classes {
		unmeasured += p.Classes[i].Unmeasured
		estimated += p.Classes[i].Estimated
		skipped += p.Classes[i].Skipped
	}
	if unmeasured > 0 {
		why := ""
		if !s.r.locks {
			why = " The program contains coroutines (iter.Pull), so that no task can be locked to its thread, which would measure some that block."
		}
		add("%s not measured: %s, or ended while paused.%s", format.Plural(unmeasured, "execution was", "executions were"),
			one(unmeasured, "it blocked", "they blocked"), why)
	}
	if estimated > 0 {
		add("%s: %s cycles are estimated from a sample of such tasks.", format.Plural(estimated, "task blocked", "tasks blocked"), one(estimated, "its", "their"))
	}
	if skipped > 0 {
		add("%s too frequent to measure each: a random sample stands for them.", format.Plural(skipped, "task was", "tasks were"))
	}
	if other := s.classes[s.r.other.class]; other != nil {
		add("More than %s tasks: %s of further places are in the class (other).", format.Plural(maxSites, "place creates", "places create"), tasks(other.Tasks))
	}
	if run := &p.Run; run.Throttles > 0 {
		add("The control group of the process used up its quota %s and lost processors for %s, summed over them: tasks that count as running did not run then.",
			format.Plural(run.Throttles, "time", "times"), format.Duration(run.Throttled))
	}
	if n := chains.Dropped(); n > 0 {
		add("%s did not fit into their table.", format.Plural(n, "call chain", "call chains"))
	}
	if p.LogDropped > 0 {
		add("The log holds the first %s; %s counted only.", format.Plural(s.r.Log, "task", "tasks"), format.Plural(p.LogDropped, "more was", "more were"))
	}
}

// frames returns the calls of the chain; callstack removes this module's own at the leaf.
func frames(c *callstack.Chain) []Frame {
	if c == nil {
		return nil
	}
	calls := c.Frames()
	out := make([]Frame, len(calls))
	for i, f := range calls {
		out[i] = Frame{Func: f.Func, File: f.File, Line: f.Line}
	}
	return out
}

// at names the leaf of a call chain: "pkg.Func (file.go:12)".
func at(chain []Frame) string {
	if len(chain) == 0 {
		return ""
	}
	return chain[0].String()
}

// String returns "pkg.Func (file.go:12)".
func (f Frame) String() string {
	if f.File == "" {
		return f.Func
	}
	return fmt.Sprintf("%s (%s:%d)", f.Func, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
}
