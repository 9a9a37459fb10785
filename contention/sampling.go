package contention

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Sampling
//
// During a recorded wait, every owner that leaves records when it came and left, under the lock,
// which takes longer than a hold of 50 ns. So each lock earns 2 % of the time, and pays for the
// measured time of recording. It may spend in advance what it earns in a quarter of a second. A
// lock that is overdrawn halves the fraction of waits that it records: one in w, w = 1, 2, 4, … A
// lock that owes nothing doubles it, until it records all.
//
// A wait is drawn before it begins, with probability 1/w, independently of all else (Poisson
// sampling; Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, section 3.5).
// Every wait is timed, so the number and the total of a lock's waits are exact. A drawn wait
// represents the earlier waits that were only timed and are about as long (within a factor of 4):
// it counts k-fold if there are k - 1 of them, but never for more than was timed. Timed waits that
// no drawn wait represents at a snapshot have a row of their own, "[not sampled]".
//
// A wait of 1 ms or more that was not drawn is recorded when it is over, in the row of its waiter.
// Its owners have left no records: a drawn wait of that length represents the earlier ones of its
// own row; the rest is unattributed. A lock may spend another 1 % of the time on that. If it takes
// more, only waits of 4 ms, 16 ms, … count as long.
//
// The variance of a row is estimated by Σ k(k-1)·y² over its drawn waits, where y is the time: that
// of an estimate that does not use the total (Horvitz and Thompson, 1952), which is larger. The
// error of each row includes the time that is not sampled, as it may belong to any of them.

const (
	// budget is the part of a lock's throughput that recording may take, and advance what it may
	// spend before earning it.
	budget  = 0.02
	advance = budget * float64(250*time.Millisecond)
	// maxWeight is the maximum of w, and of the number of times that a wait counts.
	maxWeight = 1 << 20
	// leastDrawn is the minimum number of waits drawn per second, on average.
	leastDrawn = 32

	minPeriod = int64(time.Millisecond)

	// A wait is long from 1<<20 ns on, which is where a stratum begins.
	leastLong   = int64(1 << 20)
	longStratum = 6
	longBudget  = 0.01
	// mostQueued is the number of long waits that are booked at once.
	mostQueued = 64

	// Of the releases that record something, one in timedReleases is timed. It counts as at most
	// mostHeld and mostAfter, plus mostForExit for each exit during the wait that it settles,
	// since it may have been preempted.
	timedReleases = 16
	mostHeld      = 2_000
	mostAfter     = 5_000
	mostForExit   = 200
)

// sampling decides which waits of a lock are recorded.
type sampling struct {
	_ incomparable

	rest   atomic.Uint32 // w - 1
	began  atomic.Int64  // when the period began; 0: not yet
	ending atomic.Bool   // guards the last fields
	// Time that recording has taken since the period began, in ns: while the lock was held, and
	// afterwards.
	held, after atomic.Int64

	changed atomic.Int64 // when w was last changed
	drawn   atomic.Int64 // number of finished waits that were drawn after that
	owed    float64      // ns that recording has taken in excess of what was earned

	// raised is by how many strata the least long wait is longer than leastLong. longCost and
	// longOwed are as held and owed, for recording long waits that were not drawn.
	raised   atomic.Int32
	longCost atomic.Int64
	longOwed float64
}

// draw is the decision about one wait: w - 1 at the time, and a random number. As w is a power of
// two, the number is a multiple of w once in w times.
type draw struct{ rest, random uint32 }

// always is the draw of a wait that is always recorded.
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

// stratum returns the number of the stratum of a wait of ns nanoseconds.
func stratum(ns int64) int {
	return min(lengths-1, max(0, bits.Len64(uint64(ns)>>10)+1)/2)
}

// timedWaits counts the waits of a lock that were timed and that no recorded wait represents yet.
type timedWaits struct {
	_ incomparable

	sums [views]struct {
		ns    atomic.Int64
		count [lengths]atomic.Int64 // by length
	}

	// The long waits that are not booked yet. They have a mutex of their own, as the waiters hold
	// the lock.
	mu    sync.Mutex
	long  []longWait
	spare []longWait // guarded by the mutex of the account
}

// longWait is a long wait that was not drawn.
type longWait struct {
	waitKey
	took int64
}

const notSampled = "[not sampled]"

// unsampled is the waiter of timed waits that no recorded wait represents.
var unsampled = callstack.NewChain([]callstack.Frame{{Func: notSampled}}, false)

// timed counts a finished wait that was not drawn.
func (t *tracker[L]) timed(w *wait) {
	a := w.account
	if a == nil {
		return
	}
	at, st := now(), t.st.Load()
	s := &st.sampling
	if w.end = at; w.took() < leastLong<<(2*s.raised.Load()) {
		w.record(notDrawn, nil)
	} else {
		w.chain = a.session.capture(unsafe.Pointer(w))
		w.g = callstack.Goid()
		a.firstSeen(w.chain, unsafe.Pointer(w))
		w.record(longNotDrawn, nil)
		s.longCost.Add(min(mostHeld, now()-at))
	}
	st.reconsider(at)
}

