package tracewaits

import (
	"fmt"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/race"
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
	if o.work > n*16*fanOut {
		t.Errorf("%d steps for %d waits", o.work, n)
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
	if o.work > n*rounds*8*fanOut {
		t.Errorf("%d steps for %d waits", o.work, n*rounds)
	}
	if p.Locks[0].Name != "" {
		t.Errorf("%+v", p.Locks[0])
	}
}

// TestManyOwners: the work for a wait behind many owners is bounded, and no time is lost.
func TestManyOwners(t *testing.T) {
	for _, n := range []int{3000, 12_000} {
		o, p := convoy(t, n, Options{Goroutines: true})
		waited, blamed, _, unattributed := totals(p)
		if want := time.Duration(n) * time.Duration(n-1) / 2 * 2000; blamed+unattributed != waited || unattributed != want {
			t.Errorf("%v blamed, %v unattributed, want %v", blamed, unattributed, want)
		}
		if o.work > n*1000 {
			t.Errorf("%d owners: %d steps for a wait", n, o.work/n)
		}
		if p.Dropped.Pairs == 0 {
			t.Errorf("%d owners: no pair is dropped", n)
		}
	}
}

// TestOnlyDistinctOwnersAreFolded: a wait of many pieces has all of its owners, if these are few.
func TestOnlyDistinctOwnersAreFolded(t *testing.T) {
	w := &waiting{}
	for i := range 100 * maxParts {
		w.blameOnly(owner{g: int64(1 + i%40)}, 1, doingRunning)
	}
	w.compact()
	if len(w.parts) != 40 || w.full || w.parts[39].ns != 100*maxParts/40 || w.parts[39].did.total() != w.parts[39].ns {
		t.Errorf("%d parts, %+v", len(w.parts), w.parts[39])
	}
}

// shards plays a trace in which n locks of different code each make one goroutine wait. Then all
// turn out to be one lock, for which their waiters queue, while another one waits in each queue.
func shards(t *testing.T, n int) *Observer {
	s := newScript(t, Options{Quick: true})
	at := timeline.Time(1000)
	wait := func(id int64, block *timeline.Stack) {
		s.g(id)
		s.to(at, id, timeline.Waiting, timeline.WaitMutex, block)
		at += 10
	}
	wake := func(id, by int64, unlock *timeline.Stack) {
		s.g(by)
		s.now[id].Waker, s.now[id].WakerStack = s.gs[by], unlock
		s.to(at, id, timeline.Runnable, timeline.WaitMutex, nil)
		s.to(at+1000, id, timeline.Running, timeline.WaitNone, nil)
		at += 20_000
	}
	block := func(i int) *timeline.Stack { return s.stack(fmt.Sprintf("%sf%d:10", mLock, i)) }
	for i := range n {
		wait(int64(i+2), block(i))
		wake(int64(i+2), 1, s.stack(fmt.Sprintf("%sf%d:12", mUnlock, i)))
	}
	at += 2 * placeWindow
	for i := range n {
		wait(int64(i+2), block(i))
	}
	for i := range n {
		wake(int64(i+2), int64(n+3), s.stack(mUnlock+"all:12"))
	}
	s.end(at)
	checkConservation(t, s.o.Profile())
	return s.o
}

// TestUnitingIsCheap: locks that turn out to be one cost no more than the releases that can still
// matter.
func TestUnitingIsCheap(t *testing.T) {
	const n = 3000
	if o := shards(t, n); o.work > n*8*fanOut {
		t.Errorf("%d steps for each lock", o.work/n)
	}
}

// TestPlacesAreFoundQuickly: whether a woken waiter had overtaken others is found without a visit
// to each release of the last milliseconds.
func TestPlacesAreFoundQuickly(t *testing.T) {
	l := &tracedLock{evicted: true}
	const n = 1 << 14
	l.peak = n
	for i := range n {
		l.add(&hold{to: timeline.Time(i) * 100, ran: timeline.Time(i)*100 + 50})
	}
	work := 0
	for i := n / 2; i < n; i++ {
		at, steps := l.placeAt(&hold{asked: timeline.Time(i)*100 + overlap})
		work += steps
		if at != anyPlace {
			t.Fatalf("%d: %v", i, at)
		}
		// No waiter was between wake-up and run at these times.
		l.history[i].ran = l.history[i].to
	}
	for i := range n / 100 {
		x := &hold{asked: l.last().to + 2*overlap + timeline.Time(i)}
		at, steps := l.placeAt(x)
		work += steps
		if at != lastPlace {
			t.Fatalf("%d: %v", i, at)
		}
	}
	if work > 8*n {
		t.Errorf("%d steps", work)
	}
	// As without sums.
	l.history[n/3].ran = l.last().to + 3*overlap
	for level := range l.sums {
		for _, s := range l.sums[level] {
			s.ran = 0
		}
	}
	if at, _ := l.placeAt(&hold{asked: l.last().to + 2*overlap}); at != anyPlace {
		t.Error(at)
	}
}

// TestRangeSumsChangeNoBlame: waits that are cut by the sums of many ranges have the same blame as
// waits cut one by one.
func TestRangeSumsChangeNoBlame(t *testing.T) {
	for _, play := range []func(Options) *contention.Profile{
		func(opt Options) *contention.Profile { _, p := convoy(t, 300, opt); return p },
		func(opt Options) *contention.Profile { _, p := overtaking(t, 60, 60, opt); return p },
	} {
		for _, opt := range []Options{{Goroutines: true}, {Window: 740_000}, {}}[:3/min(race.Slowdown, 2)] {
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
