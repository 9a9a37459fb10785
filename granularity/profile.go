// Package granularity measures how much work the tasks of a program do, and finds classes of tasks
// that are too small, too large, too few, or mostly blocked.
//
// The granularity of a task is the number of reference cycles that it executes, after A. Rosà, E.
// Rosales, W. Binder, "Analysis and Optimization of Task Granularity on the Java Virtual Machine"
// (TOPLAS 2019). Use [Pool] for a worker pool, [Group] instead of an errgroup.Group, and [Do]
// around each piece of work in your own pool:
//
//	package main
//
//	import (
//		"fmt"
//		"sync/atomic"
//
//		"github.com/bottleneck-go/bottleneck/granularity"
//	)
//
//	func main() {
//		rec := granularity.Default()
//		pool := &granularity.Pool{Name: "sums"}
//		var sum atomic.Int64
//		for i := range 100_000 {
//			pool.Submit(func() { sum.Add(int64(i)) })
//		}
//		pool.Close()
//		for _, class := range rec.Profile().Classes {
//			fmt.Println(class.Name, class.Tasks, class.Diagnosis, class.Reasons, class.Advice)
//		}
//	}
//
// Counters count threads. A task that stays on its thread is measured exactly. For a task that
// blocks or is preempted, only the wall time is measured. Its cycles are estimated from a sample of
// such tasks that are locked to their threads ([Class].Estimated); otherwise it is unmeasured. One
// case is not detected: a task that blocks exactly 256 times, or a multiple of that, and ends on
// its first thread is charged with what others executed there. [Profile].Source names the clock.
//
// Of tasks of a Pool or Group that execute for less than 70 µs, a random sample is measured
// ([Class].Skipped). Measuring one takes about 0.1 µs and no allocation (BenchmarkOverhead), plus a
// region while a runtime/trace is recorded. docs/measurements.md lists clocks, accuracy and costs.
// bottleneck.Analyze finds the tasks of any program in an execution trace.
package granularity

import (
	"time"
)

// Profile describes the tasks of a run. [Recorder.Profile] makes one from measurements,
// bottleneck.Analyze from an execution trace, and [ReadJSON] reads a recorded one. Its memory is
// bounded: some histograms a site, a series of 256 bins a class, and a limited number of sites,
// samples and log entries. What did not fit is counted in Warnings.
type Profile struct {
	// Source names what counted the cycles, such as "rseq-clock"; docs/measurements.md lists the
	// sources. Accuracy is "counted", "counted-user", "thread-time" or "upper-bound".
	Source   string `json:"source"`
	Accuracy string `json:"accuracy"`
	// Of is what a task is in a profile from a trace; "" in a measured one.
	Of string `json:"of,omitempty"`
	// Hz is the frequency of the cycles, HzOrigin how it is known and HzPPM its
	// uncertainty in parts per million. Hz is 0 when it varies.
	Hz       float64  `json:"hz"`
	HzOrigin string   `json:"hz_origin,omitempty"`
	HzPPM    float64  `json:"hz_ppm,omitempty"`
	Warnings []string `json:"warnings"` // sentences about what limits the trust in the numbers

	// Time and Start are the begin of the run: the time of day, and nanoseconds of
	// CLOCK_MONOTONIC (on Linux), the clock of all times below. Wall is its length.
	Time  time.Time     `json:"time,omitzero"`
	Start int64         `json:"start_ns"`
	Wall  time.Duration `json:"run_ns"`
	Procs int           `json:"gomaxprocs"`
	// Run is what the process used during the run, if its Wall is not 0. Samples is what it used
	// over time, if the machine was sampled and the system reports usage.
	Run     Sample    `json:"run,omitzero"`
	Samples []Sample  `json:"samples"`
	Pauses  []GCPause `json:"gc_pauses"` // of the collector

	// Overhead is the cost of a task besides its own work; 0 if unknown. OverheadOrigin is how it
	// was determined, or why it is unknown.
	Overhead       time.Duration `json:"overhead_ns"`
	OverheadOrigin string        `json:"overhead_origin,omitempty"`

	Classes []Class `json:"classes"` // largest sum of cycles, or of running time, first
	// Log holds a record of each task, in the order of their ends, if requested. LogDropped counts
	// the tasks that did not fit.
	Log        []TaskRecord `json:"-"`
	LogDropped uint64       `json:"-"`
	// Instances is the number of programs in the profile, if [Merge] has added several; 0 means
	// one. Wall and Run are then sums over them, and Procs is the largest.
	Instances int `json:"instances,omitempty"`
}

