package granularity

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Profile returns what was recorded so far, diagnosed. Tasks under way are not
// in it. Recording goes on meanwhile. It takes some 0.1 ms a
// site and 10 µs a thread.
func (r *Recorder) Profile() *Profile {
	countNotes()
	r.mu.Lock()
	now := r.now()
	if r.machine.stop != nil {
		r.machine.sample(now, r.base.Monotonic)
	}
	samples, pauses := slices.Clone(r.machine.samples), slices.Clone(r.machine.pauses)
	r.mu.Unlock()

	info := r.clock.Info()
	p := &Profile{
		Source:   string(info.Source),
		Accuracy: string(info.Accuracy),
		Hz:       info.Hz,
		HzOrigin: info.HzOrigin,
		HzPPM:    info.HzPPM,
		Time:     r.began.at,
		Start:    r.base.Monotonic(r.began.tick),
		Wall:     now.at.Sub(r.began.at),
		Procs:    runtime.GOMAXPROCS(0),
		Samples:  samples,
		Pauses:   pauses,
	}
	if now.usage.known {
		p.Run = newSample(&r.began, &now, r.base.Monotonic(now.tick))
		w := processWaits()
		p.Run.Ready, p.Run.Delayed = max(0, w.ready-r.waited.ready), max(0, w.delayed-r.waited.delayed)
	}
	if p.Overhead, p.OverheadOrigin = r.overhead, "the cost of an empty task, measured when the recorder was made"; p.Overhead == 0 {
		p.OverheadOrigin = "not known, because the process was busy when the recorder was made"
	}
	s := snapshot{r: r, p: p, now: now, classes: map[*class]*classParts{}}
	for i := range r.shards {
		s.add(&r.shards[i])
	}
	s.build()
	s.warn(info)
	p.Diagnose()
	return p
}

// snapshot merges the shards.
type snapshot struct {
	r       *Recorder
	p       *Profile
	now     moment
	classes map[*class]*classParts
	entries []entry
}

// classParts are the parts of one class.
type classParts struct {
	class  Class
	sites  map[*site]*Site
	series []*series
}

// add merges one shard, which is locked while its numbers are copied.
func (s *snapshot) add(sh *shard) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, c := range sh.cells {
		if c == nil {
			continue
		}
		parts := s.classes[c.site.class]
		if parts == nil {
			parts = &classParts{class: Class{Name: c.site.class.name}, sites: map[*site]*Site{}}
			s.classes[c.site.class] = parts
		}
		place := parts.sites[c.site]
		if place == nil {
			place = &Site{}
			parts.sites[c.site] = place
		}
		place.Tasks += c.cycles.Count()
		place.Cycles.Merge(&c.cycles)
		place.WallNS.Merge(&c.wall)
		place.BlockedNS.Merge(&c.blocked)
		parts.class.Unmeasured += c.unmeasured
		parts.class.Nested += c.nested
		parts.class.Aggregated += c.aggregated
	}
	for _, parts := range s.classes {
		for site := range parts.sites {
			if id := site.class.id; id < len(sh.series) && sh.series[id] != nil {
				copied := *sh.series[id]
				parts.series = append(parts.series, &copied)
			}
			break // all sites are of the class
		}
	}
	s.entries = append(s.entries, sh.log...)
}

// build makes the classes from their parts.
func (s *snapshot) build() {
	for _, parts := range s.classes {
		c := &parts.class
		for site, place := range parts.sites {
			s.finishSite(site, place)
			c.Tasks += place.Tasks
			c.Cycles.Merge(&place.Cycles)
			c.WallNS.Merge(&place.WallNS)
			c.BlockedNS.Merge(&place.BlockedNS)
			c.Sites = append(c.Sites, *place)
		}
		order.Stable(c.Sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(b.Cycles.Sum(), a.Cycles.Sum()), cmp.Compare(b.Tasks, a.Tasks), strings.Compare(at(a.Submitted), at(b.Submitted)))
		})
		s.finishSeries(c, parts.series)
		s.p.Classes = append(s.p.Classes, *c)
	}
	order.Stable(s.p.Classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.Cycles.Sum(), a.Cycles.Sum()), strings.Compare(a.Name, b.Name))
	})
	order.Stable(s.entries, func(a, b entry) int { return cmp.Compare(a.end, b.end) })
	for i := range s.entries {
		s.p.Log = append(s.p.Log, s.record(&s.entries[i]))
	}
	s.p.LogDropped = uint64(max(s.r.unlogged.Load(), 0))
}

