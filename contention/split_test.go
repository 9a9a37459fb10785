//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// bruteSplit divides a wait nanosecond by nanosecond.
func bruteSplit(start, end int64, reader bool, hs []holder) (blame []float64, handOff float64) {
	blame = make([]float64, len(hs))
	for t := start; t < end; t++ {
		var writers, readers, pending []int
		next := false // the next writer is known
		for i, h := range hs {
			held := h.acquired <= t && t < h.released
			switch {
			case held && h.flags == ReadOwner:
				readers = append(readers, i)
			case held:
				writers = append(writers, i)
			case h.flags == 0 && t < h.acquired && !next:
				if next = true; h.pending != 0 && h.pending <= t {
					pending = append(pending, i) // it holds readers back
				}
			}
		}
		share := writers
		if len(writers) == 0 && !reader {
			share = readers
		} else if len(writers) == 0 && len(readers) > 0 && len(pending) > 0 {
			share = append(readers, pending...)
		}
		if len(share) == 0 {
			handOff++
		}
		for _, i := range share {
			blame[i] += 1 / float64(len(share))
		}
	}
	return blame, handOff
}

// randomHolders makes a possible history of an RWMutex: writers exclude one another and readers.
func randomHolders(rng *rand.Rand) []holder {
	var hs []holder
	t := 1 + rng.Int64N(50)
	for range rng.IntN(12) {
		if rng.IntN(2) == 0 {
			h := holder{acquired: t, released: t + 1 + rng.Int64N(60)}
			if rng.IntN(3) > 0 {
				h.pending = max(1, t-rng.Int64N(80))
			}
			hs = append(hs, h)
			t = h.released
		} else {
			last := t
			for range 1 + rng.IntN(4) {
				h := holder{flags: ReadOwner, acquired: t + rng.Int64N(20)}
				h.released = h.acquired + 1 + rng.Int64N(60)
				last = max(last, h.released)
				hs = append(hs, h)
			}
			t = last
		}
		t += rng.Int64N(20)
	}
	return hs
}

// newSums returns the account of a lock with the given owners, each of which has a call chain of
// its own unless there are fewer chains.
func newSums(rw bool, chains int, hs []holder) *account {
	a := newSession(Options{}, now()).newAccount(newLockInfo(), rw)
	all := make([]*callstack.Chain, chains)
	for i := range all {
		all[i] = new(callstack.Chain)
	}
	for i := range hs {
		hs[i].chain = all[i%chains]
	}
	a.sums.restart(new(wait))
	return a
}

func TestSplitAgainstBruteForce(t *testing.T) {
	const rounding = 12
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		hs := randomHolders(rng)
		chains := 1 + rng.IntN(8)
		a := newSums(true, chains, hs)
		w := wait{kind: kindWriter, start: 1 + rng.Int64N(300)}
		w.end = w.start + rng.Int64N(300)
		if rng.IntN(2) == 0 {
			w.kind = kindReader
		}
		for range hs {
			for _, h := range hs {
				if w.kind == kindWriter && h.flags == ReadOwner && h.acquired < w.end {
					w.end = max(w.end, h.released) // when it gets the lock
				}
			}
		}
		added := 0
		for ; added < len(hs) && (w.kind == kindReader || hs[added].acquired < w.end); added++ {
			a.sums.add(a, &hs[added])
		}
		if w.kind == kindWriter {
			a.sums.share(w.start, w.end)
		}
		for ; added < len(hs); added++ { // another wait may be settled first
			a.sums.add(a, &hs[added])
		}
		lost, _ := a.sums.lost(&w, nil)
		brute, wantHandOff := bruteSplit(w.start, w.end, w.kind == kindReader, hs)
		got, want := map[*callstack.Chain]float64{}, map[*callstack.Chain]float64{}
		handOff := w.took()
		for _, l := range lost {
			got[l.owner] += float64(l.held)
			handOff -= l.held
			if l.held > 0 && (l.from < w.start || l.to > w.end || l.held > l.to-l.from+rounding) {
				t.Fatalf("%d of the time from %d to %d", l.held, l.from, l.to)
			}
		}
		for i := range hs {
			want[hs[i].chain] += brute[i]
		}
		if handOff < 0 || math.Abs(float64(handOff)-wantHandOff) > rounding {
			t.Fatalf("%d to %d, kind %v, %+v: hand-off %d, want %v", w.start, w.end, w.kind, hs, handOff, wantHandOff)
		}
		for c := range want {
			if math.Abs(got[c]-want[c]) > rounding {
				t.Fatalf("%d to %d, kind %v, %+v: a chain gets %v, want %v", w.start, w.end, w.kind, hs, got[c], want[c])
			}
		}
	}
}

