package contention

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Sampling
//
// During a recorded wait, every owner that leaves records when it came and left, under the lock. For
// a lock that is held for 50 ns by one goroutine after the other, that would more than halve the
// throughput (for one that the same goroutine takes again and again, see Runs below). So the cost of
// recording is measured. Each lock earns 2 % of the time, and pays for what recording takes. It may
// spend in advance what it earns in a quarter of a second, so a burst of waits is recorded whole. A
// lock that is overdrawn records half as many waits as before: one in w, w = 1, 2, 4, … A lock that
// owes nothing records twice as many, until it records all.
//
// A wait is drawn before it begins, with probability 1/w, independently of all others and of all
// that happens during it (Poisson sampling; Särndal, Swensson and Wretman, Model Assisted Survey
// Sampling, 1992, section 3.5).
//
// Every wait is timed, whether it was drawn or not, so the number and the total of a lock's waits
// are exact. Only the division among owners is estimated. A drawn wait represents the waits before it
// that were only timed and are about as long (within a factor of 4: stratification by length), and
// counts k-fold if they are k - 1; but no more is counted than was timed. Timed waits that no drawn
// wait represents at a snapshot have a row of their own, "[not sampled]", in which all is
// unattributed.
//
// The variance of a row is estimated by Σ k(k-1)·y² over its drawn waits, y being the time. That is
// the variance of an estimate that does not use the total (Horvitz and Thompson, 1952), and more
// than that of this one. What is not sampled may belong to any row, so the error of each contains
// it.

const (
	// budget is the part of the throughput that recording may take of a lock, and advance what
	// it may spend before it has earned it.
	budget  = 0.02
	advance = budget * float64(250*time.Millisecond)
	// maxWeight is the greatest w, and the greatest number of times that a wait counts.
	maxWeight = 1 << 20
	// leastDrawn is how many waits a second are drawn at least, on average.
	leastDrawn = 32

	minPeriod = int64(time.Millisecond)

	// Of the releases that write something down, one in timedReleases is timed, and counts as
	// at most mostHeld and mostAfter, and mostForExit more for each exit during the wait that
	// it settles: it may have lost its processor.
	timedReleases = 16
	mostHeld      = 2_000
	mostAfter     = 5_000
	mostForExit   = 200
)

// sampling decides which waits of a lock are recorded.
type sampling struct {
	rest   atomic.Uint32 // w - 1
	began  atomic.Int64  // when the period began; 0: not yet
	ending atomic.Bool   // guards the last fields
	// What recording took since the period began, in ns: while the lock was held, and
	// afterwards.
	held, after atomic.Int64

	changed atomic.Int64 // when w was last changed
	drawn   atomic.Int64 // how many waits that were drawn after that are over
	owed    float64      // ns that recording has taken beyond what was earned
}

// draw is the decision about one wait: w - 1 as it is by then, and a random number. As w is a power
// of two, the number is a multiple of w once in w times.
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
type timedWaits [2]struct { // of a reader in the second
	ns    atomic.Int64
	count [lengths]atomic.Int64 // by length
}

const notSampled = "[not sampled]"

// unsampled is the waiter of waits that were timed, but are represented by none.
var unsampled = callstack.NewChain([]callstack.Frame{{Func: notSampled}}, false)

// timed counts a wait that was not drawn and took so long.
func (a *account) timed(kind kindID, took int64) {
	c := &a.timedWaits()[readers(kind)]
	c.ns.Add(took)
	c.count[stratum(took)].Add(1)
	a.session.markSampled()
	if s := current.Load(); a.session.addedUp.Load() && s != nil {
		a.moveTimed(s.open(a.info, a.rw))
	}
}

// moveTimed moves what was not there yet when the account was added up.
func (a *account) moveTimed(to *account) {
	from, into := a.timedWaits(), to.timedWaits()
	for i := range from {
		into[i].ns.Add(from[i].ns.Swap(0))
		for j := range from[i].count {
			into[i].count[j].Add(from[i].count[j].Swap(0))
		}
	}
	to.session.markSampled()
}

func (a *account) timedWaits() *timedWaits {
	if u := a.unrecorded.Load(); u != nil {
		return u
	}
	a.unrecorded.CompareAndSwap(nil, new(timedWaits))
	return a.unrecorded.Load()
}

// readers is the index in timedWaits.
func readers(k kindID) int {
	if k == kindReader {
		return 1
	}
	return 0
}

// represent lets a wait that is over stand for those that were only timed, and about as long. The
// caller holds a.mu.
func (a *account) represent(w *wait) {
	u := a.unrecorded.Load()
	took := w.took()
	if u == nil || w.kind == kindCond {
		return
	}
	c := &u[readers(w.kind)]
	n := c.count[stratum(took)].Swap(0)
	w.count += n
	if took > 0 {
		more := min(c.ns.Load()/took, n, maxWeight-1)
		w.weight += more
		c.ns.Add(-more * took)
	}
}

