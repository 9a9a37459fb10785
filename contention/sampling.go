package contention

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Sampling
//
// While a recorded wait is under way, every owner that leaves writes down when it came and left, under the lock. For a
// lock that is held for 50 ns, that would more than halve the throughput. So what recording costs is measured, and a lock
// that would lose more than 1 % of its throughput records one wait in w. The wait is drawn before it begins, with
// probability 1/w, independently of all others and of all that happens during it (Poisson sampling; Särndal, Swensson
// and Wretman, Model Assisted Survey Sampling, 1992, section 3.5).
//
// Every wait is timed, whether it was drawn or not, so the number and the total of a lock's waits are exact, and no long
// wait is missed. Only who held the lock meanwhile is estimated: a wait that was timed is represented by the next drawn one
// that is about as long (within a factor of 4: stratification by length), whose time then counts k-fold. k is a whole number, so
// that the parts of a wait still sum to it exactly; what is left over, less than one wait, goes on to the next
// drawn one. Waits that are not yet represented when a snapshot is taken have a row of their own, in which all is
// unattributed.
//
// The variance of a row is estimated by Σ k(k-1)·y² over its drawn waits, y being the time. That is the
// variance of an estimate that does not know the total (Horvitz and Thompson, 1952), and more than that of this one.
//
// At the end of a period of a millisecond or more, w is chosen anew from the number of waits in it, which is
// known, and from what recording one costs, which was measured when one was last drawn.

const (
	// The share of throughput that may be lost to recording all waits of a lock, and to recording
	// those that are drawn if it is more than that.
	exactBudget = 0.01
	budget      = 0.005
	// maxWeight is the greatest w, and the greatest number of times that a wait counts.
	maxWeight = 1 << 20
	// leastDrawn is how many waits a second are drawn at least, on average.
	leastDrawn = 4

	minPeriod = int64(time.Millisecond)
	maxPeriod = 100 * int64(time.Millisecond)
	// enough is the number of recorded waits at which a period may end, and spent the slowdown in ns at which it may, too:
	// waits that are few, but long, have many owners.
	enough = 16
	spent  = 100_000

	// Of the releases that write something down, one in timedReleases is timed, and counts as at most mostHeld and mostAfter:
	// it may have lost its processor.
	timedReleases = 16
	mostHeld      = 2_000
	mostAfter     = 20_000
)

// sampling tells which waits of a lock are recorded.
type sampling struct {
	rest   atomic.Uint32 // w - 1
	began  atomic.Int64  // when the period began; 0: not yet
	ending atomic.Bool   // guards the last fields
	// What recording took since the period began, in ns: while the lock was held, and afterwards.
	held, after atomic.Int64

	timed atomic.Int64 // waits that were not drawn

	arrivals    uint32  // when the period began
	timedBefore int64   // likewise
	each        float64 // what recording a wait costs, in ns of throughput
}

// draw is the decision about one wait: w - 1 as it is by then, and a random number. As w is a power of two, the number is a
// multiple of w once in w times.
type draw struct{ rest, random uint32 }

// always is the draw of a wait that is recorded in any case.
var always draw

func (st *state) draw() draw {
	rest := st.sampling.rest.Load()
	if rest == 0 {
		return always
	}
	return draw{rest, rand.Uint32()}
}

// passed reports whether the wait is only timed.
func (d draw) passed() bool { return d.random&d.rest != 0 }

// lengths is the number of strata: waits of less than 1 µs, 4 µs, 16 µs, …
const lengths = 12

// stratum returns the number of the stratum of a wait that took so long.
func stratum(ns int64) int {
	return min(lengths-1, max(0, bits.Len64(uint64(ns)>>10)+1)/2)
}

// timedWaits are the waits of a lock that were timed, and that no recorded wait represents yet.
type timedWaits [2][lengths]struct{ count, ns atomic.Int64 } // of a reader in the second

// unsampled is the waiter of waits that were timed, but are represented by none.
var unsampled = callstack.NewChain([]callstack.Frame{{Func: "[not sampled]"}}, false)