// Class describes one class of tasks: those that execute one function, or that were given one name.
type Class struct {
	Name  string `json:"class"` // of the function, or given
	Tasks uint64 `json:"tasks"` // executions that were measured
	// Cycles is the granularity: the reference cycles that each task executed, without those of
	// tasks nested in it. In a profile from a trace, it is empty, and RunningNS is the granularity
	// as running time in nanoseconds. See [Profile.Granularity].
	Cycles    Histogram `json:"cycles"`
	RunningNS Histogram `json:"running_ns,omitzero"`
	WallNS    Histogram `json:"wall_ns"` // nanoseconds from the start of each task to its end
	// BlockedNS is the part of WallNS in which the task was off the processor, without that of
	// nested tasks. If Accuracy is "upper-bound", except in a trace, only pauses are known, and
	// it counts only the tasks that paused.
	BlockedNS Histogram `json:"blocked_ns"`
	// ReadyNS is the part of BlockedNS in which the task was ready and waited for a processor. It
	// is set only in a profile from a trace.
	ReadyNS Histogram `json:"ready_ns,omitzero"`

	// Diagnosis, such as Fine or Coarse, Reasons and Advice are set by [Profile.Diagnose].
	Diagnosis string   `json:"diagnosis"`
	Reasons   []string `json:"reasons"`
	Advice    []string `json:"advice"`
	// Merge is how many tasks of a fine-grained class to merge into one. Split is the minimum number
	// of tasks to use instead of coarse ones, or of few ones of too few workers; of a straggler, the
	// number of its pieces. Otherwise they are 0.
	Merge uint64 `json:"merge,omitempty"`
	Split uint64 `json:"split,omitempty"`

	// Unmeasured counts executions that ended while paused, or that blocked without a measured
	// execution to estimate them by. They are in no histogram.
	Unmeasured uint64 `json:"unmeasured"`
	// Estimated is how many of Tasks blocked, so that their cycles are estimated from a sample of
	// such tasks, to which the lock adds 1 to 5 µs for each time they block; their wall time is
	// measured.
	Estimated uint64 `json:"estimated,omitempty"`
	// Skipped is how many of Tasks were not measured. Of tasks of a [Pool] or [Group] that
	// execute for less than 70 µs or come more often, one in 200 µs or in 64 tasks is
	// measured, at random, and represents the others. Those of 100 µs or more represent
	// only themselves, unless most of the tasks block.
	Skipped uint64 `json:"skipped,omitempty"`
	// Longest is the longest wall time of the executions whose cycles are estimated or not
	// measured because they blocked or were preempted.
	Longest time.Duration `json:"longest,omitempty"`
	// Nested counts the tasks that executed inside another one. Aggregated counts those that
	// were counted as part of that other one ([Recorder].AggregateNested).
	Nested     uint64 `json:"nested"`
	Aggregated uint64 `json:"aggregated"`
	// ActiveShare is the share of the run in which at least one task of the class was under
	// way, estimated from the bins of the series.
	ActiveShare float64 `json:"active_share"`
	Series      []Bin   `json:"series"` // the class over time
	Sites       []Site  `json:"sites"`  // where the tasks come from, most cycles first
	// Workers is the largest number of workers of the tasks' pools, or limit of their groups; 0 if
	// there is no limit or it is unknown.
	Workers int `json:"workers,omitempty"`

	used float64 // without Series: what during returned with it; 0 if unknown
}

// counts returns the numbers of executions, all of which add up.
func (c *Class) counts() []*uint64 {
	return []*uint64{&c.Tasks, &c.Unmeasured, &c.Estimated, &c.Skipped, &c.Nested, &c.Aggregated}
}

func (c *Class) histograms() []*Histogram {
	return []*Histogram{&c.Cycles, &c.RunningNS, &c.WallNS, &c.BlockedNS, &c.ReadyNS}
}

