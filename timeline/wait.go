package timeline

import (
	"slices"
	"strings"
)

// Wait is what a goroutine waits for or, while it is Runnable, what it waited for before it became
// ready. It is derived from the runtime's reason and the call chain, because the runtime uses the
// reason "sync" for a dozen different things.
type Wait uint8

// The kinds of waits. Their names are those returned by [Wait.String].
const (
	WaitNone          Wait = iota // not waiting
	WaitOther                     // a reason that is unknown or missing in the trace
	WaitMutex                     // sync.Mutex, and locks inside the standard library
	WaitRWMutexWriter             // sync.RWMutex, Lock
	WaitRWMutexReader             // sync.RWMutex, RLock
	WaitWaitGroup                 // sync.WaitGroup
	WaitCond                      // sync.Cond
	WaitOnce                      // sync.Once or golang.org/x/sync/singleflight, run by another
	WaitChanSend                  // a channel send
	WaitChanReceive               // a channel receive
	WaitSelect                    // select over several channels
	WaitSemaphore                 // golang.org/x/sync/semaphore, or the limit of an errgroup
	WaitNetwork                   // the network poller
	WaitSleep                     // time.Sleep
	WaitSyscall                   // a system call without a P
	WaitGC                        // the garbage collector: assist credit, sweep, its semaphores
	WaitRuntime                   // parking by the runtime: system goroutines, suspensions
	WaitCoroutine                 // a coroutine switch (iter.Pull)
	WaitForever                   // never woken: select{}, a nil channel, the end of main
	WaitPreempted                 // runnable: its time slice ended, or it handed off a mutex
	WaitYield                     // runnable: it called runtime.Gosched
	WaitCreated                   // runnable since its creation
	WaitC                         // in C code: see State.IsC
	WaitCThread                   // a C thread that called Go is back in C

	numWaits
)

var waitNames = [numWaits]string{
	"none", "other", "mutex", "rwmutex-writer", "rwmutex-reader", "waitgroup", "cond", "once",
	"chan-send", "chan-receive", "select", "semaphore", "network", "sleep", "syscall", "gc",
	"runtime", "coroutine", "forever", "preempted", "yield", "created", "in-c", "c-thread",
}

// String returns the name of the wait, such as "mutex".
func (w Wait) String() string { return nameOf(waitNames[:], w) }

// MarshalText writes the name.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a name. Unknown names, such as those of later versions, yield WaitOther.
func (w *Wait) UnmarshalText(name []byte) error {
	*w = WaitOther
	if i := slices.Index(waitNames[:], string(name)); i >= 0 {
		*w = Wait(i)
	}
	return nil
}

// Waits returns all kinds of waits, in the order of their constants.
func Waits() []Wait {
	ws := make([]Wait, numWaits)
	for i := range ws {
		ws[i] = Wait(i)
	}
	return ws
}

// Lock reports whether the wait is for mutual exclusion.
func (w Wait) Lock() bool {
	return w == WaitMutex || w == WaitRWMutexWriter || w == WaitRWMutexReader
}

// waitOfReason maps the reasons written by the runtime (traceBlockReason and traceGoStopReason in
// runtime/traceruntime.go) to kinds of waits. waitOf refines those that depend on the call chain.
var waitOfReason = map[string]Wait{
	"forever":                      WaitForever,
	"network":                      WaitNetwork,
	"select":                       WaitSelect,
	"sync.(*Cond).Wait":            WaitCond,
	"sync":                         WaitOther,
	"chan send":                    WaitChanSend,
	"chan receive":                 WaitChanReceive,
	"GC mark assist wait for work": WaitGC,
	"GC background sweeper wait":   WaitGC,
	"wait until GC ends":           WaitGC,
	"GC weak to strong wait":       WaitGC,
	"system goroutine wait":        WaitRuntime,
	"preempted":                    WaitRuntime,
	"wait for debug call":          WaitRuntime,
	"synctest":                     WaitRuntime,
	"sleep":                        WaitSleep,
	"runtime.Gosched":              WaitYield,
}

