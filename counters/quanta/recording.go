// Package quanta converts a trace, or an archive of counters, to a table with a row for each
// scheduling quantum, an interval in which a goroutine ran without a break, with its counts.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/counters/quanta"
//	)
//
//	func main() {
//		rec, err := quanta.ReadFile(context.Background(), "work.zip", quanta.Options{})
//		if rec == nil {
//			log.Fatal(err) // nothing could be read; else err says what is missing
//		}
//		if faults := rec.Counter("minor-faults"); faults != nil { // see also rec.Warnings
//			for i, group := range rec.Group {
//				fmt.Println(rec.Groups[group].Name, rec.Duration[i], faults.Values[i])
//			}
//		}
//	}
//
// The quanta are those of an execution trace. A goroutine is running, or in a system call that
// still holds its P, as in a bottle graph, so the durations sum to the graph's running time. An
// event that the kernel records individually belongs to the quantum that its thread executed at
// that time ([Exact]). Faster counters, such as cycles, are read each millisecond of a thread's
// time and, if permitted, at its switches; they are divided by overlap with the time on a processor
// ([Interpolated]). Levels of the heap are the latest in the trace ([Observed]).
//
// For each counter, the known values and [Counter].Remainder sum to [Counter].Total, the kernel's
// count over all threads. Unknown values are [Unknown], never zero. The accuracy was measured:
// TestFaultsOfAlternatingGoroutines and TestUniformCounters in package counters.
//
// A row takes about 100 bytes and 0.3 µs, a third of the time for reading the trace
// (BenchmarkObserver).
package quanta

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Unknown is the value of a counter in a quantum for which it is unknown. It never counts as zero.
const Unknown = math.MinInt64

// Recording is a table with one row for each scheduling quantum, an interval in which a goroutine
// ran without a break. It consists of columns of the same length, in the order of Begin. In JSON,
// it has the same fields, with times in nanoseconds.
type Recording struct {
	Name string `json:"name"` // for people: a file's name, a command
	// GoVersion is the Go version of the recorded program, and Procs its largest GOMAXPROCS; "" and
	// 0 if unknown.
	GoVersion string        `json:"go_version"`
	Procs     int           `json:"procs"`
	Start     time.Time     `json:"start,omitzero"` // wall-clock time; zero if unknown
	Wall      time.Duration `json:"wall"`           // length of the recording

	// The columns of a row.
	Goroutine []int64  `json:"goroutine,omitempty"`
	Group     []int32  `json:"group,omitempty"`    // index into Groups
	Thread    []int64  `json:"thread,omitempty"`   // of the operating system, −1 if unknown
	Proc      []int32  `json:"proc,omitempty"`     // the P, −1 if unknown
	Begin     []int64  `json:"begin,omitempty"`    // ns from the beginning of the recording
	Duration  []int64  `json:"duration,omitempty"` // ns
	Ending    []Ending `json:"ended,omitempty"`
	// Wait is the reason, if Ending is Blocked, SyscallBlocked or InC.
	Wait []timeline.Wait `json:"wait,omitempty"`
	// Func is an index into Funcs: the top function at the end; 0 if unknown.
	Func []int32 `json:"func,omitempty"`
	// Caller is an index into Funcs: the caller of Func; 0 if unknown. It is empty if no caller is
	// known.
	Caller []int32 `json:"caller,omitempty"`

	// Groups and Funcs are the names to which columns refer. Funcs[0] is "".
	Groups []Group  `json:"groups,omitempty"`
	Funcs  []string `json:"funcs,omitempty"`

	// Counters are additional columns: counts during each quantum, or levels at its end.
	Counters []Counter `json:"counters"`
	// Markers and Spans are events besides the quanta, in the order of time.
	Markers []Marker `json:"markers,omitempty"`
	Spans   []Span   `json:"spans,omitempty"`
	// Warnings are full sentences about the reliability of the numbers, and about the counters that
	// were refused, with the reason.
	Warnings []string `json:"warnings,omitempty"`
}

// Len returns the number of quanta.
func (r *Recording) Len() int { return len(r.Begin) }