// timed counts a wait that was not drawn.
func (a *account) timed(w *wait) {
	c := &a.timedWaits().sums[viewOf(w.kind)]
	c.ns.Add(w.took())
	c.count[stratum(w.took())].Add(1)
	a.session.markSampled()
}

// timedLong records a long wait that was not drawn. Its time belongs to the row of its waiter, but
// is unattributed until drawn waits represent it.
func (a *account) timedLong(w *wait) {
	l := longWait{a.keyOf(w), w.took()}
	l.flags |= Estimated
	u := a.timedWaits()
	u.mu.Lock()
	u.long = append(u.long, l)
	n := len(u.long)
	u.mu.Unlock()
	if n >= mostQueued && a.mu.TryLock() {
		a.bookLong(u)
		a.mu.Unlock()
	}
	a.session.markSampled()
}

func (a *account) timedWaits() *timedWaits {
	if u := a.unrecorded.Load(); u != nil {
		return u
	}
	a.unrecorded.CompareAndSwap(nil, new(timedWaits))
	return a.unrecorded.Load()
}

// unowned counts the long waits of a row whose owners no drawn wait represents yet.
type unowned struct {
	ns    int64
	count [lengths - longStratum]int64 // by length
}

// bookLong adds the queued long waits to their rows. The caller holds a.mu.
func (a *account) bookLong(u *timedWaits) {
	u.mu.Lock()
	long := u.long
	u.long = u.spare[:0]
	u.mu.Unlock()
	u.spare = long
	if a.forgotten {
		return
	}
	for i := range long {
		l := &long[i]
		_, c := a.cellOf(l.waitKey)
		c.long.count[stratum(l.took)-longStratum]++
		c.long.ns += l.took
		c.longest = max(c.longest, l.took)
		a.longest = max(a.longest, l.took)
	}
	clear(long)
}

// whole returns a copy of the cell that includes its long waits.
func (c *waitCell) whole() waitCell {
	all := *c
	for _, n := range c.long.count {
		all.count += n
	}
	all.waited += c.long.ns
	all.unattributed += c.long.ns
	return all
}

// represent makes a finished wait represent those that were only timed and are about as long. The
// caller holds a.mu.
func (a *account) represent(w *wait) {
	u := a.unrecorded.Load()
	took := w.took()
	if u == nil || w.kind == kindCond {
		return
	}
	i, c := stratum(took), &u.sums[viewOf(w.kind)]
	n := c.count[i].Swap(0)
	w.count += n
	if took > 0 {
		more := min(c.ns.Load()/took, n, maxWeight-1)
		w.weight += more
		c.ns.Add(-more * took)
	}
	if i < longStratum {
		return
	}
	a.bookLong(u)
	k := a.keyOf(w)
	k.flags |= Estimated
	if c := a.waits[k]; c != nil {
		n := &c.long.count[i-longStratum]
		w.long = min(c.long.ns/took, *n, maxWeight-1)
		w.count += w.long
		w.weight += w.long
		c.long.ns -= w.long * took
		*n -= w.long
	}
}