func (s *Site) histograms() []*Histogram {
	return []*Histogram{&s.Cycles, &s.RunningNS, &s.WallNS, &s.BlockedNS}
}

// Executions returns the number of executions of the class, measured or not.
func (c *Class) Executions() uint64 { return c.Tasks + c.Unmeasured }

// Bin is a class during one interval of the run.
type Bin struct {
	// At is the end of the interval, on the clock of [Profile].Start. The interval begins at
	// the end of the previous bin, or at Start.
	At     int64         `json:"at_ns"`
	Ended  uint64        `json:"ended"`   // tasks that ended in the interval
	Busy   time.Duration `json:"busy_ns"` // for which tasks were under way, summed over all tasks
	Active float64       `json:"active"`  // part, 0 to 1, in which at least one task was under way
}

// Site is a place that tasks of a class come from.
type Site struct {
	// Pool is the pool or group of the tasks, empty for tasks executed inline.
	Pool string `json:"pool,omitempty"`
	// Created and Submitted are the call chains, leaf first. Submitted is nil for tasks
	// executed inline.
	Created   []Frame   `json:"created,omitempty"`
	Submitted []Frame   `json:"submitted,omitempty"`
	Tasks     uint64    `json:"tasks"`
	Cycles    Histogram `json:"cycles"`
	RunningNS Histogram `json:"running_ns,omitzero"` // from a trace, as in [Class]
	WallNS    Histogram `json:"wall_ns"`
	BlockedNS Histogram `json:"blocked_ns"`

	raw *counts // from which the above was estimated; nil unless a Recorder made the profile
}

// Frame is one call in a call chain.
type Frame struct {
	Func string `json:"func"` // with its package's path
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// TaskRecord is one execution of a task in the log. Times are on the clock of
// [Profile].Start.
type TaskRecord struct {
	ID    uint64 // counts from 1 in the order of creation
	Outer uint64 // the enclosing task, which may not have ended yet; 0 for none or one without a log entry
	Class string
	Pool  string
	// Created and Submitted are call chains as in [Site].
	Created, Submitted []Frame
	// SubmittedAt is 0 for a task executed inline.
	CreatedAt, SubmittedAt, StartedAt, EndedAt int64
	Creator, Submitter, Executor               uint64 // goroutine IDs; 0 if unknown
	Thread                                     int    // the system's ID at the end; 0 if unknown
	// Cycles is the granularity. TotalCycles includes nested tasks.
	Cycles, TotalCycles uint64
	Blocked             time.Duration // off the processor, excluding nested tasks
}

// SourceTrace is the [Profile].Source of a trace: the time for which a goroutine held a
// processor of the Go scheduler.
const SourceTrace = "trace-running"

// Kinds of tasks in a profile from a trace: see [Profile].Of.
const (
	OfGoroutines = "goroutines" // and the requests that they serve: the trace has no regions
	OfRegions    = "regions"
	OfUserTasks  = "user-tasks"
)

// ByTime reports whether granularity is running time in nanoseconds: the profile is from a trace.
func (p *Profile) ByTime() bool { return p.Source == SourceTrace }

// Granularity returns [Class].Cycles, or [Class].RunningNS if [Profile.ByTime] reports true.
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

// Duration converts a granularity, in cycles or nanoseconds as returned by [Profile.Granularity],
// to a duration. ok is false if cycles have no fixed length.
func (p *Profile) Duration(granularity float64) (d time.Duration, ok bool) {
	switch {
	case p.ByTime():
		return time.Duration(min(granularity, 1<<62)), true
	case p.Hz > 0:
		return time.Duration(min(granularity/p.Hz*1e9, 1<<62)), true
	}
	return 0, false
}

// FineBelow returns the granularity, as returned by [Profile.Granularity], below which
// [Profile].Overhead is 5 % or more of the cost of a task; 0 if that is unknown.
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

// SwitchesName names what [Sample].Voluntary and Involuntary count: "context switches" or, in a
// profile from a trace, which does not show these, "goroutine switches".
func (p *Profile) SwitchesName() string {
	if p.Source == SourceTrace {
		return "goroutine switches"
	}
	return "context switches"
}
