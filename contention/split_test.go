//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// bruteSplit does the same as split, nanosecond by nanosecond.
func bruteSplit(start, end int64, reader bool, hs []holder) (blame []float64, handOff float64) {
	blame = make([]float64, len(hs))
	for t := start; t < end; t++ {
		var writers, readers, pending []int
		for i, h := range hs {
			held := h.acquired <= t && t < h.released
			switch {
			case held && h.shared:
				readers = append(readers, i)
			case held:
				writers = append(writers, i)
			case !h.shared && h.pending != 0 && h.pending <= t && t < h.acquired:
				pending = append(pending, i)
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
	for range rng.IntN(6) {
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
				h := holder{shared: true, acquired: t + rng.Int64N(20)}
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

func TestSplitAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var s splitter
	for range 5000 {
		hs := randomHolders(rng)
		start := 1 + rng.Int64N(200)
		end := start + rng.Int64N(200)
		reader := rng.IntN(2) == 0
		parts, handOff := s.split(start, end, reader, hs)
		want, wantHandOff := bruteSplit(start, end, reader, hs)
		got := make([]float64, len(hs))
		sum := handOff
		for _, p := range parts {
			got[p.holder] += float64(p.ns)
			sum += p.ns
		}
		if sum != end-start || float64(handOff) != wantHandOff {
			t.Fatalf("%d to %d, reader %v, %+v: parts and hand-off sum to %d; hand-off %d, want %v", start, end, reader, hs, sum, handOff, wantHandOff)
		}
		for i := range hs {
			if math.Abs(got[i]-want[i]) > 12 { // the last reader gets the remainders
				t.Fatalf("%d to %d, reader %v, %+v: holder %d gets %v, want %v", start, end, reader, hs, i, got[i], want[i])
			}
		}
	}
}

// An owner that acquired the lock repeatedly leaves one exit. The gaps are hand-off.
func TestSplitWithGaps(t *testing.T) {
	var s splitter
	parts, handOff := s.split(100, 1000, false, []holder{
		{acquired: 0, released: 200},
		{acquired: 250, released: 800, gaps: 150},
		{acquired: 2, released: 150}, // before the others: it has no part
	})
	if len(parts) != 2 || parts[0].ns != 100 || parts[1].ns != 400 || handOff != 50+150+200 {
		t.Errorf("parts %+v, hand-off %d", parts, handOff)
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
	m.register()
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
