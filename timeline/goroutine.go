package timeline

import "slices"

// Time is nanoseconds on the clock of the trace: the monotonic clock of the
// machine that wrote it (CLOCK_MONOTONIC on Linux, in steps of 64 ns).
type Time int64

// Kind is the part of the program that a goroutine works for.
type Kind uint8

// The kinds of goroutines.
const (
	Application Kind = iota // the program's
	GC                      // the garbage collector's: mark workers, sweeper, scavenger
	// Runtime is for other goroutines of the runtime, and background goroutines of the standard
	// library.
	Runtime
	Tracer // the execution tracer's, and those of this module's measurements

	numKinds
)

var kindNames = [numKinds]string{"application", "gc", "runtime", "tracer"}

// String returns the name of a kind, such as "application".
func (k Kind) String() string { return nameOf(kindNames[:], k) }

func nameOf[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "other"
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name. Unknown names, such as those of later versions, yield Application.
func (k *Kind) UnmarshalText(name []byte) error {
	*k = Kind(max(0, slices.Index(kindNames[:], string(name))))
	return nil
}

// Goroutine describes a goroutine, as known at the current point of the trace. The replay owns it:
// observers may read it during a call. After the goroutine has exited they must not keep the
// pointer, only its ID or Index.
type Goroutine struct {
	// ID is the runtime's goroutine ID. IDs are unique within a process, except that a C thread
	// calling into Go may reuse one. IDs >= 1<<52 are synthetic: they stand for coroutines
	// whose end is their only event in the trace.
	ID int64
	// Index is a small number, unique among live goroutines, that observers can use to index
	// tables. It is reused after the goroutine exits.
	Index int
	// Func is the name of the goroutine: the function of the program that it was started for.
	// That is the start function, unless the start function is a compiler-generated wrapper,
	// belongs to the standard library, or is a launcher, such as the worker of a pool. If no
	// such function is known, Func is the place of the go statement, as in "main.run:57 (go)",
	// or the outermost function in which it was stopped, or "" if nothing is known. Func may
	// change. See naming.go in this package for the rules.
	Func string
	// Start is the start function of the goroutine as the compiler names it: "main.run.gowrap1"
	// for the second "go f(x)" in run if f is a variable. It is "" until the trace shows it: a
	// goroutine that is older than the trace has to block first. The Start of a C thread is
	// runtime.cgocallback.
	Start string
	// Kind is derived from Start.
	Kind Kind

	ofC, wasInC bool // ofC: a C thread that called Go
	named       bool // its own call chains gave it the name
	varies      bool // it does several things
	renamed     bool // in a later generation than the first

	// By is where it was started, nil if unknown. Goroutines share it. See Creator.
	By *Creator
	// Extra has what few goroutines have; nil if it has nothing of that. See Label and Regions.
	Extra *extras

	cur   interval
	start *start // nil until Start is known
	basis *basis // of the name, if it may depend on more than Start
}

// Creator describes the go statement that started a goroutine.
type Creator struct {
	// ID is the ID of the goroutine that executed it, or 0 if that is unknown or there is none
	// (timers, callbacks from C). Func is the name that it had then.
	ID   int64
	Func string
	// Stack is the call chain of the statement, or nil if unknown.
	Stack *Stack
	// Task is the type of the user task in which it was executed: that of the innermost region,
	// or "" if there is none.
	Task string
}

// basis is what the name of a goroutine may depend on. Goroutines share it.
type basis struct {
	// root is the root of its call chains: Start, or the function called by a
	// compiler-generated wrapper; "" if unknown.
	root string
	site *Frame // the place where it was started; nil if unknown
}

// extras holds the fields that few goroutines need; there may be millions of goroutines.
type extras struct {
	// Label is the runtime's name of the current work of a mark worker, such as "GC
	// (dedicated)".
	Label string
	// Regions are the beginnings of the open regions (runtime/trace.Region), outermost first.
	Regions []Span

	ranges   []openRange
	launcher string // the launcher in which the goroutine is while it does nothing else
}

// extra returns g.Extra, which it allocates if necessary.
func (g *Goroutine) extra() *extras {
	if g.Extra == nil {
		g.Extra = &extras{}
	}
	return g.Extra
}

// interval is the current state of a goroutine, as a Transition will show it.
type interval struct {
	state  State
	wait   Wait
	proc   int32
	since  Time
	reason *string // nil if there is none
	stack  *Stack
	thread int64
}

type openRange struct {
	name  string
	proc  int32 // of a range of a processor, else −1
	start Time
}

// State returns the current state.
func (g *Goroutine) State() State { return g.cur.state }

// Since returns the time at which the current state began.
func (g *Goroutine) Since() Time { return g.cur.since }

// Wait returns what the goroutine waits for or, if it is Runnable, what it waited for before.
func (g *Goroutine) Wait() Wait { return g.cur.wait }

// Reason returns the runtime's reason for the beginning of the state; see [Transition].
func (g *Goroutine) Reason() string { return g.cur.why() }

func (i *interval) why() string {
	if i.reason == nil {
		return ""
	}
	return *i.reason
}

// Stack returns the call chain at the beginning of the current state, as [Transition].Stack will show
// it. It is nil if the trace has none.
func (g *Goroutine) Stack() *Stack { return g.cur.stack }

// Name returns Func, or "(unnamed)" if Func is empty.
func (g *Goroutine) Name() string {
	if g.Func == "" {
		return "(unnamed)"
	}
	return g.Func
}

// Serves reports whether the goroutine serves requests one after the other, as a connection
// goroutine of net/http does. While a handler runs, Func is the handler.
func (g *Goroutine) Serves() bool { return g.start != nil && g.start.class == serving }

// Reading reports whether a goroutine that serves requests is reading or waiting for one.
func (g *Goroutine) Reading() bool {
	return g.start != nil && g.Func == g.start.reading
}

// UserTask returns the type of the user task that the goroutine works on: that of the innermost
// region, or else the one in which the goroutine was created.
func (g *Goroutine) UserTask() string {
	regions := g.Regions()
	if n := len(regions); n > 0 && regions[n-1].Task != "" {
		return regions[n-1].Task
	}
	return g.Creator().Task
}

// Creator returns what is known of the go statement that started the goroutine. It is not nil.
func (g *Goroutine) Creator() *Creator {
	if g.By == nil {
		return &unknownCreator
	}
	return g.By
}

var unknownCreator Creator // never written

// Label returns the runtime's name of the current work of a mark worker, such as "GC (dedicated)",
// or "".
func (g *Goroutine) Label() string {
	if g.Extra == nil {
		return ""
	}
	return g.Extra.Label
}

// Regions returns the beginnings of the open user regions, outermost first.
func (g *Goroutine) Regions() []Span {
	if g.Extra == nil {
		return nil
	}
	return g.Extra.Regions
}

// InRange reports whether a range of the given name is open on the goroutine.
func (g *Goroutine) InRange(name string) bool {
	return g.Extra != nil && slices.ContainsFunc(g.Extra.ranges, func(r openRange) bool { return r.name == name })
}

// coroutineStart is the start function of the coroutines of iter.Pull, which run the program's
// iterators.
const coroutineStart = "runtime.corostart"

// startOf returns the start function of a goroutine whose call chains have the root fn. Chains of the
// main goroutine lack runtime.main, which also initializes the packages before it calls main.main.
func startOf(root string) string {
	if root == "runtime.doInit1" || root == "runtime.doInit" {
		return "main.main"
	}
	return root
}

// kindOf classifies a goroutine by its start function.
func kindOf(fn string) Kind {
	switch {
	case fn == "runtime.main", fn == coroutineStart, fn == callback:
		return Application
	case begins(fn, "runtime/trace.", "runtime.trace", "runtime.(*trace", "github.com/bottleneck-go/bottleneck/internal/background."):
		return Tracer // this module's own goroutines all start in one package
	case begins(fn, "runtime.gc"), fn == "runtime.bgsweep", fn == "runtime.bgscavenge", fn == "runtime.forcegchelper":
		return GC
	case isRuntimeFunc(fn), begins(fn, "os/signal."):
		return Runtime
	}
	return Application
}

func isRuntimeFunc(fn string) bool { return begins(fn, "runtime.", "runtime/") }

// State is the state of a goroutine between two transitions.
type State uint8

// The states of a goroutine.
const (
	// Unknown is the state before the trace begins and after it ends.
	Unknown State = iota
	// NotExist is the state before the creation and after the exit.
	NotExist
	// Runnable: ready, waiting for a processor (P).
	Runnable
	// Running: executing Go code on a P. The operating system may have preempted the thread;
	// the trace does not show that.
	Running
	// Syscall: in a system call, still holding its P.
	Syscall
	// SyscallBlocked: in a system call, without a P.
	SyscallBlocked
	// Waiting: blocked in the Go runtime; Wait is the kind of wait.
	Waiting
	// InC: in a C function called by Go, still holding its P. The scheduler treats C code as a
	// system call; see c.go.
	InC
	// InCDetached: in a C function, without its P, while a processor is free for the thread
	// according to the scheduler events.
	InCDetached
	// InCUncounted: like InCDetached, but no processor is free.
	InCUncounted

	numStates
)

var stateNames = [numStates]string{
	"unknown", "not-exist", "runnable", "running", "syscall", "syscall-blocked", "waiting", "in-c", "in-c-detached", "in-c-uncounted",
}

// String returns the name of a state, such as "running".
func (s State) String() string { return nameOf(stateNames[:], s) }

// onProcs is the set of states in which a goroutine occupies a P.
const onProcs = 1<<Running | 1<<Syscall | 1<<InC

// OnProc reports whether a goroutine in state s occupies a P: it is running, or in a system call or
// C function and still holds its P. At most GOMAXPROCS goroutines do.
func (s State) OnProc() bool { return onProcs>>s&1 != 0 }

// Runs reports whether a goroutine in state s counts as running: it occupies a P, or is
// InCDetached. At most GOMAXPROCS goroutines do.
func (s State) Runs() bool { return (onProcs|1<<InCDetached)>>s&1 != 0 }

// IsC reports whether a goroutine in state s is in a C function. A trace does not show whether it
// computes or waits there.
func (s State) IsC() bool { return s == InC || s == InCDetached || s == InCUncounted }

// Alive reports whether a goroutine in state s exists and is part of the trace.
func (s State) Alive() bool { return s > NotExist && s < numStates }
