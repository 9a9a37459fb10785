package speedup

import (
	"fmt"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Component is what a lane of the stack does at an instant. Each lane is in exactly one component.
type Component uint8

// The components. Run is the useful work; all others keep the speed-up below N. Their names are
// those of [Component.String].
const (
	Run Component = iota // the worker executes Go code, or C code on its own processor: not a delimiter

	GCStopTheWorld // the garbage collector has stopped the world
	GCAssist       // the worker marks for the collector before it may allocate
	GCWait         // the worker waits for the collector
	GCWorkers      // the worker is ready, but mark workers have the processors

	Sequential // no worker lives; or none is running or ready while another goroutine of the program runs

	SyncMutex       // sync.Mutex
	SyncRWMutex     // sync.RWMutex, readers and writers
	SyncWaitGroup   // sync.WaitGroup
	SyncCond        // sync.Cond
	SyncOnce        // sync.Once
	SyncChanSend    // a channel send
	SyncChanReceive // a channel receive
	SyncSelect      // a select
	SyncSemaphore   // golang.org/x/sync/semaphore, or the limit of an errgroup
	SyncOther       // coroutine switches, waits that never end, unknown reasons

	IONetwork // the network poller
	IOSleep   // time.Sleep
	IOSyscall // a system call that lost its processor (P)
	Syscall   // a system call that keeps its processor

	Imbalance // the lane has no worker any more
	Spawn     // the lane has no worker yet
	NoWorker  // the lane has no worker, and workers are short-lived: neither of the two

	SchedWorkers     // ready, but other workers have the processors: more lanes than processors
	SchedApplication // ready, but other goroutines of the program have the processors
	SchedRuntime     // ready, but the runtime or the tracer has the processors
	SchedWakeup      // ready, not after a wait, while no goroutine has the processor: start-up latency
	SchedC           // in C without a P while no processor is free: it may wait for one or run C

	RuntimeStopTheWorld // the world is stopped for another reason, such as the beginning of a trace
	RuntimeWait         // the runtime has suspended the worker

	NumComponents int = iota // number of components
)

// components has the name, the words and the family of each component.
var components = [NumComponents]struct {
	name, words, family string
}{
	Run:                 {"run", "running", Running},
	GCStopTheWorld:      {"gc-stop-the-world", "GC: stop-the-world", GarbageCollection},
	GCAssist:            {"gc-assist", "GC: mark assist", GarbageCollection},
	GCWait:              {"gc-wait", "GC: waiting for it", GarbageCollection},
	GCWorkers:           {"gc-workers", "GC: its workers run", GarbageCollection},
	Sequential:          {"sequential", "sequential", SequentialPart},
	SyncMutex:           {"sync-mutex", "mutex", Synchronization},
	SyncRWMutex:         {"sync-rwmutex", "RWMutex", Synchronization},
	SyncWaitGroup:       {"sync-waitgroup", "WaitGroup", Synchronization},
	SyncCond:            {"sync-cond", "Cond", Synchronization},
	SyncOnce:            {"sync-once", "Once", Synchronization},
	SyncChanSend:        {"sync-chan-send", "channel send", Synchronization},
	SyncChanReceive:     {"sync-chan-receive", "channel receive", Synchronization},
	SyncSelect:          {"sync-select", "select", Synchronization},
	SyncSemaphore:       {"sync-semaphore", "semaphore", Synchronization},
	SyncOther:           {"sync-other", "other waits", Synchronization},
	IONetwork:           {"io-network", "network", InputOutput},
	IOSleep:             {"io-sleep", "sleep", InputOutput},
	IOSyscall:           {"io-syscall", "blocking system call", InputOutput},
	Syscall:             {"syscall", "system call", SystemCalls},
	Imbalance:           {"imbalance", "imbalance", ImbalanceFamily},
	Spawn:               {"spawn", "spawn", SpawnFamily},
	NoWorker:            {"no-worker", "no worker", NoWorkerFamily},
	SchedWorkers:        {"sched-workers", "other workers run", Scheduling},
	SchedApplication:    {"sched-application", "other goroutines run", Scheduling},
	SchedRuntime:        {"sched-runtime", "runtime or tracer runs", Scheduling},
	SchedWakeup:         {"sched-wakeup", "wake-up latency", Scheduling},
	SchedC:              {"sched-c", "in C, no processor free", Scheduling},
	RuntimeStopTheWorld: {"runtime-stop-the-world", "stop-the-world (not GC)", RuntimeFamily},
	RuntimeWait:         {"runtime-wait", "suspended by the runtime", RuntimeFamily},
}

// String returns the name, such as "sync-mutex".
func (c Component) String() string {
	if int(c) < NumComponents {
		return components[c].name
	}
	return "other"
}

// Words returns the component as pictures and tables call it, such as "mutex".
func (c Component) Words() string {
	if int(c) < NumComponents {
		return components[c].words
	}
	return "other"
}

// ParseComponent returns the component with the given name.
func ParseComponent(name string) (Component, error) {
	for c := range components {
		if components[c].name == name {
			return Component(c), nil
		}
	}
	return 0, fmt.Errorf("unknown component %q", name)
}

// Delimiters returns all components but Run, in the order in which a stack shows them, from the
// bottom.
func Delimiters() []Component {
	out := make([]Component, 0, NumComponents-1)
	for c := Run + 1; int(c) < NumComponents; c++ {
		out = append(out, c)
	}
	return out
}

// The families, classes of components that share a remedy, in the order of their components.
const (
	Running           = "running"
	GarbageCollection = "garbage collection"
	SequentialPart    = "sequential"
	Synchronization   = "synchronization"
	InputOutput       = "I/O and network"
	SystemCalls       = "system calls"
	ImbalanceFamily   = "imbalance"
	SpawnFamily       = "spawn"
	NoWorkerFamily    = "no worker"
	Scheduling        = "scheduling"
	RuntimeFamily     = "runtime"
)

// Family returns the class that the component belongs to, such as Synchronization.
func (c Component) Family() string { return components[c].family }

// assistRange and worldRange are the ranges during which a goroutine works for the runtime.
const (
	assistRange = "GC mark assist"
	worldRange  = "stop-the-world ("
)

// ready is the component of a single worker that is ready but has no processor. The final component
// depends on which goroutines have the processors.
const ready = Component(NumComponents)

// waits maps wait reasons to components. Reasons that are not listed are SyncOther.
var waits = [64]Component{
	timeline.WaitMutex:         SyncMutex,
	timeline.WaitRWMutexWriter: SyncRWMutex,
	timeline.WaitRWMutexReader: SyncRWMutex,
	timeline.WaitWaitGroup:     SyncWaitGroup,
	timeline.WaitCond:          SyncCond,
	timeline.WaitOnce:          SyncOnce,
	timeline.WaitChanSend:      SyncChanSend,
	timeline.WaitChanReceive:   SyncChanReceive,
	timeline.WaitSelect:        SyncSelect,
	timeline.WaitSemaphore:     SyncSemaphore,
	timeline.WaitNetwork:       IONetwork,
	timeline.WaitSleep:         IOSleep,
	timeline.WaitSyscall:       IOSyscall,
	timeline.WaitGC:            GCWait,
	timeline.WaitRuntime:       RuntimeWait,
}

// ownComponent returns what a worker does by itself, regardless of the others. assist reports
// whether it is in a mark assist.
func ownComponent(s timeline.State, w timeline.Wait, assist bool) Component {
	switch s {
	case timeline.Running, timeline.InC, timeline.InCDetached:
		if assist {
			return GCAssist
		}
		return Run
	case timeline.Syscall:
		return Syscall
	case timeline.SyscallBlocked:
		return IOSyscall
	case timeline.InCUncounted:
		return SchedC
	case timeline.Runnable:
		return ready
	}
	if c := waits[w%64]; c != Run {
		return c
	}
	return SyncOther
}

// holder is the kind of a goroutine, other than a worker, that has a processor or is ready.
type holder uint8

const (
	holdsNone holder = iota
	holdsGC
	holdsRuntime
	holdsTracer
	holdsApplication
	holdsReady // has none, but is ready to run: a goroutine of the application
	numHolders
)

func holderOf(g *timeline.Goroutine, s timeline.State) holder {
	switch {
	case s == timeline.Runnable && g.Kind == timeline.Application:
		return holdsReady
	case !s.Runs():
		return holdsNone
	case g.Label() != "" || g.Kind == timeline.GC:
		return holdsGC
	case g.Kind == timeline.Tracer:
		return holdsTracer
	case g.Kind != timeline.Application:
		return holdsRuntime
	}
	return holdsApplication
}
