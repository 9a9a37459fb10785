package counters

import (
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Unknown stands for a counter's value in a quantum for which it is not known. It is
// never counted as zero.
const Unknown = math.MinInt64

// Recording is a table with one row for each scheduling quantum, a stretch of time for which a
// goroutine ran without a break, in columns of the same length, in the order of Begin.
type Recording struct {
	// Name is what people call the recording: a file's name, a command.
	Name string
	// GoVersion is that of the recorded program, Procs its largest GOMAXPROCS; "" and 0 if not
	// known.
	GoVersion string
	Procs     int
	// Start is when the recording began by the wall clock; zero if not known.
	Start time.Time
	// Wall is how long it took.
	Wall time.Duration

	// The columns of a row.
	Goroutine []int64
	Group     []int32 // index into Groups
	Thread    []int64 // the operating system's, −1 if not known
	Proc      []int32 // the P, −1 if not known
	Begin     []int64 // ns from the beginning of the recording
	Duration  []int64 // ns
	Ending    []Ending
	Wait      []timeline.Wait // what it blocked on, when Ending is Blocked, SyscallBlocked or InC
	Func      []int32         // index into Funcs: the function on top when the quantum ended; 0 when not known

	// Groups and Funcs are the names that columns refer to. Funcs[0] is "".
	Groups []Group
	Funcs  []string

	// Counters are more columns: what was counted during each quantum, or the level of
	// something then.
	Counters []Counter
	// Markers, Spans are what happened beside the quanta, in order of time.
	Markers []Marker
	Spans   []Span
	// Warnings says in full sentences what limits the trust in the numbers, and which counters
	// were refused, and why.
	Warnings []string
}

// Len returns the number of quanta.
func (r *Recording) Len() int { return len(r.Begin) }

// Group names goroutines that belong together.
type Group struct {
	Name string
	Kind timeline.Kind
}

// Counter is a column of a Recording.
type Counter struct {
	// Name is short and lower case: "cycles", "minor-faults", "heap-objects".
	Name string
	// Unit is "" for a plain count, else "ns", "bytes".
	Unit string
	// Level tells that the values are levels (as of a gauge) at the end of the quantum, not
	// changes during it.
	Level bool
	// Source says where the values come from, and Accuracy how far to trust them for a single
	// quantum.
	Source   string
	Accuracy Accuracy
	// Values has one value a row: the change during the quantum, or the level; or Unknown.
	Values []int64
	// Total is what was counted in all while the recording ran, and Remainder the part of
	// it that belongs to no quantum: the known Values and the Remainder sum to Total. Both are
	// 0 for levels.
	Total, Remainder int64
}

// Accuracy says how far to trust the value of a counter for a single quantum.
type Accuracy string

// The accuracies of counters.
const (
	// Exact values were counted, event by event, for the quantum they are given to.
	Exact Accuracy = "exact"
	// Interpolated values were counted over a longer stretch of the same thread and divided by
	// overlap.
	Interpolated Accuracy = "interpolated"
	// Observed levels are those that the trace told last.
	Observed Accuracy = "observed"
)

// Ending says how a quantum ended.
type Ending uint8

// The endings of quanta.
const (
	OtherEnding    Ending = iota // in a way that is not known
	Blocked                      // it waited for something: see Recording.Wait
	SyscallBlocked               // a system call lost its processor
	Yielded                      // runtime.Gosched
	Preempted                    // the time slice was over, or the world was stopped
	Exited                       // the goroutine ended
	Cut                          // the recording ended
	InC                          // it went on in C code, on a thread of its own; its processor was taken
)

// Marker is a point in time that the program named: see [Mark].
type Marker struct {
	Time      int64 // ns from the beginning of the recording
	Goroutine int64 // 0 if not known
	Text      string
}

// Span is a stretch of time of the whole program, such as a collection's mark phase.
type Span struct {
	Name       string // as in the trace: "GC concurrent mark phase", "stop-the-world (…)"
	Begin, End int64  // ns from the beginning of the recording
}
