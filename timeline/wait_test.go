package timeline

import (
	"strings"
	"testing"
)

func chain(functions string) *Stack {
	if functions == "" {
		return nil
	}
	var frames []*Frame
	for i, f := range strings.Split(functions, " < ") {
		frames = append(frames, &Frame{PC: uint64(0x1000 + i), Func: f, File: "x.go", Line: i})
	}
	return newStackTable().internFrames(frames)
}

// TestWaitOf: the wait of a goroutine follows from the runtime's reason and the call chain of the
// block, for all versions of Go.
func TestWaitOf(t *testing.T) {
	tests := []struct {
		reason, stack string
		want          Wait
	}{
		{"sync", "sync.(*Mutex).Lock < main.f", WaitMutex},
		{"sync", "sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f", WaitMutex},
		{"sync", "internal/sync.(*Mutex).lockSlow < internal/sync.(*Mutex).Lock < sync.(*Mutex).Lock < main.f", WaitMutex},
		{"sync", "sync.runtime_SemacquireMutex < sync.(*Mutex).lockSlow < main.f", WaitMutex},
		{"sync", "sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.f", WaitRWMutexWriter},
		{"sync", "internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.f", WaitRWMutexWriter},
		{"sync", "sync.(*RWMutex).Lock < main.f", WaitRWMutexWriter},
		{"sync", "sync.(*RWMutex).RLock < main.f", WaitRWMutexReader},
		{"sync", "sync.(*rlocker).Lock < main.f", WaitMutex},
		{"sync", "sync.(*RWMutex).RLock < sync.(*rlocker).Lock < main.f", WaitRWMutexReader},
		{"sync", "sync.(*WaitGroup).Wait < main.f", WaitWaitGroup},
		{"sync", "sync.(*WaitGroup).Wait < golang.org/x/sync/singleflight.(*Group).Do < main.f", WaitOnce},
		{"sync", "sync.(*WaitGroup).Wait < golang.org/x/sync/errgroup.(*Group).Wait < main.f", WaitWaitGroup},
		{"sync", "sync.(*Mutex).Lock < sync.(*Once).doSlow < sync.(*Once).Do < main.f", WaitOnce},
		{"sync", "sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < sync.(*Once).doSlow < main.f", WaitOnce},
		{"sync", "sync.(*Mutex).Lock < main.f < sync.(*Once).doSlow < sync.(*Once).Do", WaitMutex},
		{"sync", "sync.(*Mutex).Lock < main.f < sync.(*RWMutex).Lock", WaitMutex},
		{"sync", "internal/sync.(*HashTrieMap[...]).Swap < sync.(*Map).Swap < main.f", WaitMutex},
		{"sync", "sync.(*Pool).pinSlow < sync.(*Pool).Get < main.f", WaitMutex},
		{"sync", "internal/poll.runtime_Semacquire < internal/poll.(*fdMutex).rwlock < internal/poll.(*FD).Write", WaitMutex},
		{"sync", "internal/poll.(*fdMutex).rwlock < internal/poll.(*FD).Write < main.f", WaitMutex},
		{"sync", "runtime.makeslice < main.f", WaitGC},
		{"sync", "runtime.newobject < main.f", WaitGC},
		{"sync", "runtime.gcStart < runtime.mallocgc < main.f", WaitGC},
		{"sync", "runtime.GC < main.f", WaitGC},
		{"sync", "runtime.traceAdvance < runtime.StopTrace < runtime/trace.Stop", WaitRuntime},
		{"sync", "runtime.StopTrace < runtime/trace.Stop < main.main", WaitRuntime},
		{"sync", "runtime/trace.Stop < main.main", WaitRuntime},
		{"sync", "main.f", WaitOther},
		{"sync", "", WaitOther},
		{"sync.(*Cond).Wait", "sync.(*Cond).Wait < main.f", WaitCond},
		{"sync.(*Cond).Wait", "", WaitCond},
		{"chan send", "runtime.chansend1 < main.f", WaitChanSend},
		{"chan send", "runtime.chansend1 < golang.org/x/sync/errgroup.(*Group).Go < main.f", WaitSemaphore},
		{"chan send", "golang.org/x/sync/errgroup.(*Group).Go < main.f", WaitSemaphore},
		{"chan send", "runtime.chansend1 < main.f < golang.org/x/sync/errgroup.(*Group).Go.func1", WaitChanSend},
		{"chan send", "", WaitChanSend},
		{"chan receive", "runtime.chanrecv1 < main.f", WaitChanReceive},
		{"chan receive", "runtime.chanrecv2 < golang.org/x/sync/errgroup.(*Group).Wait", WaitChanReceive},
		{"select", "runtime.selectgo < main.f", WaitSelect},
		{"select", "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < main.f", WaitSemaphore},
		{"select", "golang.org/x/sync/semaphore.(*Weighted).Acquire < main.f", WaitSemaphore},
		{"network", "internal/poll.(*FD).Read < main.f", WaitNetwork},
		{"sleep", "time.Sleep < main.f", WaitSleep},
		{"forever", "runtime.block < main.f", WaitForever},
		{"forever", "", WaitForever},
		{"preempted", "main.f", WaitRuntime},
		{"synctest", "main.f", WaitRuntime},
		{"GC mark assist wait for work", "main.f", WaitGC},
		{"GC background sweeper wait", "runtime.bgsweep", WaitGC},
		{"wait until GC ends", "runtime.GC < main.f", WaitGC},
		{"GC weak to strong wait", "main.f", WaitGC},
		{"system goroutine wait", "runtime.bgscavenge", WaitRuntime},
		{"wait for debug call", "main.f", WaitRuntime},
		{"", "", WaitCoroutine},
		{"unspecified", "main.f", WaitOther},
		{"something new in Go 1.40", "main.f", WaitOther},
	}
	for _, tt := range tests {
		s := chain(tt.stack)
		if got := waitOf(tt.reason, s); got != tt.want {
			t.Errorf("%q in %q: %v, want %v", tt.reason, tt.stack, got, tt.want)
		}
		r := newReplay(26, nil, nil)
		r.d = &decoded{reasons: []string{tt.reason}, stacks: []*Stack{s}}
		r.reasonKinds()
		at := int32(0)
		if s == nil {
			at = -1
		}
		if _, got, _ := r.block(&record{y: at}); got != tt.want {
			t.Errorf("%q in %q, kept: %v, want %v", tt.reason, tt.stack, got, tt.want)
		}
	}
}