// waitOf classifies a block (Running → Waiting) by its reason and call chain.
func waitOf(reason string, s *Stack) Wait {
	switch reason {
	case "sync":
		return waitOfSync(s)
	case "select", "chan send":
		// The leaf is runtime.selectgo or runtime.chansend1.
		if s != nil {
			for _, f := range s.Frames {
				if _, ok := parkFrames[f.Func]; ok {
					continue
				}
				if isLimit(f.Func) {
					return WaitSemaphore
				}
				break
			}
		}
	case "":
		// A coroutine switch has neither a reason nor a call chain.
		return WaitCoroutine
	}
	if w, ok := waitOfReason[reason]; ok {
		return w
	}
	return WaitOther
}

// isLimit reports whether fn, which blocks on a channel, is used as a semaphore.
func isLimit(fn string) bool {
	return begins(fn, "golang.org/x/sync/semaphore.", "golang.org/x/sync/errgroup.", "github.com/bottleneck-go/bottleneck/granularity.(*Group).")
}

// waitOfStop classifies the reason for a transition from Running to Runnable.
func waitOfStop(reason string) Wait {
	switch reason {
	case "preempted":
		return WaitPreempted
	case "runtime.Gosched":
		return WaitYield
	}
	return WaitOther
}

// waitOfSync distinguishes the users of the runtime's semaphores by the frames nearest to the leaf.
func waitOfSync(s *Stack) Wait {
	if s == nil || len(s.Frames) == 0 {
		return WaitOther
	}
	for i, f := range s.Frames {
		switch fn := f.Func; {
		case begins(fn, "sync.runtime_", "internal/sync.runtime_", "internal/poll.runtime_Sem"):
			continue // the entry into the runtime
		case begins(fn, mutexMethods...):
			return waitOfMutex(s.Frames[i:])
		case begins(fn, "sync.(*RWMutex).RLock", wrappers+"RWMutex)."):
			return WaitRWMutexReader // in package contention, only readers block here directly
		case begins(fn, "sync.(*RWMutex)."):
			return WaitRWMutexWriter
		case begins(fn, "sync.(*WaitGroup)."):
			if i+1 < len(s.Frames) && begins(s.Frames[i+1].Func, "golang.org/x/sync/singleflight.") {
				return WaitOnce
			}
			return WaitWaitGroup
		case begins(fn, "sync.(*Once)."):
			return WaitOnce
		case begins(fn, "internal/sync.", "sync.", "internal/poll.(*fdMutex)."):
			// Types that hide the frame of Lock (sync.Map, sync.Pool), or the lock of a
			// file descriptor.
			return WaitMutex
		case begins(fn, "runtime.trace", "runtime.(*trace", "runtime.StartTrace", "runtime.StopTrace", "runtime/trace."):
			return WaitRuntime
		case begins(fn, "runtime."):
			// An allocation or the start of a garbage collection that waits for a
			// semaphore of the collector.
			return WaitGC
		}
		return WaitOther
	}
	return WaitOther
}

// begins reports whether the name of a function begins with one of the prefixes.
func begins(fn string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(fn, p) })
}

var mutexMethods = []string{"sync.(*Mutex).", "internal/sync.(*Mutex)."}

// waitOfMutex classifies a wait in sync.Mutex by its caller: RWMutex (a writer behind a writer) and
// Once contain mutexes.
func waitOfMutex(frames []*Frame) Wait {
	for len(frames) > 0 && begins(frames[0].Func, mutexMethods...) {
		frames = frames[1:]
	}
	switch {
	case len(frames) > 0 && begins(frames[0].Func, "sync.(*RWMutex)."):
		return WaitRWMutexWriter
	case len(frames) > 0 && begins(frames[0].Func, "sync.(*Once)."):
		return WaitOnce
	}
	return WaitMutex
}

// InLock returns the kind of lock whose code is innermost in a call chain, for example in a CPU
// profiler sample of a goroutine that spins for a sync.Mutex. It returns WaitNone for other code or
// a nil Stack.
func (s *Stack) InLock() Wait {
	frames := s.Code()
	for len(frames) > 0 && begins(frames[0].Func, "runtime.") {
		frames = frames[1:]
	}
	if len(frames) > 0 && begins(frames[0].Func, "sync.(*Mutex).", "internal/sync.(*Mutex).", "sync.(*RWMutex).", "sync.runtime_", "internal/sync.runtime_") {
		if w := waitOfSync(&Stack{Frames: frames}); w.Lock() {
			return w
		}
	}
	return WaitNone
}

