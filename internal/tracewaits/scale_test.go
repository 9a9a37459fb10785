package tracewaits

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// steps returns the number of steps that the division of waits took.
func steps(o *Observer) (n int) {
	counted := map[*tracedLock]bool{}
	for _, sites := range o.places.sites {
		for _, s := range sites {
			if s.lock != nil && !counted[s.lock.root()] {
				counted[s.lock.root()] = true
				n += s.lock.root().work
			}
		}
	}
	return n
}

// convoy plays a trace in which n goroutines block on one lock, and each of them has it once. It
// is released by as many call chains as given, in turn.
func convoy(t *testing.T, n, chains int, opt Options) (*Observer, *contention.Profile) {
	s := newScript(t, opt)
	block := s.stack(mLock + "f:10")
	unlock := make([]*timeline.Stack, chains)
	for i := range unlock {
		unlock[i] = s.stack(fmt.Sprintf("%sf:%d", mUnlock, 12+i))
	}
	at := timeline.Time(1000)
	s.g(1)
	for id := int64(2); id < int64(n)+2; id++ {
		s.g(id)
		s.to(at, id, timeline.Waiting, timeline.WaitMutex, block)
		at += 100
	}
	for id := int64(2); id < int64(n)+2; id++ {
		s.now[id].Waker, s.now[id].WakerStack = s.gs[id-1], unlock[int(id)%chains]
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
	o, p := convoy(t, n, 1, Options{})
	if work := steps(o); work > n*16*fanOut {
		t.Errorf("%d steps for %d waits", work, n)
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
	if work := steps(o); work > n*rounds*8*fanOut {
		t.Errorf("%d steps for %d waits", work, n*rounds)
	}
	if p.Locks[0].Name != "" {
		t.Errorf("%+v", p.Locks[0])
	}
}

// TestManyOwners: n waits behind n different owners take a number of steps proportional to n log n,
// with a row for all waiters as well as with a row for each, and no time is lost.
func TestManyOwners(t *testing.T) {
	for _, n := range []int{100, 1000, 10_000}[:3/min(race.Slowdown, 2)] {
		for _, opt := range []Options{{}, {Goroutines: true, MaxPairs: 500}} {
			chains := n
			if opt.Goroutines {
				chains = 1
			}
			o, p := convoy(t, n, chains, opt)
			waited, blamed, _, unattributed := totals(p)
			if want := time.Duration(n) * time.Duration(n-1) / 2 * 2000; blamed+unattributed != waited || unattributed != want {
				t.Errorf("%d owners: %v blamed, %v unattributed, want %v", n, blamed, unattributed, want)
			}
			most := 12 * n * bits.Len(uint(n))
			if work := steps(o); work > most {
				t.Errorf("%d owners, a row for each goroutine %v: %d steps, at most %d", n, opt.Goroutines, work, most)
			}
			if opt.Goroutines != (p.Dropped.Pairs > 0) {
				t.Errorf("%d owners: %d pairs are dropped", n, p.Dropped.Pairs)
			}
			if opt.Goroutines {
				continue
			}
			// Each owner holds the lock for 18 µs, while all who blocked after it wait.
			for i := range p.Pairs {
				q := &p.Pairs[i]
				by := q.Owner.Stack.Frames[0].Line - 12
				if by == 2 {
					continue // it held the lock since before the trace
				}
				waits := int64((n + 2 - by) % n)
				if q.Contentions != waits || q.Blamed != time.Duration(waits)*18*time.Microsecond || q.Longest != 18*time.Microsecond {
					t.Fatalf("%d owners, %d: %d waits, %v, want %d", n, by, q.Contentions, q.Blamed, waits)
				}
			}
		}
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
	if work := steps(shards(t, n)); work > n*8*fanOut {
		t.Errorf("%d steps for each lock", work/n)
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
	l.work = 0
	for i := n / 2; i < n; i++ {
		at := l.placeAt(&hold{asked: timeline.Time(i)*100 + overlap})
		if at != anyPlace {
			t.Fatalf("%d: %v", i, at)
		}
		// No waiter was between wake-up and run at these times.
		l.history[i].ran = l.history[i].to
	}
	for i := range n / 100 {
		x := &hold{asked: l.last().to + 2*overlap + timeline.Time(i)}
		at := l.placeAt(x)
		if at != lastPlace {
			t.Fatalf("%d: %v", i, at)
		}
	}
	if l.work > 8*n {
		t.Errorf("%d steps", l.work)
	}
	// As without sums.
	l.history[n/3].ran = l.last().to + 3*overlap
	for level := range l.sums {
		for _, s := range l.sums[level] {
			s.ran = 0
		}
	}
	if at := l.placeAt(&hold{asked: l.last().to + 2*overlap}); at != anyPlace {
		t.Error(at)
	}
}

// TestSumsChangeNothing: waits that are divided by the sums of many stretches, with few owners or
// with many, give the same profile as waits that are divided one by one.
func TestSumsChangeNothing(t *testing.T) {
	defer func(n int) { wideSum = n }(wideSum)
	plays := []func(Options) *contention.Profile{
		func(opt Options) *contention.Profile { _, p := convoy(t, 150, 1, opt); return p },
		func(opt Options) *contention.Profile { _, p := convoy(t, 150, 7, opt); return p },
		func(opt Options) *contention.Profile { _, p := overtaking(t, 40, 30, opt); return p },
	}
	for seed := range uint64(2) {
		plays = append(plays, func(opt Options) *contention.Profile { return nested(t, seed, opt) })
	}
	for i, play := range testenv.Some(plays) {
		for _, opt := range testenv.Some([]Options{{Window: 740_000}, {Goroutines: true}, {}}) {
			noSums = true
			want := play(opt)
			noSums = false
			for _, wideSum = range []int{0, 3, 1000} {
				got := play(opt)
				a, b := strings.Split(profileText(got)+rootsText(got), "\n"), strings.Split(profileText(want)+rootsText(want), "\n")
				for j := range a {
					if j >= len(b) || a[j] != b[j] {
						t.Errorf("%d, sums of more than %d owners apart:\n%.500s\none by one:\n%.500s", i, wideSum, strings.Join(a[j:], "\n"), strings.Join(b[min(j, len(b)):], "\n"))
						break
					}
				}
				if !reflect.DeepEqual(withoutIDs(got), withoutIDs(want)) {
					t.Errorf("%d, sums of more than %d owners apart: numbers differ below a microsecond", i, wideSum)
				}
			}
		}
	}
}

// TestKeptPairsAreComplete: if there is no room for all pairs, those that are kept have the same
// numbers as with room for all, and the rest has what the others have.
func TestKeptPairsAreComplete(t *testing.T) {
	_, all := convoy(t, 400, 80, Options{})
	_, few := convoy(t, 400, 80, Options{MaxPairs: 20})
	key := func(q *contention.Wait) string { return party(q.Owner) }
	left, kept := map[string]contention.Wait{}, 0
	var blamed time.Duration
	for _, q := range all.Pairs {
		left[key(&q)] = q
		blamed += q.Blamed
	}
	for _, q := range few.Pairs {
		blamed -= q.Blamed
		if want, ok := left[key(&q)]; ok {
			kept++
			if q.Contentions != want.Contentions || q.Blamed != want.Blamed || q.Longest != want.Longest || !reflect.DeepEqual(q.Blocked, want.Blocked) || q.Running != want.Running || q.Runnable != want.Runnable {
				t.Errorf("%s: %+v, want %+v", key(&q), q, want)
			}
		} else if q.Owner.Stack.Frames[0].Func != callstack.Dropped || q.Contentions != int64(401-len(few.Pairs)) || // all but those behind kept owners only
			q.Unknown() != 0 {
			t.Errorf("the rest: %+v", q)
		}
	}
	if kept < 15 || len(few.Pairs) != kept+1 || blamed != 0 {
		t.Errorf("%d of %d pairs are kept, %v differ", kept, len(few.Pairs), blamed)
	}
}

// withoutIDs returns the numbers of the pairs.
func withoutIDs(p *contention.Profile) (rows []contention.Wait) {
	for _, q := range p.Pairs {
		q.Lock, q.Waiter.Stack, q.Owner.Stack, q.Roots = nil, nil, nil, slices.Clone(q.Roots)
		for i := range q.Roots {
			q.Roots[i].Owner.Stack = nil
		}
		rows = append(rows, q)
	}
	return rows
}

// nested plays a random trace of a queue for a lock, whose owners wait for each other on channels
// while they hold it.
func nested(t *testing.T, seed uint64, opt Options) *contention.Profile {
	rng := rand.New(rand.NewPCG(seed, 3))
	s := newScript(t, opt)
	at, owner := timeline.Time(1000), int64(1)
	var queue []int64
	s.g(1)
	s.g(2) // wakes the owners
	for id := int64(3); id < 40; id++ {
		s.g(id)
		queue = append(queue, id)
		s.to(at, id, timeline.Waiting, timeline.WaitMutex, s.stack(mLock+"f:10"))
		at += 100
	}
	for range 200 {
		if rng.IntN(3) == 0 {
			s.to(at, owner, timeline.Waiting, timeline.WaitChanReceive, s.stack("runtime.chanrecv1 < main.c:5"))
			at += timeline.Time(5000 + rng.IntN(5000))
			s.now[owner].Waker, s.now[owner].WakerStack = s.gs[2], s.stack(fmt.Sprintf("runtime.chansend1 < main.s:%d", rng.IntN(4)))
			s.to(at, owner, timeline.Running, timeline.WaitNone, nil)
		}
		at += timeline.Time(10_000 + rng.IntN(10_000))
		next := queue[0]
		s.now[next].Waker, s.now[next].WakerStack = s.gs[owner], s.stack(fmt.Sprintf("%sf:%d", mUnlock, 12+rng.IntN(8)))
		s.to(at, next, timeline.Runnable, timeline.WaitMutex, nil)
		at += 1000
		s.to(at, next, timeline.Running, timeline.WaitNone, nil)
		if rng.IntN(10) == 0 { // the owner has locked it again
			at += 500
			s.to(at, next, timeline.Waiting, timeline.WaitMutex, s.stack(mLock+"f:10"))
			continue
		}
		s.to(at+200, owner, timeline.Waiting, timeline.WaitMutex, s.stack(mLock+"f:10"))
		queue = append(queue[1:], owner)
		owner = next
		at += 300
	}
	s.end(at)
	p := s.o.Profile()
	checkConservation(t, p)
	return p
}

// loggedConvoy is convoy for wrapped locks, whose owners and waiters log. In each round, there is
// another lock with the same address, whose exits have the same numbers.
func loggedConvoy(t *testing.T, n, chains, rounds int) (*Observer, *contention.Profile) {
	s := newScript(t, Options{})
	block := s.stack(wLock + "f:10")
	unlock := make([]*timeline.Stack, chains)
	for i := range unlock {
		unlock[i] = s.stack(fmt.Sprintf("%sf:%d", wUnlock, 12+i))
	}
	const ahead = 1e9 // of the clock of the messages
	message := func(at timeline.Time, id int64, kind string, fields string, stack *timeline.Stack) {
		text := "1 " + kind + string(waitlog.AppendNumber(nil, uint64(at)+ahead)) + fields
		s.o.Log(&timeline.Log{Time: at, G: s.gs[id], Category: waitlog.Category, Message: text, Stack: stack})
	}
	at := timeline.Time(1000)
	s.g(1)
	for range rounds {
		begin, got := at, at-999 // when the owner had the lock
		for id := int64(2); id < int64(n)+2; id++ {
			s.g(id)
			s.to(at, id, timeline.Waiting, timeline.WaitMutex, block)
			at += 100
		}
		for id := int64(2); id < int64(n)+3; id++ {
			by, site := id-1, unlock[int(id)%chains]
			if id < int64(n)+2 {
				s.now[id].Waker, s.now[id].WakerStack = s.gs[by], site
				s.to(at, id, timeline.Runnable, timeline.WaitMutex, nil)
			}
			var exit []byte
			for _, v := range []uint64{5, uint64(by), 10, uint64(at - got)} {
				exit = waitlog.AppendNumber(exit, v)
			}
			message(at+10, by, "x", string(exit), site)
			if by > 1 {
				start := begin + timeline.Time(100*(by-2))
				w := waitlog.Wait{Lock: 5, Waiters: uint64(n), Goroutine: uint64(by), Start: uint64(start) + ahead, Waited: int64(got - start)}
				w.Parts = []waitlog.Part{{Number: uint64(by - 1), Length: w.Waited, NS: w.Waited, Count: uint64(by - 1)}}
				message(at+20, by, "w", w.Messages()[0], nil)
			}
			got = at + 2000
			if id < int64(n)+2 {
				s.to(got, id, timeline.Running, timeline.WaitNone, nil)
			}
			at += 20_000
		}
	}
	s.end(at)
	p := s.o.Profile()
	checkConservation(t, p)
	return s.o, p
}

// TestLoggedWaitsOfManyOwners: if each of many logged waits is behind many owners, the sums give the
// same profile as the owners one by one, and take a number of steps proportional to n log n.
func TestLoggedWaitsOfManyOwners(t *testing.T) {
	defer func(n int) { wideSum = n }(wideSum)
	texts := func(p *contention.Profile) (out []string) {
		out = rowTexts(p)
		for _, q := range p.Pairs {
			out = append(out, fmt.Sprint(party(q.Owner), q.Running, q.Runnable, q.Blocked, q.Contentions, q.Blamed, q.Longest))
		}
		return out
	}
	for _, chains := range []int{1, 7, 300} {
		wideSum = math.MaxInt
		o, p := loggedConvoy(t, 300, chains, 2)
		want := texts(p)
		if o.logs.exact != 600 || o.logs.walked != 300*301 || p.Waits[0].HandOff == 0 || p.Waits[0].Unattributed != 0 {
			t.Errorf("%d exact waits, %d owners visited: %+v", o.logs.exact, o.logs.walked, p.Waits)
		}
		for _, wideSum = range []int{0, 16} {
			o, p := loggedConvoy(t, 300, chains, 2)
			if got := texts(p); !slices.Equal(got, want) {
				t.Errorf("%d call chains, sums of more than %d owners apart:\n%.2000q\none by one:\n%.2000q", chains, wideSum, got, want)
			}
			if o.logs.walked > 2*300 {
				t.Errorf("%d owners were visited one by one", o.logs.walked)
			}
		}
	}
	wideSum = 16
	for _, n := range []int{1000, 4000}[:2/min(race.Slowdown, 2)] {
		o, p := loggedConvoy(t, n, n, 1)
		work := o.logs.walked + o.logs.locks[5].work
		if work > 12*n*bits.Len(uint(n)) || p.Dropped.Pairs != 0 || len(p.Pairs) != n || p.Waits[0].Flags != contention.Logged {
			t.Errorf("%d steps for %d waits, %+v, %d pairs", work, n, p.Dropped, len(p.Pairs))
		}
	}
}
