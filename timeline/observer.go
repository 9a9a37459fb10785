package timeline

import "time"

// Observer receives the events of a trace in the order of time, one call at a time. The arguments
// are valid only during the call: an observer copies what it needs. Embed [Base] to implement only
// some of the methods.
//
// Times never decrease from call to call.
type Observer interface {
	// Begin is called first, with the first instant of the trace. Then each goroutine that
	// already existed is shown by a Transition from Unknown.
	Begin(*Begin)
	// Transition: a goroutine changed its state; the interval of the old state is complete.
	Transition(*Transition)
	// Named: a goroutine that was already shown got its name (Goroutine.Func) or a better one.
	Named(*Goroutine, Time)
	// Label: the runtime labeled the work of a goroutine. Goroutine.Label has already changed;
	// it is "" at the end of that work.
	Label(*Goroutine, Time)
	// Range: a range of the runtime began or ended: a mark phase, a sweep, a mark assist or a
	// stop-the-world.
	Range(*Range)
	// Region: a user region began or ended. Goroutine.Regions has already changed.
	Region(*RegionEvent)
	// Task: a user task began or ended.
	Task(*Task)
	// Log: the program called runtime/trace.Log.
	Log(*Log)
	// Metric: a metric of the runtime changed.
	Metric(*Metric)
	// Sample: a sample of the CPU profiler.
	Sample(*Sample)
	// Clock relates the clock of the trace to others, once per generation (Go 1.25 and later).
	Clock(*Clock)
	// Gap: nothing is known about an interval of time. Only a [Stream] has gaps.
	Gap(*Gap)
	// End is called last, after each live goroutine was shown by a Transition to Unknown.
	End(*End)
}

// Base is an Observer that ignores everything. It is meant to be embedded.
type Base struct{}

var _ Observer = Base{}

// The methods of Base do nothing.
func (Base) Begin(*Begin)           {}
func (Base) Transition(*Transition) {}
func (Base) Named(*Goroutine, Time) {}
func (Base) Label(*Goroutine, Time) {}
func (Base) Range(*Range)           {}
func (Base) Region(*RegionEvent)    {}
func (Base) Task(*Task)             {}
func (Base) Log(*Log)               {}
func (Base) Metric(*Metric)         {}
func (Base) Sample(*Sample)         {}
func (Base) Clock(*Clock)           {}
func (Base) Gap(*Gap)               {}
func (Base) End(*End)               {}

// Begin is the first instant of a trace.
type Begin struct {
	Time Time
	// Version is the version of the trace format: 22 for Go 1.22.
	Version int
}

// End is the last instant of a trace.
type End struct {
	Time Time
}

// Gap is an interval of a live trace without data, because whole generations were dropped or
// because no trace was running. Before it, each live goroutine is shown by a Transition to Unknown
// at From. After it, those that still exist are shown by a Transition from Unknown at To, as at the
// beginning of a trace: with a new Index and a new *Goroutine, but with the same name and creator.
// Open ranges, regions and tasks are discarded without an end.
type Gap struct {
	From, To    Time
	Generations int   // dropped
	Bytes       int64 // of these generations
}

// Interval is an interval of time that a goroutine spent in one state.
type Interval struct {
	G          *Goroutine
	State      State
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

// Transition is a change of a goroutine from the state of its Interval, which ends here, to the
// state To. The state of G is already To.
type Transition struct {
	Interval
	To State
}

// MarkPhase is the name of the range between the two pauses of a garbage collection.
const MarkPhase = "GC concurrent mark phase"

// Range is the beginning or the end of a range of the runtime.
type Range struct {
	Time  Time
	Name  string // such as "GC mark assist" or "stop-the-world (GC sweep termination)"
	Begin bool
	Start Time // when the range began; the beginning of the trace if the range is older
	// OfG: the range belongs to G. Otherwise, G is the executing goroutine, or nil, and the range
	// belongs to the P, or to the whole program if Proc is −1.
	OfG   bool
	G     *Goroutine
	Proc  int32
	Stack *Stack // where a range of a goroutine began, or nil
	// Stopped: the clock is stopped at this time. See [Part].
	Stopped bool
}

// RegionEvent is the beginning or the end of a user region.
type RegionEvent struct {
	Time   Time
	G      *Goroutine
	Region Region // Start is 0 at the end of a region that began before the trace
	Begin  bool
	Stack  *Stack
}

// Task is the beginning or the end of a user task (runtime/trace.NewTask).
type Task struct {
	Time     Time
	G        *Goroutine
	ID       uint64
	ParentID uint64 // 0 if there is none or it is unknown
	Type     string // "" at the end of a task that began before the trace
	Begin    bool
	Start    Time // 0 if the task began before the trace
	Stack    *Stack
}

// Log is a message of runtime/trace.Log.
type Log struct {
	Time              Time
	G                 *Goroutine
	TaskID            uint64
	Category, Message string
	Stack             *Stack
}

// Metric is a new value of a metric, named as in runtime/metrics.
type Metric struct {
	Time  Time
	Name  string
	Value uint64
	// Stopped: the clock is stopped at this time. See [Part].
	Stopped bool
}

// Sample is a sample of the CPU profiler. It may slightly contradict the
// states around it.
type Sample struct {
	Time   Time
	G      *Goroutine // nil if no goroutine was running
	Thread int64      // −1 if unknown
	Proc   int32      // −1 if unknown
	Stack  *Stack
}

// Clock is a near-simultaneous reading of three clocks.
type Clock struct {
	Trace Time
	Mono  uint64 // ns, the monotonic clock of the operating system
	Wall  time.Time
}
