package contention

import (
	"math/rand/v2"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

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
// A stretch that lasted for much longer than so many holds like the seen ones has a long hold in
// it, or its goroutine lost its processor. What it lasted too long is divided as the long ones that
// were seen of this lock, or unattributed if they are less than fewLong. All of it may be the
// owner's, or nobody's: the error of the row contains it.
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

// passed reports whether the hold that ends has passed unseen. It has to be recorded if a waiter
// came during it.
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
