package timeline

import "time"

// Observer receives the events of a trace in the order of time, one call at a time. The arguments
// are valid only during the call: an observer copies what it needs. Embed [Base] to implement only
// some of the methods.
//
// Times never decrease from call to call.
type Observer interface {
	// Begin is called first, with the first instant of the trace and the version of its format:
	// 22 for Go 1.22. Then each goroutine that already existed is shown by a Transition from
	// Unknown.
	Begin(t Time, version int)
	// Transition: a goroutine changed its state; the interval of the old state is complete.
	Transition(*Transition)
	// Named: a goroutine that was already shown got its name (Goroutine.Func) or a better one.
	Named(*Goroutine, Time)
	// Label: the runtime labeled the work of a goroutine. Goroutine.Label has already changed;
	// it is "" at the end of that work.
	Label(*Goroutine, Time)
	// Range: a range of the runtime began or ended: a mark phase, a sweep, a mark assist or a
	// stop-the-world.
	Range(*Span)
	// Region: a user region began or ended. Goroutine.Regions has already changed.
	Region(*Span)
	// Task: a user task (runtime/trace.NewTask) began or ended.
	Task(*Span)
	// Log: the program called runtime/trace.Log.
	Log(*Log)
	// Metric: a metric, named as in runtime/metrics, has a new value. If stopped, the clock is
	// stopped at this time: see [Options].
	Metric(t Time, name string, value uint64, stopped bool)
	// Sample: a sample of the CPU profiler, which may slightly contradict the states around it. g is
	// nil if no goroutine was running.
	Sample(t Time, g *Goroutine, stack *Stack)
	// Clock relates the clock of the trace to the monotonic clock of the operating system, in
	// ns, and to wall time, once per generation (Go 1.25 and later).
	Clock(t Time, mono uint64, wall time.Time)
	// Gap: a live trace has no data between two times, because whole generations were dropped
	// or because no trace was running. Only a [Stream] has gaps. Before the call, each live
	// goroutine is shown by a Transition to Unknown at from. After it, those that still exist
	// are shown by a Transition from Unknown at to, as at the beginning of a trace: with a new
	// Index and a new *Goroutine, but with the same name and creator. Open ranges, regions and
	// tasks are discarded without an end.
	Gap(from, to Time)
	// End is called last, with the last instant of the trace, after each live goroutine was
	// shown by a Transition to Unknown.
	End(Time)
}

// Base is an Observer that ignores everything. It is meant to be embedded.
type Base struct{}

var _ Observer = Base{}

// The methods of Base do nothing.
func (Base) Begin(Time, int)                   {}
func (Base) Transition(*Transition)            {}
func (Base) Named(*Goroutine, Time)            {}
func (Base) Label(*Goroutine, Time)            {}
func (Base) Range(*Span)                       {}
func (Base) Region(*Span)                      {}
func (Base) Task(*Span)                        {}
func (Base) Log(*Log)                          {}
func (Base) Metric(Time, string, uint64, bool) {}
func (Base) Sample(Time, *Goroutine, *Stack)   {}
func (Base) Clock(Time, uint64, time.Time)     {}
func (Base) Gap(from, to Time)                 {}
func (Base) End(Time)                          {}

// Transition is a change of a goroutine to the state To. It completes the interval of time that the
// goroutine spent in State. The state of G is already To.
type Transition struct {
	G          *Goroutine
	State, To  State
	Start, End Time
	// Wait is what the goroutine waited for in the states Waiting, SyscallBlocked and Syscall;
	// for Runnable, it is what it waited for before it became ready.
	Wait Wait
	// Reason is the runtime's reason for the beginning of the state, such as "sync" or
	// "preempted".
	Reason string
	// Stack is where the goroutine blocked, entered the system call or was stopped. It is nil
	// if the trace has no call chain.
	Stack *Stack
	// Waker is the goroutine that ended the interval: its Unlock, send or close made a Waiting
	// goroutine ready. It is nil for timers, the network poller, and all other endings.
	Waker *Goroutine
	// WakerStack is the waker's call chain.
	WakerStack *Stack
	// Thread is the operating system thread (its ID on Linux) and Proc the P, in the states
	// Running and Syscall. Each is −1 if there is none or it is unknown.
	Thread int64
	Proc   int32
}

// MarkPhase is the name of the range between the two pauses of a garbage collection.
const MarkPhase = "GC concurrent mark phase"

// Span is the beginning or the end of a range of the runtime, a user region or a user task.
type Span struct {
	Time  Time
	Begin bool
	// Start is when it began. If it is older than the trace, that is the beginning of the trace
	// for a range, and otherwise 0.
	Start Time
	// Name is the name of a range, such as "GC mark assist" or "stop-the-world (GC sweep
	// termination)", or the type of a region or task: "" at the end of a task that began before
	// the trace.
	Name string
	// G is the executing goroutine, or nil.
	G     *Goroutine
	Stack *Stack // nil if unknown; of a range of a goroutine, where it began

	// OfG: a range belongs to G. Otherwise, it belongs to the P, or to the whole program if Proc
	// is −1. Stopped: the clock is stopped at this time; see [Options].
	OfG, Stopped bool
	Proc         int32
	// TaskID is the ID of a task, or of the task of a region; Task is the type of the latter, ""
	// if there is none or it is unknown. ParentID is that of a task, 0 if there is none or it is
	// unknown.
	TaskID, ParentID uint64
	Task             string
}

// Log is a message of runtime/trace.Log.
type Log struct {
	Time              Time
	G                 *Goroutine
	TaskID            uint64
	Category, Message string
	Stack             *Stack
}
