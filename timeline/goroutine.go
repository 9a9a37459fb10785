package timeline

import (
	"slices"
	"strings"
)

// Time is nanoseconds on the clock of the trace: the monotonic clock of the
// machine that wrote it (CLOCK_MONOTONIC on Linux, in steps of 64 ns).
type Time int64

// Kind tells whose work a goroutine does.
type Kind uint8

// The kinds of goroutines.
const (
	Application Kind = iota // the program's
	GC                      // the garbage collector's: mark workers, sweeper, scavenger
	Runtime                 // other goroutines of the runtime and of the standard library's background
	Tracer                  // the execution tracer's own, and those with which this module measures the program

	numKinds
)

var kindNames = [numKinds]string{"application", "gc", "runtime", "tracer"}

// String returns the name of a kind, such as "application".
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "other"
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a name. One that is not known, as of a later version, is Application.
func (k *Kind) UnmarshalText(name []byte) error {
	*k = Kind(max(0, slices.Index(kindNames[:], string(name))))
	return nil
}

// Goroutine is a goroutine as far as the trace has told by now. The replay
// owns it: observers read it during a call, and keep its ID or Index, not the pointer,
// once it has exited.
type Goroutine struct {
	// ID is the runtime's number of the goroutine. It is not used again within a program, but
	// by a thread of C that calls Go once more. From 1<<52 on it is not the runtime's, but of a
	// coroutine of which the trace tells only that it ended.
	ID int64
	// Index is a small number that no other live goroutine has: an index for
	// tables of observers. It is reused after the goroutine's exit.
	Index int
	// Func is the name of the goroutine: the function of the program that it was started for,
	// which is the start function unless that is a compiler's wrapper, of the standard library
	// or a launcher, such as the worker of a pool; the place "main.run:57 (go)" where no such
	// function is known; "" while nothing is. It may change: a pool's worker is named by what
	// it works on. See naming.go in this package for the rules.
	Func string
	// Start is the function that the goroutine was started with as the compiler calls it,
	// "main.run.gowrap1" for the second "go f(x)" in run where f is a variable; "" while the
	// trace does not show it. A goroutine that is older than the trace shows it as the root of
	// a call chain; it may stay unknown for as long as the goroutine never blocks. That of a
	// thread of C is runtime.cgocallback.
	Start string
	// Kind follows from Start.
	Kind Kind

	ofC, wasInC bool // ofC: a thread of C that called Go
	named       bool // by a call chain of its own
	varies      bool // in what it does

	// CreatorID is the goroutine that started this one, 0 when it is not known
	// or there is none (timers, callbacks from C).
	CreatorID int64
	// CreatorFunc is the name of the creator when it started this one, "" if not known.
	CreatorFunc string
	// CreatorStack is the call chain of the go statement; nil if not known.
	CreatorStack *Stack
	// Label is what the runtime calls the present work of a mark worker, such as "GC
	// (dedicated)".
	Label string
	// Regions are the open regions (runtime/trace.Region), outermost first.
	Regions []Region
	// Task is the type of the user task that the goroutine was born into: that
	// of the innermost region of its creator. "" when there is none.
	Task string

	cur   interval
	start *start // nil while Start is not known
	root  string // the root of its call chains: Start, or what a compiler's wrapper calls
	site  *Frame // where it was started, if that matters
	rare  *rare  // nil if there is none of it
}

// rare is what few goroutines have, as there may be millions.
type rare struct {
	ranges       []openRange
	older, newer *Goroutine // neighbors in the list of those in C without a P
	launcher     string     // that the goroutine is in while it does nothing else
}

// others returns what few goroutines have.
func (g *Goroutine) others() *rare {
	if g.rare == nil {
		g.rare = &rare{}
	}
	return g.rare
}

// interval is the state a goroutine is in, as a transition will show it.
type interval struct {
	state  State
	wait   Wait
	proc   int32
	since  Time
	reason string
	stack  *Stack
	thread int64
}

// Region is an open user region.
type Region struct {
	Type   string
	TaskID uint64
	Task   string // the type of the task, "" if none or not known
	Start  Time
}

type openRange struct {
	name  string
	start Time
}

// State returns the present state.
func (g *Goroutine) State() State { return g.cur.state }

// Since returns when the present state began.
func (g *Goroutine) Since() Time { return g.cur.since }

// Wait tells what the goroutine waits for or, when it is Runnable, what it had waited for.
func (g *Goroutine) Wait() Wait { return g.cur.wait }

// Reason returns the runtime's own word for why the state began; see [Interval].
func (g *Goroutine) Reason() string { return g.cur.reason }

// Stack returns where the present state began, as [Interval].Stack will show it; nil when the trace
// does not tell.
func (g *Goroutine) Stack() *Stack { return g.cur.stack }

// Name returns Func, or "(unnamed)" while the trace has not told it.
func (g *Goroutine) Name() string {
	if g.Func == "" {
		return "(unnamed)"
	}
	return g.Func
}

// Serves reports whether the goroutine serves requests one after the other, as that of a connection
// of net/http does: Func is the handler while that runs.
func (g *Goroutine) Serves() bool { return g.start != nil && g.start.class == serving }

// Reading reports whether a goroutine that serves requests reads one, or waits for one.
func (g *Goroutine) Reading() bool {
	return g.start != nil && g.start.reading != "" && g.Func == g.start.reading
}

// Proc returns the P that the goroutine occupies, −1 when there is none or it is not known.
func (g *Goroutine) Proc() int32 { return g.cur.proc }

// UserTask returns the type of the user task that the goroutine works on: the
// innermost region's, or the one that it was born into.
func (g *Goroutine) UserTask() string {
	if n := len(g.Regions); n > 0 && g.Regions[n-1].Task != "" {
		return g.Regions[n-1].Task
	}
	return g.Task
}

// InRange reports whether a range of the given name is open on the goroutine.
func (g *Goroutine) InRange(name string) bool {
	return g.rare != nil && slices.ContainsFunc(g.rare.ranges, func(r openRange) bool { return r.name == name })
}

func (g *Goroutine) setStart(s *start) { g.start, g.Start, g.Kind = s, s.name, s.kind }

// coroutineStart is the start function of the coroutines of iter.Pull, which execute the program's
// iterators.
const coroutineStart = "runtime.corostart"

// kindOf classifies a goroutine by its start function.
func kindOf(fn string) Kind {
	switch {
	case fn == "runtime.main", fn == coroutineStart, fn == callback:
		return Application
	case strings.HasPrefix(fn, "runtime/trace."), strings.HasPrefix(fn, "runtime.trace"), strings.HasPrefix(fn, "runtime.(*trace"), isOwn(fn):
		return Tracer
	case strings.HasPrefix(fn, "runtime.gc"), fn == "runtime.bgsweep", fn == "runtime.bgscavenge", fn == "runtime.forcegchelper":
		return GC
	case isRuntimeFunc(fn), strings.HasPrefix(fn, "os/signal."):
		return Runtime
	}
	return Application
}

// isOwn reports whether a start function is that of the goroutines with which this module measures
// the program: all of them start in one package.
func isOwn(fn string) bool {
	return strings.HasPrefix(fn, "github.com/bottleneck-go/bottleneck/internal/background.")
}

func isRuntimeFunc(fn string) bool {
	return strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "runtime/")
}

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
