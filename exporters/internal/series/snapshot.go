package series

import "time"

// Snapshot holds the counters at one time. All of them except Recording and Procs grow from reading
// to reading.
type Snapshot struct {
	// Build identifies the running program.
	Build Build
	// Lean selects only the most important families; see Options.
	Lean bool
	// Live reports whether there is a continuous analysis. Otherwise only Tasks is set.
	Live bool
	// Recording reports whether the analysis is running. Panics counts the panics of its observers.
	Recording bool
	Panics    int
	// Procs is the largest GOMAXPROCS so far; 0 if unknown.
	Procs int
	// Wall is the estimated time of the analysis, and Idle the part in which nothing ran. The
	// shares of all groups and Idle sum to Wall, except for nanoseconds by which rounded shares may
	// shrink.
	Wall, Idle time.Duration
	// Seen is the part of Wall that was traced, in Bursts bursts. The rest is estimated.
	Seen   time.Duration
	Bursts int64
	// Groups are sorted by name and kind.
	Groups []Group
	// Contention is sorted by kind.
	Contention []Contention
	// Stream holds the cost of the analysis and the amount of data that it dropped.
	Stream Stream
	// Tasks are sorted by class; empty if no task was measured.
	Tasks []Tasks

	exemplars map[exemplarKey]*Exemplar
}

// Group is a box of the bottle graph, summed over time.
type Group struct {
	Name, Kind               string
	Share, Running, Runnable time.Duration
	InC                      time.Duration // in C code; partly included in Running
	// Blocked holds the nonzero times by reason, sorted.
	Blocked []Part
}

// Part is a part of a time.
type Part struct {
	Name string
	Time time.Duration
}

// Contention holds the waits of one kind, such as for locks or channels.
type Contention struct {
	Kind string
	// Contentions is the number of waits. The wait times are split into time blamed on a known
	// owner, hand-off from one owner to the next, and unattributed time. Ready is the time from the
	// end of a wait until the goroutine had a processor.
	Contentions                   int64
	Blamed, HandOff, Unattributed time.Duration
	Ready                         time.Duration
}

// Stream holds the cost of reading the trace and the amount of dropped data.
type Stream struct {
	Generations, Bytes int64
	CPU                time.Duration
	// Dropped holds all reasons, sorted, including those for which nothing was dropped.
	Dropped []Dropped
}

// Dropped is the amount of data dropped for one reason.
type Dropped struct {
	Reason             string
	Generations, Bytes int64
	Time               time.Duration
}

// Tasks holds the number of tasks of a class and their sizes in reference cycles.
type Tasks struct {
	Class string
	// Buckets are the cumulative numbers of tasks up to each of TaskBounds.
	Buckets []uint64
	Count   uint64
	// Cycles is the sum of the sizes.
	Cycles float64
}

// TaskBounds are the upper bounds of the buckets of task sizes, in cycles: powers of 4, from 0.1 µs
// to half a minute at 2 GHz. A bucket of a [granularity.Histogram] that straddles a bound, 1.6 %
// wide, counts as above it.
var TaskBounds = func() (bounds []float64) {
	for b := 256.0; b <= 1<<36; b *= 4 {
		bounds = append(bounds, b)
	}
	return bounds
}()