// finishSite turns chains into frames and counts the tasks that were never off
// the processor.
func (s *snapshot) finishSite(site *site, place *Site) {
	if s.p.Accuracy != string(cycles.UpperBound) { // which does not tell whether a task was off the processor
		place.BlockedNS.AddN(0, place.Tasks-place.BlockedNS.Count())
	}
	if site.pool != nil {
		place.Pool = site.pool.name
	}
	place.Created, place.Submitted = frames(site.created), frames(site.submitted)
}

// finishSeries turns ticks into times. The last bin ends now.
func (s *snapshot) finishSeries(c *Class, parts []*series) {
	merged, active := total(parts)
	width := int64(1) << merged.shift
	length := s.now.tick - s.r.began.tick
	var activeTicks float64
	for i, b := range merged.bins {
		start := int64(i) * width
		if start >= length {
			break
		}
		end := min(start+width, length)
		part := min(1, active[i]*float64(width)/float64(end-start))
		activeTicks += part * float64(end-start)
		c.Series = append(c.Series, Bin{
			At:     s.r.base.Monotonic(s.r.began.tick + end),
			Ended:  b.ended,
			Busy:   time.Duration(s.r.base.NS(b.busy)),
			Active: part,
		})
	}
	if length > 0 {
		c.ActiveShare = activeTicks / float64(length)
	}
}

// record makes the public record of a task.
func (s *snapshot) record(e *entry) TaskRecord {
	base := s.r.base
	t := TaskRecord{
		ID: e.id, Outer: e.outer, Class: e.site.class.name,
		Created: frames(e.site.created), Submitted: frames(e.site.submitted),
		CreatedAt: base.Monotonic(e.created), StartedAt: base.Monotonic(e.start), EndedAt: base.Monotonic(e.end),
		Creator: e.creator, Submitter: e.submitter, Executor: named(e.goid), Thread: e.tid,
		Cycles: uint64(e.m.self), TotalCycles: uint64(e.m.total),
		Blocked: time.Duration(base.NS(e.m.selfOff)),
	}
	if e.submitted != 0 {
		t.SubmittedAt = base.Monotonic(e.submitted)
	}
	if e.site.pool != nil {
		t.Pool = e.site.pool.name
	}
	return t
}

// warn says what limits the trust.
func (s *snapshot) warn(info cycles.Info) {
	p := s.p
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	switch info.Accuracy {
	case cycles.UpperBound:
		add("Cycles are upper bounds: no counter of what a thread executes works here (%s).", strings.Join(info.Refused, "; "))
	case cycles.CoreCycles:
		add("Cycles elapse at the cores' varying frequency: they do not compare with reference cycles, and blocked times are not known.")
	case cycles.CountedUser:
		add("Cycles are those in user mode only: the system does not grant counting in the kernel.")
	}
	var unmeasured uint64
	for i := range p.Classes {
		unmeasured += p.Classes[i].Unmeasured
	}
	if unmeasured > 0 {
		add("%s not measured: %s from %s thread, or ended while paused.", format.Plural(unmeasured, "execution was", "executions were"),
			one(unmeasured, "it unlocked itself", "they unlocked themselves"), one(unmeasured, "its", "their"))
	}
	if parts := s.classes[s.r.other.class]; parts != nil && parts.sites[s.r.other] != nil {
		add("More than %s tasks: %s of further places are in the class (other).", format.Plural(s.r.opts.MaxSites, "place creates", "places create"), tasks(parts.sites[s.r.other].Tasks))
	}
	if n := chains.Dropped(); n > 0 {
		add("%s did not fit into their table.", format.Plural(n, "call chain", "call chains"))
	}
	if p.LogDropped > 0 {
		add("The log holds the first %s; %s counted only.", format.Plural(s.r.opts.Log, "task", "tasks"), format.Plural(p.LogDropped, "more was", "more were"))
	}
}

// frames returns the calls of the chain; callstack leaves out our own at the leaf.
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
