package contention

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// convoy plays a trace in which n goroutines block for one lock, and each of them has it once.
func convoy(t *testing.T, n int, opt TraceOptions) (*TraceObserver, *Profile) {
	s := newScript(t, opt)
	block, unlock := s.stack(mLock+"f:10"), s.stack(mUnlock+"f:12")
	at := timeline.Time(1000)
	s.g(1)
	for id := int64(2); id < int64(n)+2; id++ {
		s.g(id)
		s.to(at, id, timeline.Waiting, timeline.WaitMutex, block)
		at += 100
	}
	for id := int64(2); id < int64(n)+2; id++ {
		s.now[id].Waker, s.now[id].WakerStack = s.gs[id-1], unlock
		s.to(at, id, timeline.Runnable, timeline.WaitMutex, nil)
		s.to(at+2000, id, timeline.Running, timeline.WaitNone, nil)
		at += 20_000 // longer than goroutines spin
	}
	s.end(at)
	p := s.o.Profile()
	checkConservation(t, p)
	return s.o, p
}

// TestManyWaitersForOneLockTakeNoTimeForEachOwner: the work for a wait grows with the logarithm of the number of owners in it.
func TestManyWaitersForOneLockTakeNoTimeForEachOwner(t *testing.T) {
	const n = 10_000
	o, p := convoy(t, n, TraceOptions{})
	if o.cutRoom.steps > n*5*fanOut {
		t.Errorf("%d steps for %d waits", o.cutRoom.steps, n)
	}
	// The first waits until the hold of goroutine 1 is over, the next for a hold longer, and so on; 2 µs before each are not known.
	waited, blamed, _, unattributed := totals(p)
	if blamed+unattributed != waited || unattributed == 0 || len(p.Waits) != 1 || p.Waits[0].Contentions != n || p.Locks[0].Waiters != n || p.Dropped.Exits != 0 {
		t.Errorf("%d waiters at once, %+v, %+v", p.Locks[0].Waiters, p.Waits[0], p.Dropped)
	}
	if want := int64(n) * (n - 1) / 2 * 2000; unattributed.Nanoseconds() != want {
		t.Errorf("%d ns unattributed, want %d", unattributed.Nanoseconds(), want)
	}
}

// TestSumsOfStretchesChangeNothing: waits that are cut by the sums of many stretches have the same blame as those that are cut one by one.
func TestSumsOfStretchesChangeNothing(t *testing.T) {
	for _, opt := range []TraceOptions{{}, {Goroutines: true}, {Window: 740_000}} {
		_, sums := convoy(t, 300, opt)
		oneByOne(t, func() {
			if _, p := convoy(t, 300, opt); told(p) != told(sums) {
				t.Errorf("with sums:\n%.2000s\none by one:\n%.2000s", told(sums), told(p))
			}
		})
	}
}

// oneByOne has f cut waits without sums.
func oneByOne(t *testing.T, f func()) {
	t.Helper()
	noSums = true
	defer func() { noSums = false }()
	f()
}
