package contention

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The goroutines here alternate: one makes a step of Lock or Unlock while all others stand still,
// and logs the clock before and after it. So the blame is known to some 100 ns, whatever the
// machine does, and the profile must agree: nothing twice, nothing missing, nothing attributed to
// another owner.

// span is the time of an event: between the two.
type span struct{ least, most int64 }

// A sequenced goroutine locks and unlocks.
type sequenced struct {
	seq    *sequence
	rng    *rand.Rand
	steady bool // always in the same function
	lazy   bool // seldom takes a step
	name   string
	turn   chan bool // false: the last one
	taken  chan struct{}
	next   sequencedStep
}

type sequencedStep uint8

const (
	toLock   sequencedStep = iota
	toAwake                // when the lock is free
	toUnlock               // it holds the lock
	toFinish               // it has released it
)

type loggedHold struct {
	owner    string
	from, to span
}

type loggedContention struct {
	session  *session
	waiter   string
	from, to span
	over     bool // its goroutine has released the lock and finished
}

type sequence struct {
	m     Mutex
	owner *sequenced
	holds []loggedHold
	waits []*loggedContention
}

// step waits for the goroutine's next turn. It returns false if there is none.
func (s *sequenced) step(next sequencedStep) bool {
	s.next = next
	s.taken <- struct{}{}
	return <-s.turn
}

// do returns the time of the call of f.
func do(f func()) (at span) {
	at.least = now()
	f()
	at.most = now()
	return at
}

// live locks and unlocks, each time in another function.
func (s *sequenced) live() {
	for s.step(toLock) {
		i := s.rng.IntN(len(sequencedNames))
		if s.steady {
			i = 0
		}
		s.name = sequencedNames[i]
		[]func(){s.alice, s.bob, s.carol}[i]()
	}
	s.taken <- struct{}{}
}

// cycle takes the steps of mutex.go, without its lock of package sync.
func (s *sequenced) cycle() {
	q, t := s.seq, &s.seq.m.tracker
	var w wait
	var r release
	var mine *loggedContention
	hold := loggedHold{owner: s.name}
	if q.owner == nil {
		hold.from = do(func() {
			if t.waiters.Load() != 0 {
				t.bargedIn()
			}
		})
	} else {
		session := current.Load().session
		seen := false
		from := do(func() { seen = t.arrive(&w, t.draw(), kindMutex, 0) })
		if seen {
			mine = &loggedContention{session: session, waiter: s.name, from: from}
			q.waits = append(q.waits, mine)
		}
		s.step(toAwake)
		hold.from = do(func() {
			if seen {
				t.acquired(&w)
			} else if t.waiters.Load() != 0 {
				t.bargedIn()
			}
		})
		if mine != nil {
			mine.to = hold.from
		}
	}
	q.owner = s
	s.step(toUnlock)
	hold.to = do(func() {
		if t.waiters.Load() != 0 {
			t.leave(&r)
		}
	})
	q.holds = append(q.holds, hold)
	q.owner = nil
	s.step(toFinish)
	r.finish()
	if mine != nil {
		mine.over = true
	}
}

//go:noinline
func (s *sequenced) alice() { s.cycle() }

//go:noinline
func (s *sequenced) bob() { s.cycle() }

//go:noinline
func (s *sequenced) carol() { s.cycle() }

var sequencedNames = []string{"alice", "bob", "carol"}

func newSequence(rng *rand.Rand, n int) (*sequence, []*sequenced) {
	q := new(sequence)
	var all []*sequenced
	for i := range n {
		s := &sequenced{
			seq: q, rng: rng, steady: rng.IntN(2) == 0, lazy: i > 1 && rng.IntN(3) == 0,
			turn: make(chan bool), taken: make(chan struct{}),
		}
		go s.live()
		<-s.taken
		all = append(all, s)
	}
	return q, all
}

