package series

import "time"

// Snapshot holds the counters at one time. All of them grow from reading to reading, other than
// Recording and Procs.
type Snapshot struct {
	// Build says what runs.
	Build Build
	// Lean tells that only the most important families are wanted: see Options.
	Lean bool
	// Live tells that there is a continuous analysis. Else there are only Tasks.
	Live bool
	// Recording tells that the analysis goes on, and Panics how often an observer of it has
	// panicked.
	Recording bool
	Panics    int
	// Procs is the largest GOMAXPROCS so far; 0 if it is not known.
	Procs int
	// Wall is the time of the analysis, by estimate, and Idle the part of it in which nothing
	// ran: the shares of all groups and Idle sum to Wall, but for the nanoseconds by which
	// rounded shares may shrink.
	Wall, Idle time.Duration
	// Seen is how much of it was seen, in Bursts of tracing: all else is estimated from that.
	Seen   time.Duration
	Bursts int64
	// Groups are sorted by name and kind.
	Groups []Group
	// Contention is sorted by kind.
	Contention []Contention
	// Stream tells what the analysis has cost, and what it dropped.
	Stream Stream
	// Tasks are sorted by class; none if no task was measured.
	Tasks []Tasks

	exemplars map[exemplarKey]*Exemplar
}

// Group is a box of the bottle graph, summed up over time.
type Group struct {
	Name, Kind               string
	Share, Running, Runnable time.Duration
	InC                      time.Duration // in C code; part of it is in Running
	// Blocked is by reason, sorted; only what is not 0.
	Blocked []Part
}

// Part is a part of a time.
type Part struct {
	Name string
	Time time.Duration
}

// Contention is what was waited for locks, channels and so on, of one kind.
type Contention struct {
	Kind string
	// Contentions is how often, and the times, which sum to what was waited, whose it was: that
	// of a known owner, of the hand-off from one owner to the next, or not known. Ready
	// followed it, until there was a processor.
	Contentions                   int64
	Blamed, HandOff, Unattributed time.Duration
	Ready                         time.Duration
}

// Stream is what the reading of the trace has cost, and dropped.
type Stream struct {
	Generations, Bytes int64
	CPU                time.Duration
	// Dropped is by reason, sorted; all reasons, also those for which nothing was dropped.
	Dropped []Dropped
}

// Dropped is what was dropped for one reason.
type Dropped struct {
	Reason             string
	Generations, Bytes int64
	Time               time.Duration
}

// Tasks is how many tasks of a class there were, and how large they are in reference cycles.
type Tasks struct {
	Class string
	// Buckets are the tasks up to each of TaskBounds, cumulated.
	Buckets []uint64
	Count   uint64
	// Cycles is the sum.
	Cycles float64
}

// TaskBounds are the upper bounds of the buckets of task sizes, in cycles: powers of 4, from 0.1 µs
// to half a minute at 2 GHz. A bucket of a [granularity.Histogram] that lies across a bound, 1.6 %
// wide, counts as above it.
var TaskBounds = func() (bounds []float64) {
	for b := 256.0; b <= 1<<36; b *= 4 {
		bounds = append(bounds, b)
	}
	return bounds
}()
