package contention

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// madeHold is a hold of a made-up history: the owner, the time of the hold, how long the lock was
// free before it, and when the owner was itself blocked because of a root.
type madeHold struct {
	owner, root            int
	from, to, gaps         int64
	blockedFrom, blockedTo int64
	exit                   *exit
	chunk                  *chunk
	contended              int64
}

// lost is the time that a wait lost to the hold, and the part of it due to the root.
func (h *madeHold) lost(w *wait) (held, because int64) {
	from, to := max(h.from, w.start), min(h.to, w.end)
	if to <= from {
		return 0, 0
	}
	return max(0, to-from-h.gaps), max(0, min(h.blockedTo, to)-max(h.blockedFrom, from))
}

// TestBlameByCumulativeSums generates histories of a lock: holds of a few call chains, some of
// which are blocked by others, and waits behind up to 200 of them. The waits overlap, end in about
// the order in which they began, and are settled in another order, partly before the call chains
// of the owners are known. The blame in the profile is what each wait lost to each hold.
func TestBlameByCumulativeSums(t *testing.T) {
	for seed := range uint64(30 / min(race.Slowdown, 3)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := newSession(Options{}, now())
		info := newLockInfo()
		st := &state{info: info}
		a := s.open(info, false)
		st.account.Store(a)
		var chains []*callstack.Chain
		for i := range 2 + rng.IntN(4) {
			chains = append(chains, callstack.NewChain([]callstack.Frame{{Func: fmt.Sprint("f", i)}}, false))
		}
		if seed%8 == 7 { // more than the sums cover
			for i := range 40 {
				chains = append(chains, callstack.NewChain([]callstack.Frame{{Func: fmt.Sprint("g", i)}}, false))
			}
		}
		var holds []*madeHold
		var active, over, all []*wait
		var untold []*madeHold
		begin := func(at int64) {
			w := &wait{account: a, history: &st.history, chain: chains[rng.IntN(2)], g: uint64(4000 + rng.IntN(64)), start: at, weight: 1, count: 1}
			if seed%5 == 4 && rng.IntN(2) == 0 { // it represents others, too
				w.weight = 1 + rng.Int64N(4)
				w.count = w.weight + rng.Int64N(2)
			}
			w.pinned, w.first = st.pin()
			a.begun.Add(1)
			active, all = append(active, w), append(all, w)
		}
		most := []int{4, 30, 200}[seed%3] // waiters
		at := int64(1000)
		for i := range 3000 {
			h := &madeHold{owner: rng.IntN(len(chains)), from: at + rng.Int64N(20)}
			h.to = h.from + 2 + rng.Int64N(200)
			waited := len(active) > 0
			for len(active) < most && rng.IntN(3) > 0 && i < 2800 {
				begin(h.from + rng.Int64N(h.to-h.from))
			}
			if !waited {
				h.from = min(h.from, at)
			}
			if len(active) == 0 && i < 2999 {
				at = h.to + 1
				continue
			}
			if st.tail.Load() == nil {
				st.pin()
			}
			e, c := st.next()
			h.exit, h.chunk = e, c
			e.released, e.g = h.to, uint64(1+i)
			if e.acquired = h.from; !waited && len(active) > 0 {
				e.acquired = h.to // when the first waiter came
				for _, w := range active {
					e.acquired = min(e.acquired, w.start)
				}
			}
			if rng.IntN(4) == 0 && waited {
				h.gaps = rng.Int64N(h.to - h.from)
				e.gaps = h.gaps
			} else if rng.IntN(6) == 0 {
				h.root = rng.IntN(2)
				h.blockedFrom = h.from + rng.Int64N(h.to-h.from)
				h.blockedTo = h.blockedFrom + rng.Int64N(h.to-h.blockedFrom)
				if h.blockedTo > h.blockedFrom {
					s.waited.add(e.g, []waitedPiece{{from: h.blockedFrom, to: h.blockedTo, ns: h.blockedTo - h.blockedFrom, links: 1, chain: chains[h.root]}})
				}
			}
			if rng.IntN(3) == 0 {
				begin(h.to + 1) // before the exit is recorded
			}
			st.publish()
			holds = append(holds, h)
			untold = append(untold, h)
			at = h.to + 1
			for len(active) > 0 && (len(active) >= most || i > 2900 || rng.IntN(4) == 0) {
				k := rng.IntN(min(3, len(active)))
				w := active[k]
				active = append(active[:k], active[k+1:]...)
				w.end, w.last, w.waiters = at, st.seq.Load(), int32(len(active)+1)
				over = append(over, w)
				if rng.IntN(2) == 0 {
					break
				}
			}
			identify := func() {
				untold[0].exit.complete(untold[0].chunk, chains[untold[0].owner])
				untold = untold[1:]
			}
			for len(untold) > 3 || len(untold) > 0 && rng.IntN(2) == 0 {
				identify()
			}
			for len(over) > 4 || len(over) > 0 && rng.IntN(2) == 0 {
				k := rng.IntN(len(over))
				a.add(over[k])
				over = append(over[:k], over[k+1:]...)
			}
			if i == 2999 {
				for len(untold) > 0 {
					identify()
				}
				for _, w := range append(over, active...) {
					if w.end == 0 {
						w.end, w.last, w.waiters = at, st.seq.Load(), 1
					}
					a.add(w)
				}
			}
		}

		p := s.snapshot()
		checkConservation(t, p)
		blamed, because, counts := map[string]int64{}, map[string]int64{}, map[string]int64{}
		var waited, contended int64
		for _, w := range all {
			waited += (w.end - w.start) * w.weight
			seen := map[string]bool{}
			for _, h := range holds[w.first:w.last] {
				held, blocked := h.lost(w)
				if held == 0 && blocked == 0 {
					continue
				}
				pair := name(w.chain) + " " + name(chains[h.owner])
				blamed[pair] += held * w.weight
				because[pair+" "+name(chains[h.root])] += blocked * w.weight
				if !seen[pair] {
					seen[pair] = true
					counts[pair] += w.count
				}
				h.contended = max(h.contended, held)
			}
		}
		for _, h := range holds {
			contended += h.contended
		}
		if got, _, _, unattributed := totals(p); int64(got) != waited || unattributed != 0 || p.InFlight != 0 {
			t.Errorf("seed %d: waited %d, want %d; %d unattributed, %d in flight", seed, got, waited, unattributed, p.InFlight)
		}
		if got := int64(p.Locks[0].Contended); seed%5 == 4 {
			// Waits that represent others count as often as these.
		} else if got != contended {
			t.Errorf("seed %d: contended for %d, want %d", seed, got, contended)
		}
		for _, q := range p.Pairs {
			pair := q.Waiter.Stack.Frames[0].Func + " " + q.Owner.Stack.Frames[0].Func
			blamed[pair] -= int64(q.Blamed) // waits that represent others have a row of their own
			counts[pair] -= q.Contentions
			for _, r := range q.Roots {
				if r.Kind == "" {
					continue
				}
				key := pair + " " + r.Owner.Stack.Frames[0].Func
				because[key] -= int64(r.Blamed)
			}
		}
		for pair, ns := range blamed {
			if ns != 0 || counts[pair] != 0 {
				t.Errorf("seed %d: %s: %d waits lost %d more than the rows have", seed, pair, counts[pair], ns)
			}
		}
		for key, ns := range because {
			if ns != 0 {
				t.Errorf("seed %d: %s: %d more because of that root than the rows have", seed, key, ns)
			}
		}
	}
}

