// Package ledger accounts for the capacity of a program's processors.
//
// A program with GOMAXPROCS processors has a capacity of GOMAXPROCS × wall time. The ledger books
// every nanosecond of it once: to the code that ran, to the collector, or to the reason why a
// processor had nothing to run. The rows sum to the capacity exactly:
//
//	Σ Row.Time == Capacity == ∫ GOMAXPROCS dt
//
// This program prints the ledger of a trace:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantVerdict}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for i := range r.Ledger.Rows {
//			fmt.Println(r.Ledger.Rows[i].Time, r.Ledger.Rows[i].String())
//		}
//	}
//
// No event gives a reason while a processor has nothing to run. The ledger books such a gap to what
// ended it: the goroutine that ran next on the processor, what and where it had waited, and what
// woke it. The part of the gap in which that goroutine was ready is wake-up latency. If others ran
// during the gap, and the goroutine has little to do, they explain the gap: the row has no group.
//
// An [Observer] takes about 25 ns per event (BenchmarkObserver). Memory grows with the live
// goroutines and the distinct rows, of which there are at most 16,384. A trace does not show when
// the operating system preempts a thread, or whether a running goroutine makes progress.
package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The categories: what a processor did.
const (
	Code      = "code"      // goroutines of the program ran Go code
	C         = "c"         // goroutines of the program ran C code
	Syscall   = "syscall"   // a system call held the processor, such as one that starts a command
	GCWorker  = "gc-worker" // mark workers of the collector and its other goroutines
	GCAssist  = "gc-assist" // goroutines of the program marked for the collector, to pay for allocations
	GCSweep   = "gc-sweep"  // goroutines of the program swept, to pay for allocations
	GCStop    = "gc-stop"   // the collector had stopped the world
	Tracer    = "tracer"    // the execution tracer and this module's goroutines
	Runtime   = "runtime"   // other goroutines of the runtime; the world stopped for other reasons
	Scheduler = "scheduler" // briefly between two goroutines; the next one, or others, were ready
	WakeUp    = "wake-up"   // nothing ran, though the goroutine that ran next was ready
	Idle      = "idle"      // nothing to run until a goroutine made another one ready
	Outside   = "outside"   // nothing to run until a timer, the network or the operating system made a goroutine ready
	NoWork    = "no-work"   // nothing to run until the end
)

// Categories returns all categories, starting with those in which goroutines run.
func Categories() []string {
	return []string{Code, C, Syscall, GCWorker, GCAssist, GCSweep, GCStop, Tracer, Runtime, Scheduler, WakeUp, Idle, Outside, NoWork}
}

// Values of Row.Beside that do not name a group of goroutines.
const (
	None    = "none"
	Several = "several"
	others  = "(others)"
)

