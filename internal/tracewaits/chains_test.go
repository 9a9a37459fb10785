package tracewaits

import (
	"runtime"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestTraceChainsAreBounded: waits with very many call chains, as owners and waiters. All of them
// would need several times the memory that the test allows.
func TestTraceChainsAreBounded(t *testing.T) {
	const kept, n = 1000, 1 << 15
	before := heap()
	s := newScript(t, Options{MaxChains: kept, MaxPairs: kept})
	s.g(1)
	s.g(2)
	lock := &timeline.Frame{PC: 1, Func: "sync.(*Mutex).Lock"}
	unlock := &timeline.Frame{PC: 2, Func: "sync.(*Mutex).Unlock"}
	at := timeline.Time(1000)
	for i := range n {
		s.to(at, 2, timeline.Waiting, timeline.WaitMutex, chainOfNumber(lock, i))
		s.now[2].Waker, s.now[2].WakerStack = s.gs[1], chainOfNumber(unlock, i)
		s.to(at+40, 2, timeline.Runnable, timeline.WaitMutex, nil)
		s.to(at+50, 2, timeline.Running, timeline.WaitNone, nil)
		at += 30_000 // long enough not to look like a futile wake-up
	}
	s.end(at)
	p := s.o.Profile()
	grown := int64(heap()) - int64(before)
	checkConservation(t, p)
	count, sum := sumOf(p, contention.MutexKind)
	if count != int64(n) || sum.Waited != time.Duration(40*n) || sum.Ready != time.Duration(10*n) {
		t.Errorf("%d contentions, %v", count, sum.Waited)
	}
	if lost := int(p.Dropped.Chains); lost < n-kept || lost > 2*n {
		t.Errorf("%d call chains dropped of %d", lost, n)
	}
	if rows := len(p.Waits) + len(p.Pairs); rows > 3*kept {
		t.Errorf("%d rows", rows)
	}
	if grown > 32<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	// Blame is kept as long as there is room; after that, the lock is unknown.
	if sum.Blamed+sum.HandOff+sum.Unattributed != sum.Waited || sum.Unattributed < time.Duration(40*(n-2*kept)) {
		t.Errorf("%+v", sum)
	}
	runtime.KeepAlive(s)
}

// chainOfNumber returns a call chain of 20 calls that encodes the number.
func chainOfNumber(leaf *timeline.Frame, n int) *timeline.Stack {
	st := &timeline.Stack{Frames: []*timeline.Frame{leaf}}
	for bit := range 20 {
		f := &leftFrame
		if n>>bit&1 != 0 {
			f = &rightFrame
		}
		st.Frames = append(st.Frames, f)
	}
	return st
}

var leftFrame, rightFrame = timeline.Frame{PC: 3, Func: "main.deepLeft"}, timeline.Frame{PC: 4, Func: "main.deepRight"}
