package speedup

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// assistRange and worldRange are the ranges during which a goroutine works for the runtime.
const (
	assistRange = "GC mark assist"
	worldRange  = "stop-the-world ("
)

// ready is the component of a single worker that is ready but has no processor. The final component
// depends on which goroutines have the processors.
const ready = Component(NumComponents)

// waits maps wait reasons to components. Reasons that are not listed are SyncOther.
var waits = map[timeline.Wait]Component{
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
	if c, ok := waits[w]; ok {
		return c
	}
	return SyncOther
}

// onProc reports whether a worker in the component has a processor (P).
func onProc(c Component) bool { return c == Run || c == GCAssist || c == Syscall }

// worldIsGC reports whether the collector stopped the world, by the range's name.
func worldIsGC(name string) bool { return strings.HasPrefix(name, worldRange+"GC") }

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