func name(c *callstack.Chain) string { return c.Frames()[0].Func }

// A madeQueue is a lock that waiters acquire in the order of their arrival. Each waiter returns
// immediately. They have four call chains.
type madeQueue struct {
	waiters int
	st      *state
	account *account
	chains  [4]*callstack.Chain
	waits   []wait
	n       int
	at      int64
}

func newMadeQueue(waiters int) *madeQueue {
	q := &madeQueue{waiters: waiters, st: &state{info: newLockInfo()}, at: 1000}
	q.account = newSession(Options{}, now()).open(q.st.info, false)
	for i := range q.chains {
		q.chains[i] = callstack.NewChain([]callstack.Frame{{Func: fmt.Sprint("f", i)}}, false)
	}
	return q
}

// step lets a waiter arrive and, once all have, an owner leave, and settles the wait of the next
// one.
func (q *madeQueue) step() {
	g := uint64(q.n % (q.waiters + 1))
	w := wait{account: q.account, history: &q.st.history, chain: q.chains[q.n%2], g: g, start: q.at, weight: 1, count: 1, waiters: int32(q.waiters)}
	w.pinned, w.first = q.st.pin()
	q.waits = append(q.waits, w)
	e, c := q.st.next()
	e.acquired, e.released, e.g = q.at, q.at+100, g
	q.st.publish()
	e.complete(c, q.chains[q.n%4])
	q.at += 150
	if q.n++; q.n < q.waiters {
		return
	}
	w = q.waits[0]
	q.waits = q.waits[1:]
	w.end, w.last = q.at, q.st.seq.Load()
	q.account.add(&w)
}

