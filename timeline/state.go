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

	numStates
)

var stateNames = [numStates]string{
	"unknown", "not-exist", "runnable", "running", "syscall", "syscall-blocked", "waiting",
}

// String returns the name of a state, such as "running".
func (s State) String() string {
	if s < numStates {
		return stateNames[s]
	}
	return "other"
}

// OnProc reports whether a goroutine in the state occupies a P: running, or in
// a system call that still holds its P. No more goroutines than GOMAXPROCS do.
func (s State) OnProc() bool { return s == Running || s == Syscall }

// Alive reports whether a goroutine in the state exists and is part of the trace.
func (s State) Alive() bool { return s > NotExist && s < numStates }