// timed counts a wait that was not drawn, took so long, and ended at a moment.
func (a *account) timed(st *state, kind kindID, took, at int64) {
	u := a.unrecorded.Load()
	if u == nil {
		a.unrecorded.CompareAndSwap(nil, new(timedWaits))
		u = a.unrecorded.Load()
	}
	c := &u[readers(kind)][stratum(took)]
	c.ns.Add(took)
	c.count.Add(1)
	st.sampling.timed.Add(1)
	a.session.markSampled()
	st.reconsider(at)
}

// readers is the index in timedWaits.
func readers(k kindID) int {
	if k == kindReader {
		return 1
	}
	return 0
}

// represent lets a wait that is over stand for those that were only timed, and about as long. The caller holds a.mu.
func (a *account) represent(w *wait) {
	u := a.unrecorded.Load()
	if u == nil || w.kind == kindCond {
		return
	}
	took := w.end - w.start
	c := &u[readers(w.kind)][stratum(took)]
	if n := c.count.Swap(0); n != 0 {
		w.count += n
	}
	if took > 0 {
		left := c.ns.Swap(0)
		more := min(left/took, maxWeight-1)
		w.weight += more
		if left -= more * took; left != 0 {
			c.ns.Add(left)
		}
	}
}

// settleTimed books the waits that none represents, so that the totals are complete. The caller holds a.mu.
func (a *account) settleTimed() {
	u := a.unrecorded.Load()
	if u == nil || a.forgotten {
		return
	}
	for i := range u {
		var count, ns int64
		for j := range u[i] {
			count += u[i][j].count.Swap(0)
			ns += u[i][j].ns.Swap(0)
		}
		if count == 0 && ns == 0 {
			continue
		}
		kind := kindMutex
		switch {
		case i == readers(kindReader):
			kind = kindReader
		case a.rw:
			kind = kindWriter
		}
		if ev := a.session.events; ev != nil {
			ev.timed(a, kind, count, ns)
		}
		a.bookTimed(kind, count, ns)
	}
}

// bookTimed adds waits that were timed only.
func (a *account) bookTimed(kind kindID, count, ns int64) {
	k := waitKey{chain: unsampled, kind: kind, flags: Estimated}
	c := a.waits[k]
	if c == nil {
		a.session.cells.Add(1)
		c = new(waitCell)
		a.waits[k] = c
	}
	c.count += count
	c.waited += ns
	c.unattributed += ns
}

// reconsider ends the period if it is time.
func (st *state) reconsider(at int64) {
	s := &st.sampling
	began := s.began.Load()
	if at-began < minPeriod || !s.ending.CompareAndSwap(false, true) {
		return
	}
	defer s.ending.Store(false)
	arrivals := st.arrivals.Load()
	cost := slowdown(s.held.Load(), s.after.Load())
	wait := arrivals-s.arrivals < enough && cost < spent && at-began < maxPeriod
	if s.began.Load() != began || wait && s.rest.Load() > 0 {
		return
	}
	timed := s.timed.Load()
	s.held.Store(0)
	s.after.Store(0)
	if began != 0 {
		drawn := int64(arrivals - s.arrivals)
		s.choose(cost, drawn, drawn+timed-s.timedBefore, at-began)
	}
	s.arrivals, s.timedBefore = arrivals, timed
	s.began.Store(at)
}

// slowdown returns by how many ns recording has held up the program. If that is limited by the lock, it is what
// happens while the lock is held that counts; if it is limited by its processors, what one of them does holds up all
// of them by a fraction only. Which one it is, is not known, so it is whichever is more.
func slowdown(held, after int64) int64 {
	return max(held, (held+after)/int64(runtime.GOMAXPROCS(0)))
}

// choose sets w for the next period, given how much the last one was slowed down by recording some of all its waits.
func (s *sampling) choose(cost, drawn, all, period int64) {
	if drawn > 0 {
		each := float64(cost) / float64(drawn)
		s.each = max(each, (s.each+each)/2)
	}
	w := int64(1)
	if demand := float64(all) * s.each / float64(period); demand > exactBudget {
		most := min(maxWeight, all*int64(time.Second)/leastDrawn/period)
		for ; demand > budget && 2*w <= most; demand /= 2 {
			w *= 2
		}
	}
	s.rest.Store(uint32(w - 1))
}