// parkFrames maps the runtime's frames between the parking and the leaf frame of a block event to
// the wait that they indicate. Statuses contain these frames; block events omit them.
var parkFrames = map[string]Wait{
	"runtime.gopark":                            WaitNone,
	"runtime.goparkunlock":                      WaitNone,
	"runtime.park_m":                            WaitNone,
	"runtime.chanrecv":                          WaitChanReceive,
	"runtime.chanrecv1":                         WaitChanReceive,
	"runtime.chanrecv2":                         WaitChanReceive,
	"runtime.chansend":                          WaitChanSend,
	"runtime.chansend1":                         WaitChanSend,
	"runtime.selectgo":                          WaitSelect,
	"runtime.block":                             WaitForever,
	"runtime.netpollblock":                      WaitNetwork,
	"internal/poll.runtime_pollWait":            WaitNetwork,
	"time.Sleep":                                WaitSleep,
	"runtime.semacquire":                        WaitNone,
	"runtime.semacquire1":                       WaitNone,
	"runtime.notifyListWait":                    WaitCond,
	"sync.runtime_notifyListWait":               WaitCond,
	"sync.runtime_Semacquire":                   WaitNone,
	"sync.runtime_SemacquireMutex":              WaitNone,
	"sync.runtime_SemacquireRWMutex":            WaitNone,
	"sync.runtime_SemacquireRWMutexR":           WaitNone,
	"sync.runtime_SemacquireWaitGroup":          WaitNone,
	"internal/sync.runtime_SemacquireMutex":     WaitNone,
	"internal/poll.runtime_Semacquire":          WaitNone,
	"runtime.coroswitch":                        WaitCoroutine,
	"runtime.coroswitch_m":                      WaitCoroutine,
	"runtime.gcAssistAlloc":                     WaitGC,
	"runtime.gcParkAssist":                      WaitGC,
	"runtime.gcWakeAllStrongFromWeak":           WaitGC,
	"runtime.(*wakeableSleep).sleep":            WaitRuntime,
	"runtime.(*scavengerState).park":            WaitRuntime,
	"runtime.(*scavengerState).sleep":           WaitRuntime,
	"runtime.(*cleanupQueue).dequeue":           WaitRuntime,
	"runtime.(*finalizerQueue).dequeue":         WaitRuntime,
	"runtime.(*traceAdvancerState).start.func1": WaitRuntime,
}

// entryFrames are the parkFrames that block events show as the leaf.
var entryFrames = map[string]bool{
	"runtime.chanrecv1": true,
	"runtime.chanrecv2": true,
	"runtime.chansend1": true,
	"runtime.selectgo":  true,
	"runtime.block":     true,
	"time.Sleep":        true,
}

// waitOfStatus classifies a goroutine that a status shows as waiting. A status has no reason, but
// often the whole stack, including the parking frames. waitOfStatus returns the wait and the number
// of leading frames that a block event would omit.
func waitOfStatus(s *Stack) (w Wait, skip int) {
	if s == nil || len(s.Frames) == 0 {
		return WaitOther, 0
	}
	n := 0 // number of parking frames
	for ; n < len(s.Frames); n++ {
		fn := s.Frames[n].Func
		fw, ok := parkFrames[fn]
		if !ok {
			break
		}
		if fw != WaitNone {
			w = fw
		}
		if !entryFrames[fn] {
			skip = n + 1
		}
	}
	switch {
	case n == len(s.Frames) && w == WaitNone:
		return WaitOther, 0
	case n == len(s.Frames):
		return w, 0
	case (w == WaitSelect || w == WaitChanSend) && isLimit(s.Frames[n].Func):
		return WaitSemaphore, skip
	case w != WaitNone:
		return w, skip
	case n == 0:
		return WaitOther, 0
	case isRuntimeFunc(s.Root().Func):
		return WaitRuntime, skip
	}
	return waitOfSync(&Stack{Frames: s.Frames[n:]}), skip
}
