package timeline

// State is the state of a goroutine between two transitions.
type State uint8

// The states of a goroutine.
const (
	// Unknown is the state before the trace begins and after it ends.
	Unknown State = iota
	// NotExist is the state before the birth and after the exit.
	NotExist
	// Runnable: ready, but without a processor (P).
	Runnable
	// Running: executing Go code on a P. The operating system may still have
	// taken the thread off its core: the trace does not show that.
	Running
	// Syscall: in a system call, still holding its P.
	Syscall
	// SyscallBlocked: in a system call that lost its P, or never had one.
	SyscallBlocked
	// Waiting: blocked in the Go runtime; Wait tells for what.
	Waiting
	// InC: in a C function that Go called, still holding its P. The scheduler takes C code for
	// a system call; see c.go.
	InC
	// InCDetached: in a C function, on a thread of its own; the P was taken, and another
	// processor is free for the thread as far as the scheduler shows.
	InCDetached
	// InCUncounted: likewise, but no processor is free: others run on all of them.
	InCUncounted

	numStates
)

var stateNames = [numStates]string{
	"unknown", "not-exist", "runnable", "running", "syscall", "syscall-blocked", "waiting", "in-c", "in-c-detached", "in-c-uncounted",
}

// String returns the name of a state, such as "running".
func (s State) String() string {
	if s < numStates {
		return stateNames[s]
	}
	return "other"
}

// onProcs is the set of states in which a goroutine occupies a P.
const onProcs = 1<<Running | 1<<Syscall | 1<<InC

// OnProc reports whether a goroutine in the state occupies a P: running, or in
// a system call or a C function that still holds its P. No more goroutines than GOMAXPROCS do.
func (s State) OnProc() bool { return onProcs>>s&1 != 0 }

// Runs reports whether a goroutine in the state counts as running: it occupies a P, or is
// InCDetached. No more goroutines than GOMAXPROCS do.
func (s State) Runs() bool { return (onProcs|1<<InCDetached)>>s&1 != 0 }

// IsC reports whether a goroutine in the state is in a C function: it computes there or waits,
// which a trace does not show.
func (s State) IsC() bool { return s == InC || s == InCDetached || s == InCUncounted }

// Alive reports whether a goroutine in the state exists and is part of the trace.
func (s State) Alive() bool { return s > NotExist && s < numStates }