// pick returns a goroutine that can take a step; a waiter for the lock only if the lock is free.
func (q *sequence) pick(rng *rand.Rand, all []*sequenced, last *sequenced, idle bool) *sequenced {
	if last != nil && rng.IntN(3) == 0 && (last.next != toAwake || q.owner == nil) && (!idle || last.next != toLock) {
		return last // owners return before any waiter wakes, and waits are settled before their owners are known
	}
	for _, i := range rng.Perm(len(all)) {
		if s := all[i]; (!s.lazy || idle || rng.IntN(100) == 0) && (s.next != toAwake || q.owner == nil) && (!idle || s.next != toLock) {
			return s
		}
	}
	return nil
}

func (s *sequenced) take() {
	s.turn <- true
	<-s.taken
}

func TestBlameOfSequences(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		q, all := newSequence(rng, 2+rng.IntN(8))
		var last *sequenced
		for range 6 { // sessions of one lock
			if err := Start(Options{Exact: true, Goroutines: rng.IntN(2) == 0}); err != nil {
				t.Fatal(err)
			}
			session := current.Load().session
			for range 100 + rng.IntN(400) {
				if last = q.pick(rng, all, last, false); last != nil {
					last.take()
				}
				if rng.IntN(500) == 0 {
					Snapshot()
				}
			}
			if rng.IntN(2) == 0 {
				// The session ends during holds and waits, which continue in the
				// next one.
				if err := Stop(); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(2) == 0 {
					continue
				}
			}
			for {
				s := q.pick(rng, all, nil, true)
				if s == nil {
					break
				}
				s.take()
			}
			if current.Load() != nil {
				if err := Stop(); err != nil {
					t.Fatal(err)
				}
			}
			q.compare(t, fmt.Sprintf("seed %d", seed), session, Snapshot())
		}
		for {
			s := q.pick(rng, all, nil, true)
			if s == nil {
				break
			}
			s.take()
		}
		for _, s := range all {
			s.turn <- false
			<-s.taken
		}
	}
}

// compare compares a profile with the log.
func (q *sequence) compare(t *testing.T, what string, session *session, p *Profile) {
	t.Helper()
	checkConservation(t, p)
	least, most := map[[2]string]int64{}, map[[2]string]int64{}
	var n, leastWaited, mostWaited int64
	for _, w := range q.waits {
		if w.session != session {
			continue
		}
		if !w.over {
			t.Fatalf("%s: a wait is not over", what)
		}
		n++
		leastWaited += w.to.least - w.from.most
		mostWaited += w.to.most - w.from.least
		for _, h := range q.holds {
			pair := [2]string{w.waiter, h.owner}
			least[pair] += max(0, min(w.to.least, h.to.least)-max(w.from.most, h.from.most))
			most[pair] += max(0, min(w.to.most, h.to.most)-max(w.from.least, h.from.least))
		}
	}
	name := func(p Party) string {
		for _, f := range p.Stack.Frames {
			for _, name := range sequencedNames {
				if strings.HasSuffix(f.Func, name) {
					return name
				}
			}
		}
		return p.Stack.String()
	}
	blamed := map[[2]string]int64{}
	for _, r := range p.Pairs {
		blamed[[2]string{name(r.Waiter), name(r.Owner)}] += int64(r.Blamed)
	}
	waited, _, _, unattributed := totals(p)
	var count int64
	for _, w := range p.Waits {
		count += w.Contentions
	}
	if count != n || int64(waited) < leastWaited || int64(waited) > mostWaited || p.InFlight != 0 {
		t.Errorf("%s: %d waits of %d ns, %d in flight, want %d waits of %d to %d ns", what, count, waited, p.InFlight, n, leastWaited, mostWaited)
	}
	for pair, ns := range blamed {
		if ns > most[pair] {
			t.Errorf("%s: %s blames %s for %d ns, at most %d", what, pair[0], pair[1], ns, most[pair])
		}
	}
	for pair, ns := range least {
		if blamed[pair] < ns && int64(unattributed) < ns-blamed[pair] {
			t.Errorf("%s: %s blames %s for %d ns, at least %d; %v is unattributed", what, pair[0], pair[1], blamed[pair], ns, unattributed)
		}
	}
}
