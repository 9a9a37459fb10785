package granularity

import "time"

// SourceTrace is the [Profile].Source of a trace: the time for which a goroutine held a
// processor of the Go scheduler.
const SourceTrace = "trace-running"

// What a task is in a profile from a trace: see [Profile].Of.
const (
	OfGoroutines = "goroutines" // and the requests that they serve: the trace has no regions
	OfRegions    = "regions"
	OfUserTasks  = "user-tasks"
)

// ByTime tells that granularity is given as running time in nanoseconds, because cycles are not
// known: the profile is from a trace and nobody told the frequency.
func (p *Profile) ByTime() bool { return p.Source == SourceTrace && p.Hz == 0 }

// Granularity returns the distribution of the class's granularity: [Class].Cycles, or
// [Class].RunningNS in nanoseconds where [Profile.ByTime].
func (p *Profile) Granularity(c *Class) *Histogram {
	if p.ByTime() {
		return &c.RunningNS
	}
	return &c.Cycles
}

// SiteGranularity is [Profile.Granularity] of one site.
func (p *Profile) SiteGranularity(s *Site) *Histogram {
	if p.ByTime() {
		return &s.RunningNS
	}
	return &s.Cycles
}

// Duration converts a granularity, in cycles or nanoseconds as [Profile.Granularity] gives it, to a
// duration; ok is false where cycles have no fixed length.
func (p *Profile) Duration(granularity float64) (d time.Duration, ok bool) {
	switch {
	case p.ByTime():
		return time.Duration(min(granularity, 1<<62)), true
	case p.Hz > 0:
		return time.Duration(min(granularity/p.Hz*1e9, 1<<62)), true
	}
	return 0, false
}

// FineBelow returns the granularity, in cycles or nanoseconds as [Profile.Granularity] gives it,
// below which overhead is 5 % or more of what a task costs, so that a class may be fine-grained; 0
// when it is not known. It follows from [Profile].Overhead.
func (p *Profile) FineBelow() float64 {
	ns := float64(p.Overhead) * (1/fineOverhead - 1)
	switch {
	case p.ByTime():
		return ns
	case p.Hz > 0:
		return ns * p.Hz / 1e9
	}
	return 0
}

// SwitchesName says what [Sample].Voluntary and Involuntary count: "context switches" of the
// system, or "goroutine switches" of the Go scheduler in a profile from a trace, which does not
// show the former.
func (p *Profile) SwitchesName() string {
	if p.Source == SourceTrace {
		return "goroutine switches"
	}
	return "context switches"
}