// An owner that acquired the lock repeatedly leaves one exit. The gaps are hand-off.
func TestSplitWithGaps(t *testing.T) {
	hs := []holder{{acquired: 0, released: 200}, {acquired: 250, released: 800, gaps: 150}}
	a := newSums(false, 2, hs)
	a.bookBehind(&wait{chain: new(callstack.Chain), start: 100, end: 1000, weight: 1, count: 1}, hs...)
	p := &Profile{}
	a.begun.Add(1)
	a.copyTo(p)
	if len(p.Pairs) != 2 || p.Pairs[0].Blamed+p.Pairs[1].Blamed != 500 || p.Waits[0].HandOff != 50+150+200 {
		t.Errorf("pairs %+v, waits %+v", p.Pairs, p.Waits)
	}
}

// underTest sets up a lock in the middle of a wait, as the slow paths would.
func underTest(t *testing.T) (*Mutex, *state, *account) {
	t.Helper()
	collecting(t, Options{Exact: true})
	m := new(Mutex)
	st := m.state()
	return m, st, st.accountOf(current.Load())
}

func (a *account) chainHere() *callstack.Chain { return a.session.chains().Capture() }

// A wait behind an owner whose call chain is unknown is deferred until the chain is known.
func TestDeferredUntilOwnerIsKnown(t *testing.T) {
	_, st, a := underTest(t)
	w := wait{account: a, chain: a.chainHere(), weight: 1, count: 1, start: now()}
	w.pinned, w.first = st.pin()
	e, c := st.next()
	e.acquired, e.released = w.start, w.start+1000
	st.publish()
	w.last, w.end = st.seq.Load(), w.start+1500
	a.begun.Add(1)
	a.add(&w)
	if p := Snapshot(); p.InFlight != 1 || len(p.Waits) != 0 {
		t.Fatalf("settled behind an unknown owner: %+v", p)
	}
	e.complete(c, a.chainHere())
	a.mu.Lock()
	if a.settled != 1 || len(a.deferred) != 0 {
		t.Error("not settled when the owner became known")
	}
	a.mu.Unlock()
	p := Snapshot()
	checkConservation(t, p)
	if p.InFlight != 0 || len(p.Pairs) != 1 || p.Pairs[0].Blamed != 1000 || p.Waits[0].HandOff != 500 {
		t.Errorf("%+v", p)
	}
	if n := c.pins.Load(); n != 0 {
		t.Errorf("%d pins left", n)
	}
}

// If no owner was seen, or exits were lost, no goroutine is blamed.
func TestUnattributed(t *testing.T) {
	_, st, a := underTest(t)
	w := wait{account: a, chain: a.chainHere(), weight: 1, count: 1, start: 1000, end: 1700}
	w.pinned, w.first = st.pin()
	w.last = w.first
	a.begun.Add(1)
	a.add(&w)
	p := Snapshot()
	checkConservation(t, p)
	if len(p.Pairs) != 0 || p.Waits[0].Unattributed != 700 {
		t.Errorf("%+v", p)
	}
}

// Exits of one owner are combined only if no waiter arrived between them.
func TestExtendOnlyWithoutArrivals(t *testing.T) {
	if callstack.Goid() == 0 {
		t.Skip("goroutine ids are unknown")
	}
	m, st, _ := underTest(t)
	st.pin()
	m.register(now())
	hold := func() {
		m.Lock()
		m.Unlock()
	}
	for i := range 6 {
		if i == 3 {
			st.arrivals.Add(1)
		}
		hold()
	}
	if seq, ext := st.seq.Load(), st.extended.Load(); seq != 2 || ext != 4 {
		t.Errorf("%d exits and %d extensions, want 2 and 4", seq, ext)
	}
	if e := st.last(); e.gaps <= 0 || e.gaps >= e.released-e.acquired {
		t.Errorf("gaps %d of %d", e.gaps, e.released-e.acquired)
	}
}
