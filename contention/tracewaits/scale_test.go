package tracewaits

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// convoy plays a trace in which n goroutines block on one lock, and each of them has it once.
func convoy(t *testing.T, n int, opt Options) (*Observer, *contention.Profile) {
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

// TestWaitCostIsLogarithmicInOwners: the work for a wait grows with the logarithm of the number of
// its owners.
func TestWaitCostIsLogarithmicInOwners(t *testing.T) {
	const n = 10_000
	o, p := convoy(t, n, Options{})
	if o.cutRoom.steps > n*8*fanOut {
		t.Errorf("%d steps for %d waits", o.cutRoom.steps, n)
	}
	// The first waits until the end of the hold of goroutine 1, the next for a hold longer, and
	// so on; 2 µs before each are unknown.
	waited, blamed, _, unattributed := totals(p)
	if blamed+unattributed != waited || unattributed == 0 || len(p.Waits) != 1 || p.Waits[0].Contentions != n || p.Locks[0].Waiters != n || p.Dropped.Exits != 0 {
		t.Errorf("%d waiters at once, %+v, %+v", p.Locks[0].Waiters, p.Waits[0], p.Dropped)
	}
	if want := int64(n) * (n - 1) / 2 * 2000; unattributed.Nanoseconds() != want {
		t.Errorf("%d ns unattributed, want %d", unattributed.Nanoseconds(), want)
	}
}

// overtaking plays a trace in which n goroutines wait for one lock in turn, rounds times each. All
// but the first request it while a woken goroutine does not run yet, so that they may overtake each
// other, and every fifth does, by far.
func overtaking(t *testing.T, n, rounds int, opt Options) (*Observer, *contention.Profile) {
	s := newScript(t, opt)
	block, unlock := s.stack(mLock+"f:10"), s.stack(mUnlock+"f:12")
	at, owner := timeline.Time(1000), int64(1)
	s.g(1)
	queue := []int64{}
	for id := int64(2); id < int64(n)+2; id++ {
		s.g(id)
		s.to(at, id, timeline.Waiting, timeline.WaitMutex, block)
		at += 100
		queue = append(queue, id)
	}
	for i := range n * rounds {
		if i%5 == 4 {
			queue[0], queue[n/2] = queue[n/2], queue[0]
		}
		next := queue[0]
		queue = append(queue[1:], owner)
		s.now[next].Waker, s.now[next].WakerStack = s.gs[owner], unlock
		s.to(at, next, timeline.Runnable, timeline.WaitMutex, nil)
		s.to(at+1000, owner, timeline.Waiting, timeline.WaitMutex, block)
		s.to(at+2000, next, timeline.Running, timeline.WaitNone, nil)
		owner, at = next, at+20_000
	}
	s.end(at)
	p := s.o.Profile()
	checkConservation(t, p)
	return s.o, p
}

// TestOvertakingDoesNotVisitAllOwners: waiters that leave the queue out of order do not make each
// wait visit all owners.
func TestOvertakingDoesNotVisitAllOwners(t *testing.T) {
	const n, rounds = 1000, 6
	o, p := overtaking(t, n, rounds, Options{})
	if o.cutRoom.steps > n*rounds*8*fanOut {
		t.Errorf("%d steps for %d waits", o.cutRoom.steps, n*rounds)
	}
	if p.Locks[0].Name != "" {
		t.Errorf("%+v", p.Locks[0])
	}
}

// TestRangeSumsChangeNoBlame: waits that are cut by the sums of many ranges have the same blame as
// waits cut one by one.
func TestRangeSumsChangeNoBlame(t *testing.T) {
	for _, play := range []func(Options) *contention.Profile{
		func(opt Options) *contention.Profile { _, p := convoy(t, 300, opt); return p },
		func(opt Options) *contention.Profile { _, p := overtaking(t, 60, 60, opt); return p },
	} {
		for _, opt := range []Options{{}, {Goroutines: true}, {Window: 740_000}} {
			sums := play(opt)
			oneByOne(t, func() {
				if p := play(opt); profileText(p) != profileText(sums) {
					t.Errorf("with sums:\n%.2000s\none by one:\n%.2000s", profileText(sums), profileText(p))
				}
			})
		}
	}
}

// oneByOne has f cut waits without sums.
func oneByOne(t *testing.T, f func()) {
	t.Helper()
	noSums = true
	defer func() { noSums = false }()
	f()
}