// settleTimed books the waits that none represents, so that the totals are complete. The caller
// holds a.mu.
func (a *account) settleTimed() {
	u := a.unrecorded.Load()
	if u == nil || a.forgotten {
		return
	}
	for i := range u {
		var count int64
		for j := range u[i].count {
			count += u[i].count[j].Swap(0)
		}
		ns := u[i].ns.Swap(0)
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

// over notes that a wait that was drawn has been settled.
func (s *sampling) over(w *wait) {
	if w.start > s.changed.Load() {
		s.drawn.Add(1)
	}
}

// reconsider ends the period if it is time.
func (st *state) reconsider(at int64) {
	s := &st.sampling
	began := s.began.Load()
	if at-began < minPeriod || !s.ending.CompareAndSwap(false, true) {
		return
	}
	defer s.ending.Store(false)
	if s.began.Load() != began {
		return
	}
	cost := slowdown(s.held.Swap(0), s.after.Swap(0))
	s.began.Store(at)
	if began == 0 {
		s.changed.Store(at)
		return
	}
	w := s.rest.Load() + 1
	if next := s.choose(w, cost, at-began, s.drawn.Load(), at-s.changed.Load()); next != w {
		s.changed.Store(at)
		s.drawn.Store(0)
		s.rest.Store(next - 1)
	}
}

// slowdown returns by how many ns recording has delayed the program. If the lock limits the program,
// only work while the lock is held counts; if the processors do, work of one of them counts by its
// fraction of all. Which one does is not known, so slowdown returns the greater of the two.
func slowdown(held, after int64) int64 {
	return max(held, (held+after)/int64(runtime.GOMAXPROCS(0)))
}

// choose returns the next w, given by how much a period was slowed down, and how many waits drawn
// since the last change of w are over. w does not change again before the last change shows in the
// cost.
func (s *sampling) choose(w uint32, cost, period, drawn, unchanged int64) uint32 {
	s.owed += float64(cost) - budget*float64(period)
	if s.owed > advance && w < maxWeight {
		if w > 1 && drawn*int64(time.Second) < 2*leastDrawn*max(1, unchanged) {
			s.owed = advance
			return w
		}
		s.owed = advance / 2
		return 2 * w
	}
	for ; s.owed < 0 && w > 1; w /= 2 {
		s.owed += advance / 2
	}
	s.owed = min(max(s.owed, 0), advance)
	return w
}

// variance is that of a row scaled from drawn waits: Σ w(w-1)·y² over those waits, where
// a wait of weight w lost y to the row; see sampling.go. In ns².
type variance struct {
	sum float64
	// A wait may lose time to an owner in several pieces, which make one y.
	wait int64 // the number of the last wait
	lost int64 // what it lost so far
}

// add adds another piece of a wait, which are numbered from 1.
func (v *variance) add(wait, weight, ns int64) {
	if weight == 1 {
		return
	}
	if v.wait != wait {
		v.wait, v.lost = wait, 0
	}
	before, after := float64(v.lost), float64(v.lost+ns)
	v.lost += ns
	v.sum += float64(weight) * float64(weight-1) * (after*after - before*before)
}

// addShared adds an error of the given variance that waits of this weight have in common with
// others, of weight before them, in this row or another one: the sum of the rows has the variance
// of the sum.
func (v *variance) addShared(doubt float64, sum, weight int64) {
	after, before := float64(sum), float64(sum-weight)
	v.sum += doubt * (after*after - before*before)
}

// stdErr is the standard error of the row.
func (v *variance) stdErr() time.Duration { return time.Duration(math.Sqrt(v.sum)) }

// rowError is the standard error of a row. missing is the time of waits of the lock that no row
// represents: all of them may belong to this row, which twice the error contains.
func rowError(flags Flags, v variance, missing time.Duration) time.Duration {
	if flags&Estimated == 0 {
		return 0
	}
	return v.stdErr() + missing/2
}

// bothErrors is the standard error of the sum of two independent estimates.
func bothErrors(a, b time.Duration) time.Duration {
	return time.Duration(math.Hypot(float64(a), float64(b)))
}

// Runs
//
// While waiters sleep, a goroutine may take a Mutex again and again: it has a run of holds, which
// make one exit. Of holds of 50 ns there are some ten thousand in a wait. To look at the clock at
// both ends of each would take more time than the holds do.
//
// So short holds of a run, of one call chain, are seen in pairs: two holds that follow one another,
// and the time in between in which the lock is free. Between two pairs, a random number of holds
// pass unseen. That number doubles with each pair, up to mostBetween on average, or as many as last
// for longStretch. So the clock takes less than 1 % of the time for which the lock is held, but for
// the shortest holds. A hold of another call chain, or a long one, ends that, and so does another
// owner or a new waiter.
//
// How long a stretch of unseen holds lasted is known, as a seen one precedes and follows it. It is
// divided between the run's owner and free time as the pairs of the run are. At worst, that is
// wrong by all of the stretch. So each stretch adds a quarter of its square to the variance of the
// blame, and the rows are flagged Estimated. That error is the same for all waits behind the run,
// which therefore sums before it is squared.
//
// A stretch that lasted much longer than as many holds like the seen ones contains a long hold, or
// its goroutine lost its processor. The excess is divided like the long holds that were seen of this
// lock, or unattributed if those are less than fewLong. The error of the row contains all of it.
//
// With Options.Exact, or while an execution trace is being recorded, all holds
// are seen.

const (
	// mostBetween is the greatest mean number of holds between two pairs in a long run, and
	// longStretch how long they last at most, in ns.
	mostBetween = 128
	longStretch = 20_000
	// longCycle is from when on a hold, with the time after it, is long enough to be seen each
	// time, in ns.
	longCycle = 4000
	// A stretch that lasted for so much longer than it should, in ns, has a long hold in it.
	tooLong = 2000
	fewLong = 8
	// unseen is state.since of a hold that is not seen.
	unseen = -1
)

// run is what is known of the run of holds that goes on, guarded by the lock.
type run struct {
	g        uint64 // whose it is
	arrivals uint32 // state.arrivals
	between  uint32 // how many holds pass unseen, on average; 0: none
	sent     uint32 // how many pass unseen this time, and
	left     uint32 // how many of these are still to come
	passing  bool   // holds have passed since the end of the last exit
	first    bool   // the present hold is the first one after those
	// The second holds of all pairs, and the time before them.
	held, free, pairs int64
}

// longCycles are the long holds that were seen of a lock, and the time before them.
type longCycles struct{ held, free, n int64 }

// pass reports whether the hold that begins, of an owner that overtakes the waiters, passes unseen.
func (st *state) pass() bool {
	r := &st.run
	if r.left == 0 || r.arrivals != st.arrivals.Load() || r.g != callstack.Goid() {
		r.left = 0
		return false
	}
	r.left--
	return true
}

// passed reports whether the hold that ends passes unseen. It is recorded if a waiter came during it.
func (st *state) passed() bool {
	if st.since != unseen || st.run.arrivals != st.arrivals.Load() || st.forward != nil {
		return false
	}
	st.since = 0
	return true
}

// catchUp adds the holds that have passed unseen to the last exit.
func (st *state) catchUp(at int64) {
	r := &st.run
	n := int64(r.sent - r.left)
	r.left = 0
	if !r.passing {
		return
	}
	r.passing, r.first = false, true
	e := st.last()
	stretch := at - e.released
	if stretch <= 0 {
		return
	}
	e.doubt += float64(stretch) * float64(stretch) / 4
	cycle := (r.held + r.free) / r.pairs
	if likely := (n + 1) * cycle; stretch > likely*3/2+2*cycle+tooLong {
		more := stretch - likely
		e.unsure += more
		switch long := &st.long; {
		case long.n < fewLong:
			e.unknown += more
			e.gaps += more
		default:
			e.gaps += int64(float64(more) * float64(long.free) / float64(long.held+long.free))
		}
		stretch = likely
	}
	once := min(stretch, r.free/r.pairs) // it begins and ends with free time
	e.gaps += once + int64(float64(stretch-once)*float64(r.free)/float64(r.held+r.free))
	e.released = at
}

// seen notes a hold that was added to the last exit, and the time for which the lock was free
// before it, and decides how many holds pass unseen now.
func (st *state) seen(e *exit, held, free int64) {
	r := &st.run
	if r.first { // the time before it is not known
		r.first = false
		return
	}
	s := st.account.Load().session
	if held+free > longCycle {
		st.long.held += held
		st.long.free += free
		st.long.n++
	}
	if held+free > longCycle || held+free <= 0 || st.rw || s.exact || s.tracing() {
		r.end()
		return
	}
	r.held += held
	r.free += free
	r.pairs++
	r.between = min(mostBetween, max(1, 2*r.between), uint32(max(1, longStretch*r.pairs/(r.held+r.free))))
	r.sent = 1 + rand.Uint32N(2*r.between-1)
	r.left = r.sent
	st.came.Store(0)
	r.g, r.arrivals = e.g, e.arrivals
	r.passing = true
}

// end has all holds be seen, until there are enough that are alike.
func (r *run) end() { *r = run{} }