// Row is a part of the capacity.
type Row struct {
	Category string `json:"category"`
	// Group is the name of the goroutines that ran. For an empty processor, it is the name of
	// those that ran next.
	Group string `json:"group,omitempty"`
	// Site is the innermost frame outside the standard library. For an empty processor it is
	// where the goroutine that ran next had waited, or its go statement if it had just been
	// created.
	Site timeline.Place `json:"site,omitzero"`
	// Callers are the places of the program from which Site was called, innermost first. They
	// come from the call chain that accounts for most of Time, if there is one. Rows of less
	// than a thousandth of the capacity have callers only at go statements.
	Callers []timeline.Place `json:"callers,omitempty"`
	// Callee is the function that Site called, for system calls and waits for them, such as
	// os.(*File).Sync, for yields, such as runtime.GC, and for code that is Shared. It comes
	// from the call chain that accounts for most of Time.
	Callee string `json:"callee,omitempty"`
	// Call is the system call of that call chain, as package syscall, or the package of
	// golang.org/x/sys, names it, in lower case: "read", "getdents", "createfile".
	Call string `json:"call,omitempty"`
	// Wait is what the goroutine that ran next had waited for, as in timeline.Wait. For code,
	// it is the kind of lock whose methods contained samples of the CPU profiler: goroutines
	// spun for the lock or woke others.
	Wait string `json:"wait,omitempty"`
	// Waker is the name of the goroutine that made it ready, "" if there was none. WakerSite is
	// the place.
	Waker     string         `json:"waker,omitempty"`
	WakerSite timeline.Place `json:"waker_site,omitzero"`
	// All reports whether what woke it woke all that waited, as sync.Cond.Broadcast does.
	All bool `json:"all,omitempty"`
	// Beside is the name of the goroutines that ran on other processors while this one was
	// empty: [None], a name if all had the same, or [Several].
	Beside string `json:"beside,omitempty"`
	// Time is in ns·processors.
	Time time.Duration `json:"time"`
	// Count is the number of slices in which goroutines ran or the processor was empty.
	Count int64 `json:"count"`
	// Queue is the time, in ns·goroutines, in which other goroutines were ready but all
	// processors were in use. Each slice gets its share.
	Queue time.Duration `json:"queue,omitempty"`
	// Shared is the part of Time, of code, in which the innermost call of goroutines that ran
	// until they were preempted was an atomic operation or that of a reader of an RWMutex, or in
	// which they were preempted in a select.
	Shared time.Duration `json:"shared,omitempty"`
	// Locked is the part of Time, of a processor that was empty while others ran, in which
	// goroutines waited for a Mutex or RWMutex. It is exact for a gap, and in proportion for
	// the rows that share one.
	Locked time.Duration `json:"locked,omitempty"`
	// Sampled reports whether the time of the group was divided among sites by samples of the
	// CPU profiler. Otherwise each slice counts for the place where it ended.
	Sampled bool `json:"sampled,omitempty"`
	// Calls is the call chain of Site, and WakerCalls that of WakerSite, for rows of
	// [Ledger].Stacks; nil if unknown.
	Calls      *timeline.Stack `json:"-"`
	WakerCalls *timeline.Stack `json:"-"`
}

// String describes the row, without its time.
func (r *Row) String() string {
	s := r.Category
	if r.Group != "" {
		s += " " + format.Func(r.Group)
	}
	if r.Site.Func != "" {
		s += " at " + r.Site.String()
	}
	switch {
	case r.Wait == "":
	case r.Empty():
		s += ", after " + r.Wait
	default:
		s += ", in " + r.Wait
	}
	if r.Waker != "" {
		s += ", woken by " + format.Func(r.Waker)
		if r.WakerSite.Func != "" {
			s += " at " + r.WakerSite.String()
		}
	}
	if r.Beside != "" {
		s += "; while " + format.Func(r.Beside) + " ran"
	}
	return s
}

// Used reports whether the program's own work occupied the processor.
func (r *Row) Used() bool {
	return r.Category == Code || r.Category == C || r.Category == Syscall
}

// Empty reports whether the processor had nothing to run.
func (r *Row) Empty() bool {
	switch r.Category {
	case Scheduler, WakeUp, Idle, Outside, NoWork:
		return true
	}
	return false
}

// lost returns the row's time, or 0 if the program's own work occupied the processor.
func (r *Row) lost() time.Duration {
	if r.Used() {
		return 0
	}
	return r.Time
}

// name is the part of a row that identifies it.
type name struct {
	category, group, wait, waker, beside string
	site, wakerSite                      timeline.Place
	sampled                              bool
}

func (r *Row) name() name {
	return name{r.Category, r.Group, r.Wait, r.Waker, r.Beside, r.Site, r.WakerSite, r.Sampled}
}