// Counter returns the counter with the name, or nil.
func (r *Recording) Counter(name string) *Counter {
	i := slices.IndexFunc(r.Counters, func(c Counter) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Counters[i]
}

// CheckValid returns an error if a recording is not a valid table: columns of different lengths,
// names that do not exist, rows out of order, negative durations.
func (r *Recording) CheckValid() error {
	n := r.Len()
	if n > math.MaxInt32 {
		return fmt.Errorf("%d rows are more than %d", n, math.MaxInt32)
	}
	var err error
	column := func(name string, rows int) {
		if err == nil && rows != n {
			err = fmt.Errorf("column %s has %d rows, column Begin %d", name, rows, n)
		}
	}
	for _, c := range []struct {
		name string
		rows int
	}{
		{"Goroutine", len(r.Goroutine)}, {"Group", len(r.Group)}, {"Thread", len(r.Thread)}, {"Proc", len(r.Proc)}, {"Duration", len(r.Duration)},
		{"Ending", len(r.Ending)}, {"Wait", len(r.Wait)}, {"Func", len(r.Func)}, {"Caller", cmp.Or(len(r.Caller), n)},
	} {
		column(c.name, c.rows)
	}
	for i := range r.Counters {
		column("counter "+strconv.Quote(r.Counters[i].Name), len(r.Counters[i].Values))
	}
	if err == nil && r.Wall < 0 {
		err = errors.New("the wall time is negative")
	}
	if err != nil {
		return err
	}
	function := func(i int32) bool { return i == 0 || i > 0 && int(i) < len(r.Funcs) }
	for row := range n {
		switch {
		case int(r.Group[row]) < 0 || int(r.Group[row]) >= len(r.Groups):
			return fmt.Errorf("row %d: unknown group %d", row, r.Group[row])
		case !function(r.Func[row]):
			return fmt.Errorf("row %d: unknown function %d", row, r.Func[row])
		case len(r.Caller) > 0 && !function(r.Caller[row]):
			return fmt.Errorf("row %d: unknown function %d", row, r.Caller[row])
		case r.Duration[row] < 0 || r.Begin[row] > math.MaxInt64-r.Duration[row]:
			return fmt.Errorf("row %d: duration is out of range: %d", row, r.Duration[row])
		case row > 0 && r.Begin[row] < r.Begin[row-1]:
			return fmt.Errorf("row %d begins before row %d", row, row-1)
		}
	}
	return nil
}

// values are the values of a counter by row. In JSON, Unknown is null.
type values []int64

// MarshalJSON writes an array of numbers and null.
func (v values) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 2+8*len(v)), '[')
	for i, n := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if n == Unknown {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, n, 10)
		}
	}
	return append(b, ']'), nil
}

// Group names goroutines that belong together.
type Group struct {
	Name string        `json:"name"`
	Kind timeline.Kind `json:"kind"`
}

// Counter is a column of a Recording.
type Counter struct {
	Name  string `json:"name"`  // short and lower case: "cycles", "minor-faults", "heap-objects"
	Unit  string `json:"unit"`  // "" for a plain count, or "ns" or "bytes"
	Level bool   `json:"level"` // the values are levels at the end of the quantum, not changes during it
	// Source is the origin of the values, and Accuracy their reliability for a single quantum:
	// Exact, Interpolated or Observed.
	Source   string `json:"source"`
	Accuracy string `json:"accuracy"`
	// Values has one value per row: the change during the quantum, the level, or Unknown.
	Values values `json:"values,omitempty"`
	// Total is the total count of the recording, and Remainder its part in no quantum: the known
	// Values and Remainder sum to Total. Both are 0 for levels.
	Total     int64 `json:"total"`
	Remainder int64 `json:"remainder"`
}

// The accuracies of counters.
const (
	Exact        = "exact"        // counted, event by event, for the quantum
	Interpolated = "interpolated" // counted over a longer interval of the thread, divided by overlap
	Observed     = "observed"     // a level: the latest in the trace
)

// Ending is the way in which a quantum ended.
type Ending uint8

// The endings of quanta.
const (
	OtherEnding    Ending = iota // unknown
	Blocked                      // waited for something: see Recording.Wait
	SyscallBlocked               // a system call lost its processor
	Yielded                      // runtime.Gosched
	Preempted                    // the time slice was over, or the world was stopped
	Exited                       // the goroutine ended
	Cut                          // the recording ended
	InC                          // continued in C code on its own thread; its P was taken
)

var endingNames = [...]string{"other", "blocked", "syscall", "yielded", "preempted", "exited", "cut", "in-c"}

// String returns the name of the ending in the filter language: "blocked", "preempted".
func (e Ending) String() string {
	if int(e) < len(endingNames) {
		return endingNames[e]
	}
	return endingNames[OtherEnding]
}

// MarshalText returns the name.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses a name. An unknown name, as of a later version, becomes OtherEnding.
func (e *Ending) UnmarshalText(name []byte) error {
	*e = Ending(max(0, slices.Index(endingNames[:], string(name))))
	return nil
}

// Endings returns all endings.
func Endings() []Ending {
	all := make([]Ending, len(endingNames))
	for i := range all {
		all[i] = Ending(i)
	}
	return all
}

// Marker is a point in time that the program named: see counters.Mark.
type Marker struct {
	Time      int64  `json:"time"`      // ns from the beginning of the recording
	Goroutine int64  `json:"goroutine"` // 0 if unknown
	Text      string `json:"text"`
}

// Span is an interval of the whole program, such as a collection's mark phase.
type Span struct {
	Name  string `json:"name"`  // as in the trace: "GC concurrent mark phase", "stop-the-world (…)"
	Begin int64  `json:"begin"` // ns from the beginning of the recording
	End   int64  `json:"end"`   // likewise
}