// TestWaitOfStatus: the same for the whole call chain of a parked goroutine, and for what is left
// of it.
func TestWaitOfStatus(t *testing.T) {
	tests := []struct {
		stack string
		want  Wait
		left  string // the leaf without the parking
	}{
		{"runtime.gopark < runtime.chanrecv < runtime.chanrecv1 < main.f", WaitChanReceive, "runtime.chanrecv1"},
		{"runtime.gopark < runtime.chanrecv < runtime.chanrecv2 < main.f", WaitChanReceive, "runtime.chanrecv2"},
		{"runtime.gopark < runtime.chansend < runtime.chansend1 < main.f", WaitChanSend, "runtime.chansend1"},
		{"runtime.gopark < runtime.chansend < runtime.chansend1 < golang.org/x/sync/errgroup.(*Group).Go < main.f", WaitSemaphore, "runtime.chansend1"},
		{"runtime.gopark < runtime.selectgo < main.f", WaitSelect, "runtime.selectgo"},
		{"runtime.gopark < runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < main.f", WaitSemaphore, "runtime.selectgo"},
		{"runtime.gopark < runtime.block < main.f", WaitForever, "runtime.block"},
		{"runtime.gopark < runtime.netpollblock < internal/poll.runtime_pollWait < internal/poll.(*pollDesc).wait < net.f", WaitNetwork, "internal/poll.(*pollDesc).wait"},
		{"runtime.gopark < time.Sleep < main.f", WaitSleep, "time.Sleep"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < sync.runtime_SemacquireMutex < sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f", WaitMutex, "sync.(*Mutex).lockSlow"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < internal/sync.runtime_SemacquireMutex < internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.f", WaitMutex, "internal/sync.(*Mutex).lockSlow"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < internal/sync.runtime_SemacquireMutex < internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.f", WaitRWMutexWriter, "internal/sync.(*Mutex).lockSlow"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < sync.runtime_SemacquireRWMutex < sync.(*RWMutex).Lock < main.f", WaitRWMutexWriter, "sync.(*RWMutex).Lock"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < sync.runtime_SemacquireRWMutexR < sync.(*RWMutex).RLock < main.f", WaitRWMutexReader, "sync.(*RWMutex).RLock"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < main.f", WaitWaitGroup, "sync.(*WaitGroup).Wait"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < sync.runtime_Semacquire < sync.(*WaitGroup).Wait < main.f", WaitWaitGroup, "sync.(*WaitGroup).Wait"},
		{"runtime.gopark < runtime.goparkunlock < sync.runtime_notifyListWait < sync.(*Cond).Wait < main.f", WaitCond, "sync.(*Cond).Wait"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < internal/poll.runtime_Semacquire < internal/poll.(*fdMutex).rwlock < main.f", WaitMutex, "internal/poll.(*fdMutex).rwlock"},
		{"runtime.coroswitch_m < iter.Pull[...].func2 < main.f", WaitCoroutine, "iter.Pull[...].func2"},
		{"runtime.gopark < runtime.bgsweep", WaitRuntime, "runtime.bgsweep"},
		{"runtime.gopark < runtime.goparkunlock < runtime.forcegchelper", WaitRuntime, "runtime.forcegchelper"},
		{"runtime.gopark < runtime.gcBgMarkWorker", WaitRuntime, "runtime.gcBgMarkWorker"},
		{"runtime.gopark < runtime.(*scavengerState).park < runtime.bgscavenge", WaitRuntime, "runtime.bgscavenge"},
		{"runtime.gopark < runtime.goparkunlock < runtime.semacquire1 < runtime.semacquire < runtime.gcStart < runtime.mallocgc < main.f", WaitGC, "runtime.gcStart"},
		{"runtime.gopark", WaitOther, "runtime.gopark"},
		{"main.f", WaitOther, "main.f"},
		{"", WaitOther, ""},
	}
	for _, tt := range tests {
		s := chain(tt.stack)
		w, skip := waitOfStatus(s)
		left := ""
		if s != nil {
			left = s.Frames[skip].Func
		}
		if w != tt.want || left != tt.left {
			t.Errorf("%q: %v, left with %s; want %v, %s", tt.stack, w, left, tt.want, tt.left)
		}
		if s != nil && (s.parked != tt.want || leafOf(s.block).Func != tt.left) {
			t.Errorf("%q, kept: %v, left with %v", tt.stack, s.parked, s.block)
		}
	}
}

// TestWaitNames: the names are distinct, and a value out of range has one, too.
func TestWaitNames(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Waits() {
		if seen[w.String()] || w.String() == "" {
			t.Errorf("%d: %q", w, w)
		}
		seen[w.String()] = true
	}
	if len(seen) != int(numWaits) || numWaits.String() != "other" || numStates.String() != "other" || numKinds.String() != "other" {
		t.Errorf("%d names, %v, %v, %v", len(seen), numWaits, numStates, numKinds)
	}
	for _, w := range Waits() {
		if w.Lock() != (w == WaitMutex || strings.HasPrefix(w.String(), "rwmutex")) {
			t.Errorf("%v: %v", w, w.Lock())
		}
	}
	for s := Unknown; s <= numStates; s++ {
		if s.OnProc() != (s == Running || s == Syscall || s == InC) || s.Runs() != (s.OnProc() || s == InCDetached) || s.Alive() != (s > NotExist && s < numStates) {
			t.Errorf("%v: %v, %v", s, s.OnProc(), s.Alive())
		}
	}
}

// TestStacks: equal call chains are the same pointer. nil has neither leaf nor root.
func TestStacks(t *testing.T) {
	table := newStackTable()
	frame := func(pc uint64, fn string) *Frame { return table.frame(Frame{PC: pc, Func: fn}) }
	a := table.internFrames([]*Frame{frame(1, "f"), frame(2, "g")})
	b := table.internFrames([]*Frame{frame(1, "f"), frame(2, "g")})
	c := table.internFrames([]*Frame{frame(1, "f"), frame(2, "h")}) // the same program counters: made by hand
	if a != b || a == c || a.String() != "f < g" || c.Root().Func != "h" {
		t.Errorf("%v, %v, %v", a, b, c)
	}
	if table.internFrames(nil) != nil {
		t.Error("a call chain of nothing")
	}
	var none *Stack
	if leafOf(none) != nil || none.Root() != nil || none.String() != "" {
		t.Error("nil is something")
	}
}

// A lock is recognized if its methods are the innermost frames, or the runtime on their behalf.
func TestInLock(t *testing.T) {
	for _, tt := range []struct {
		calls string
		want  Wait
	}{
		{"internal/sync.(*Mutex).lockSlow internal/sync.(*Mutex).Lock sync.(*Mutex).Lock main.add", WaitMutex},
		{"runtime.procyield internal/sync.runtime_doSpin internal/sync.(*Mutex).lockSlow sync.(*Mutex).Lock main.add", WaitMutex},
		{"runtime.asyncPreempt sync.(*RWMutex).RLock main.get", WaitRWMutexReader},
		{"sync.(*Mutex).Lock sync.(*RWMutex).Lock main.put", WaitRWMutexWriter},
		{"sync.(*Mutex).Lock sync.(*Once).doSlow main.need", WaitNone},
		{"runtime.mallocgc main.add", WaitNone},
		{"main.add sync.(*Mutex).Lock", WaitNone},
		{"runtime.semrelease1 sync.runtime_Semrelease sync.(*WaitGroup).Add main.done", WaitNone},
		{"", WaitNone},
	} {
		if got := chain(strings.ReplaceAll(tt.calls, " ", " < ")).InLock(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.calls, got, tt.want)
		}
	}
}

// The call chain of an event shows a fork, and a Broadcast.
func TestForksAndWakesAll(t *testing.T) {
	for _, tt := range []struct {
		chain        []string
		forks, wakes bool
	}{
		{[]string{"syscall.read", "syscall.readlen", "syscall.forkExec", "os.StartProcess", "main.run"}, true, false},
		{[]string{"sync.(*Cond).Broadcast", "main.arrive"}, false, true},
		{[]string{"sync.(*Cond).Signal", "main.put"}, false, false},
		{[]string{"syscall.read", "os.(*File).Read", "main.read"}, false, false},
	} {
		var frames []*Frame
		for _, fn := range tt.chain {
			frames = append(frames, &Frame{Func: fn})
		}
		if s := newStackTable().internFrames(frames); s.Forks() != tt.forks || s.WakesAll() != tt.wakes {
			t.Errorf("%q: forks %v, wakes all %v", tt.chain, s.Forks(), s.WakesAll())
		}
	}
	if s := (*Stack)(nil); s.Forks() || s.WakesAll() {
		t.Error("no call chain forks or wakes")
	}
}
