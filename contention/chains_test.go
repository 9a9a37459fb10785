package contention

import (
	"runtime"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// manyChains is how many call chains the tests of bounded memory make.
func manyChains() int {
	if raceEnabled {
		return 1 << 17
	}
	return 1 << 20
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// deepLeft and deepRight call each other along the bits of n, so that f has a call chain of its own
// for each n.
//
//go:noinline
func deepLeft(n, bits int, f func()) {
	if bits > 0 {
		if n&1 == 0 {
			deepLeft(n>>1, bits-1, f)
			return
		}
		deepRight(n>>1, bits-1, f)
		return
	}
	f()
}

//go:noinline
func deepRight(n, bits int, f func()) {
	if bits > 0 {
		if n&1 == 0 {
			deepLeft(n>>1, bits-1, f)
			return
		}
		deepRight(n>>1, bits-1, f)
		return
	}
	f()
}

// TestMillionChains: waits with a million call chains, as owners and waiters. The memory is
// bounded, what is not kept is counted, and the sums stay exact.
func TestMillionChains(t *testing.T) {
	const kept = 1000
	n := manyChains()
	before := heap()
	collecting(t, Options{Exact: true, MaxChains: kept, MaxPairs: kept})
	var m Mutex
	// f is what a goroutine does that finds the lock taken, but for the blocking.
	f := func() {
		m.lockSlow(false, 0)
		m.Unlock()
	}
	for i := range n {
		deepLeft(i, 20, f)
	}
	p := Snapshot()
	grown := int64(heap()) - int64(before)
	checkConservation(t, p)
	count, _ := sumOf(p, MutexKind)
	if count != int64(n) || p.InFlight != 0 {
		t.Errorf("%d contentions, %d in flight, want %d", count, p.InFlight, n)
	}
	if lost := int(p.Dropped.Chains); lost < n-kept || lost > 2*n {
		t.Errorf("%d call chains dropped of %d", lost, n)
	}
	if rows := len(p.Waits) + len(p.Pairs); rows > 2*kept+4 || rows < kept/2 {
		t.Errorf("%d rows", rows)
	}
	if grown > 32<<20 {
		t.Errorf("%d bytes more are in use", grown)
	}
	if len(p.Warnings) == 0 {
		t.Error("no warning")
	}
}

// TestTraceMillionChains: the same for a trace.
func TestTraceMillionChains(t *testing.T) {
	const kept = 1000
	n := manyChains()
	before := heap()
	s := newScript(t, TraceOptions{MaxChains: kept, MaxPairs: kept})
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
		at += 30_000 // so that it is not taken for a futile wake
	}
	s.end(at)
	p := s.o.Profile()
	grown := int64(heap()) - int64(before)
	checkConservation(t, p)
	count, sum := sumOf(p, MutexKind)
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
	// What is blamed was blamed while there was room: beyond, the lock is not known.
	if sum.Blamed+sum.HandOff+sum.Unattributed != sum.Waited || sum.Unattributed < time.Duration(40*(n-2*kept)) {
		t.Errorf("%+v", sum)
	}
	runtime.KeepAlive(s)
}

// chainOfNumber returns a call chain of 20 calls that tells the number.
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