// Ledger accounts for the capacity of a program's processors. Times are in ns·processors unless
// noted otherwise.
type Ledger struct {
	Start time.Duration `json:"start"` // from the beginning of the trace, ns
	Wall  time.Duration `json:"wall"`  // ns
	// Procs is the largest GOMAXPROCS. Capacity is the integral of GOMAXPROCS over the time.
	Procs    int           `json:"procs"`
	Capacity time.Duration `json:"capacity"`
	// Rows sum to Capacity, largest first.
	Rows []Row `json:"rows"`
	// Stacks divide the lost rows (all but code, C code and system calls) by call chain,
	// largest first, with Count and Queue 0. They are set only with [Options.Stacks] and are not
	// part of the JSON form.
	Stacks []Row `json:"-"`
	// Queue is the time in ns·goroutines in which goroutines were ready while all processors
	// were in use, without those of the tracer and the runtime. Queued is the time in ns in
	// which there was at least one such goroutine.
	Queue  time.Duration `json:"queue"`
	Queued time.Duration `json:"queued"`
	// Offered is the time in ns by number of running and ready goroutines, starting at 0. The
	// last element holds all larger numbers.
	Offered []time.Duration `json:"offered,omitempty"`
	// Born is the number of goroutines of the program that were started. Slices is how often a
	// goroutine began to run.
	Born   int64 `json:"born"`
	Slices int64 `json:"slices"`
	// Pinned are the names of goroutines that waited at least 1,000 times in a row on the same
	// thread, which ran nothing else in between, as after runtime.LockOSThread.
	Pinned []string `json:"pinned,omitempty"`
	// Heap is nil if the collector did not run.
	Heap *Heap `json:"heap,omitempty"`
	// Instances is the number of ledgers merged into this one; 0 if it is not a merge.
	Instances int `json:"instances,omitempty"`
	// Warnings are sentences about the limits of the ledger.
	Warnings []string `json:"warnings,omitempty"`
	// Verdict is what limits the program, if bottleneck.Analyze made the ledger.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

// CheckValid returns an error if the ledger contradicts itself.
func (l *Ledger) CheckValid() error {
	if slices.Min(append([]time.Duration{l.Start, l.Wall, l.Capacity, l.Queue, l.Queued}, l.Offered...)) < 0 {
		return errors.New("ledger: a time is negative")
	}
	h := cmp.Or(l.Heap, &Heap{})
	if slices.Min([]int64{int64(l.Procs), int64(l.Instances), l.Born, l.Slices, h.Collections, h.Allocated, h.Live, h.Peak}) < 0 {
		return errors.New("ledger: a number is negative")
	}
	left := l.Capacity
	for i := range l.Rows {
		r := &l.Rows[i]
		if r.Time < 0 || r.Count < 0 || r.Queue < 0 || r.Shared < 0 || r.Locked < 0 {
			return fmt.Errorf("ledger: row %d (%s %s) is negative", i, r.Category, format.Clean(r.Group))
		}
		if !slices.Contains(Categories(), r.Category) {
			return fmt.Errorf("ledger: row %d: unknown category %q", i, r.Category)
		}
		if r.Time > left {
			return fmt.Errorf("ledger: the rows sum to more than the capacity, which is %d ns", l.Capacity)
		}
		left -= r.Time
	}
	if left > 0 {
		return fmt.Errorf("ledger: the rows sum to %d ns less than the capacity, which is %d ns", left, l.Capacity)
	}
	if l.Verdict == nil {
		return nil
	}
	for i := range l.Verdict.Findings {
		if slices.ContainsFunc(l.Verdict.Findings[i].Rows, func(row int) bool { return row >= len(l.Rows) }) {
			return fmt.Errorf("ledger: finding %d of the verdict is about a row that is not there", i+1)
		}
	}
	return l.Verdict.CheckValid()
}

// Sum returns the time of the rows for which keep returns true.
func (l *Ledger) Sum(keep func(*Row) bool) (sum time.Duration) {
	for i := range l.Rows {
		if keep(&l.Rows[i]) {
			sum += l.Rows[i].Time
		}
	}
	return sum
}

// Of returns the time of a category.
func (l *Ledger) Of(category string) time.Duration {
	return l.Sum(func(r *Row) bool { return r.Category == category })
}

// WriteJSON writes the ledger as one JSON object: its exported fields, with times in nanoseconds.
func WriteJSON(w io.Writer, l *Ledger) error {
	if l == nil {
		return errors.New("ledger: no ledger")
	}
	out := *l
	if out.Rows == nil {
		out.Rows = []Row{} // never null: ReadJSON requires it
	}
	return format.WriteJSON(w, "ledger", &out)
}

// ReadJSON reads a ledger that WriteJSON wrote. It returns an error if the ledger is not valid.
func ReadJSON(r io.Reader) (*Ledger, error) {
	l := &Ledger{}
	err := json.NewDecoder(r).Decode(l)
	switch {
	case err != nil:
		err = format.ExplainJSON(err, "capacity and rows")
	case l.Rows == nil:
		err = errors.New("this is no ledger: rows is missing")
	default:
		if err := l.CheckValid(); err != nil {
			return nil, err
		}
		return l, nil
	}
	return nil, fmt.Errorf("ledger: reading JSON: %w", err)
}