// settleTimed books the waits that no recorded wait represents, so that the totals are complete.
// The caller holds a.mu.
func (a *account) settleTimed() {
	u := a.unrecorded.Load()
	if u == nil || a.forgotten {
		return
	}
	a.bookLong(u)
	for i := range u.sums {
		var count int64
		for j := range u.sums[i].count {
			count += u.sums[i].count[j].Swap(0)
		}
		ns := u.sums[i].ns.Swap(0)
		if count == 0 && ns == 0 {
			continue
		}
		k := waitKey{chain: unsampled, kind: kindMutex, flags: Estimated}
		switch {
		case i == viewReaders:
			k.kind = kindReader
		case a.rw:
			k.kind = kindWriter
		}
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
}

// over notes that a drawn wait has been settled.
func (s *sampling) over(w *wait) {
	if w.start > s.changed.Load() {
		s.drawn.Add(1)
	}
}

// reconsider ends the period if it is over, and adapts w.
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
	s.chooseLong(s.longCost.Swap(0), at-began)
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

// chooseLong adapts the length from which waits are long, given what recording those that were not
// drawn has taken in a period.
func (s *sampling) chooseLong(cost, period int64) {
	s.longOwed = max(-advance, s.longOwed+float64(cost)-longBudget*float64(period))
	raised := s.raised.Load()
	switch {
	case s.longOwed > advance:
		raised = min(raised+1, lengths-1-longStratum)
	case s.longOwed == -advance && raised > 0:
		raised--
	default:
		return
	}
	s.longOwed = 0
	s.raised.Store(raised)
}

// slowdown returns by how many ns recording has delayed the program. If the lock limits the
// program, only work while the lock is held counts; if the processors (P) do, work on one of them
// counts by its fraction of all. It is unknown which one applies, so slowdown returns the larger
// value.
func slowdown(held, after int64) int64 {
	return max(held, (held+after)/int64(runtime.GOMAXPROCS(0)))
}

// choose returns the next w, given the cost of recording in a period, and the number of finished
// waits drawn since the last change of w. It does not change w again before the cost reflects the
// last change.
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

// variance returns by how much the variance of a row grows, in ns², if what a wait of the given
// weight lost to the row grows: the row's is Σ w(w-1)·y² over its drawn waits.
func variance(weight, before, after int64) float64 {
	y, x := float64(after), float64(before)
	return float64(weight) * float64(weight-1) * (y*y - x*x)
}

// rowError returns the standard error of a row. missing is the time of waits of the lock that no
// row represents. All of it may belong to this row; twice the error includes it.
func rowError(flags uint32, variance float64, missing time.Duration) time.Duration {
	if flags&Estimated == 0 {
		return 0
	}
	return time.Duration(math.Sqrt(variance)) + missing/2
}

// bothErrors returns the standard error of the sum of two independent estimates.
func bothErrors(a, b time.Duration) time.Duration {
	return time.Duration(math.Hypot(float64(a), float64(b)))
}

// Runs
//
// While waiters sleep, a goroutine may take a Mutex thousands of times in a row. Such a run of holds
// is one exit. Reading the clock at both ends of a hold of 50 ns would take more time than the hold.
// So short holds of a run, with the same call chain, are observed in pairs: two consecutive holds,
// and the free time in between. Between two pairs, a random number of holds pass unseen. It doubles
// with each pair, up to mostBetween on average, or to as many as last for longStretch. A hold of
// another call chain, a long hold, another owner or a new waiter ends this.
//
// The length of a stretch of unseen holds is known. It is divided between owner and free time in the
// proportion of the pairs. At worst, the error is the whole stretch, so a quarter of its square adds
// to the variance of the blame, which all waits behind the run share; rows are flagged Estimated. A
// stretch that lasted much longer than its number of holds suggests contains a long hold, or its
// goroutine lost its processor (P). The excess is divided in the proportion of the long holds
// observed for this lock, or is unattributed if there are fewer than fewLong. The error of the row
// includes all of it.
//
// With Options.Exact, or while an execution trace is being recorded, all holds are observed.

const (
	// mostBetween is the maximum mean number of holds between two pairs in a long run, and
	// longStretch the maximum length of these holds, in ns.
	mostBetween = 128
	longStretch = 20_000
	// longCycle is the minimum length of a hold, with the free time before it, that is observed
	// each time, in ns.
	longCycle = 4000
	// A stretch that exceeds its expected length by tooLong, in ns, contains a long hold.
	tooLong = 2000
	fewLong = 8
	// unseen is the value of state.since for a hold that is not observed.
	unseen = -1
)

// run is the state of the current run of holds, guarded by the lock.
type run struct {
	_ incomparable

	g        uint64 // the owner
	arrivals uint32 // state.arrivals
	between  uint32 // mean number of holds that pass unseen; 0: none
	sent     uint32 // number that pass unseen this time,
	left     uint32 // and the number of these still to come
	passing  bool   // holds have passed since the end of the last exit
	first    bool   // the current hold is the first one after those
	// The second holds of all pairs, and the free time before them.
	held, free, pairs int64
}

// longCycles has the observed long holds of a lock, and the free time before them.
type longCycles struct{ held, free, n int64 }

// pass reports whether the hold that begins passes unseen. Its owner overtakes the waiters.
func (st *state) pass() bool {
	r := &st.run
	if r.left == 0 || r.arrivals != st.arrivals.Load() || r.g != callstack.Goid() {
		r.left = 0
		return false
	}
	r.left--
	return true
}

// passed reports whether the hold that ends passes unseen. It is recorded if a waiter came during
// it.
func (st *state) passed() bool {
	if st.since != unseen || st.run.arrivals != st.arrivals.Load() || st.forward != nil {
		return false
	}
	st.since = 0
	return true
}

// catchUp adds the unseen holds to the last exit.
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
	e.variance += float64(stretch) * float64(stretch) / 4
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
	once := min(stretch, r.free/r.pairs) // the stretch begins and ends with free time
	e.gaps += once + int64(float64(stretch-once)*float64(r.free)/float64(r.held+r.free))
	e.released = at
}

// seen notes a hold that was added to the last exit and the time for which the lock was free before
// it, and decides how many holds pass unseen next.
func (st *state) seen(e *exit, held, free int64) {
	r := &st.run
	if r.first { // the free time before it is unknown
		r.first = false
		return
	}
	c := current.Load()
	if held+free > longCycle {
		st.long.held += held
		st.long.free += free
		st.long.n++
	}
	if held+free > longCycle || held+free <= 0 || st.rw || c == nil || c.exact || c.tracing() {
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

// end makes all holds observed, until enough of them are alike.
func (r *run) end() { *r = run{} }