// TestSettlingDependsOnCallChains: ten and a hundred times as many waiters, each behind as many
// more holds, take no more steps to settle a wait, as the owners have the same four call chains.
func TestSettlingDependsOnCallChains(t *testing.T) {
	for _, waiters := range []int{50, 500, 5000 / race.Slowdown} {
		q := newMadeQueue(waiters)
		for range 3 * waiters { // the sums reach their final size
			q.step()
		}
		before, settled := q.account.sums.visits, q.account.settled
		for range 4 * waiters {
			q.step()
		}
		visits := float64(q.account.sums.visits-before) / float64(q.account.settled-settled)
		t.Logf("%d waiters: %.2f exits and causes looked at for each wait", waiters, visits)
		if causes := len(q.account.sums.causes); visits > float64(4+causes) || causes != len(q.chains) {
			t.Errorf("%d waiters: %.1f exits and causes looked at for each wait, want 4 more than causes at most; %d causes, want %d", waiters, visits, causes, len(q.chains))
		}
	}
}

// TestSettlingOfRWMutexDependsOnCallChains is TestSettlingDependsOnCallChains for writers and readers
// that wait for an RWMutex. In each round, three readers have the lock together, then a writer.
func TestSettlingOfRWMutexDependsOnCallChains(t *testing.T) {
	for _, waiters := range []int{20, 200, 2000} {
		st := &state{info: newLockInfo(), rw: true}
		a := newSession(Options{}, now()).open(st.info, true)
		var chains [4]*callstack.Chain
		for i := range chains {
			chains[i] = callstack.NewChain([]callstack.Frame{{Func: fmt.Sprint("f", i)}}, false)
		}
		var waits []wait
		at, read := int64(1000), false
		leave := func(n int, e holder) {
			to, c := st.next()
			to.acquired, to.released, to.pending, to.shared = e.acquired, e.released, e.pending, e.flags == ReadOwner
			st.publish()
			to.complete(c, chains[n%4])
		}
		arrive := func(kind kindID) wait {
			w := wait{account: a, history: &st.history, kind: kind, chain: chains[0], start: at, weight: 1, count: 1}
			w.pinned, w.first = st.pin()
			return w
		}
		round := func() {
			waits = append(waits, arrive(kindWriter))
			reader := arrive(kindReader)
			if read = len(waits) > waiters; read {
				waits[0].end, waits[0].last = at+100, st.seq.Load()+3
			}
			for i := range 3 {
				leave(i, holder{acquired: at, released: at + 50 + int64(10*i), flags: ReadOwner})
			}
			if read {
				leave(3, holder{acquired: at + 100, released: at + 200, pending: waits[0].start})
				reader.end, reader.last, reader.granted = at+210, st.seq.Load(), at+200
				a.add(&reader)
				a.add(&waits[0])
				waits = waits[1:]
			} else {
				leave(3, holder{acquired: at + 100, released: at + 200})
			}
			at += 300
		}
		for range 3 * waiters {
			round()
		}
		before, settled := a.sums.visits, a.settled
		for range 4 * waiters {
			round()
		}
		visits := float64(a.sums.visits-before) / float64(a.settled-settled)
		t.Logf("%d waiters: %.2f exits, edges and causes looked at for each wait", waiters, visits)
		// Three readers with their arrivals and departures, one writer, and six causes.
		if causes := len(a.sums.causes); visits > 20 || causes > 6 {
			t.Errorf("%d waiters: %.1f exits, edges and causes looked at for each wait, want 20 at most; %d causes", waiters, visits, causes)
		}
	}
}

// BenchmarkSettle is the cost of a wait after the lock was released, by the number of owners before
// it.
func BenchmarkSettle(b *testing.B) {
	for _, owners := range []int{1, 8, 63, 500} {
		b.Run(fmt.Sprint(owners), func(b *testing.B) {
			q := newMadeQueue(owners)
			b.ReportAllocs()
			for b.Loop() {
				q.step()
			}
		})
	}
}
