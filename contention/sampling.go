package contention

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Hot locks
//
// Writing down an exit takes two looks at the clock inside the critical section, and
// some work outside. For a lock that is held for 50 ns and always waited for, that
// would more than halve the throughput. So a lock that would lose more than 2 % of its
// throughput to it goes over to sampling, by itself, and the profile says so.
//
// Each wait is then drawn with probability 1/w, independently of all others. One that
// is drawn is recorded whole, however long it lasts, and counts w-fold; one that is not
// does not even read the clock. As w is fixed before the draw, w times the recorded
// waits is an unbiased estimate of all waits, whatever they do (Horvitz and Thompson,
// 1952), and as the draws are independent, Σ w(w-1)·y² over the recorded waits is an
// unbiased estimate of its variance, y being the time (Poisson sampling; Särndal,
// Swensson and Wretman, Model Assisted Survey Sampling, 1992, section 3.5). w is a whole
// number, so the parts of a wait still sum to it exactly.
//
// At the end of a period of a millisecond or more, w is chosen anew from what recording
// cost in it. A period that saw little of that goes on for longer, up to a limit.

const (
	// What it takes to write an exit, how much of that is while the lock is held, and what it takes to
	// register and settle a wait, and to look at one exit for it, in ns. Most of it is
	// waiting for memory that another processor has written to.
	exitCost = 300
	heldCost = 150
	waitCost = 1200
	walkCost = 60
	// The share of throughput that may be lost to recording all waits of a lock, and to recording
	// those that are drawn if it is more than that.
	exactBudget = 0.02
	budget      = 0.01
	// maxWeight is the greatest w.
	maxWeight = 1 << 20

	minPeriod = int64(time.Millisecond)
	maxPeriod = 100 * int64(time.Millisecond)
	// enough is the number of recorded waits at which a period may end, and spent the slowdown in ns at which it may, too:
	// waits that are few, but long, have many owners.
	enough = 16
	spent  = 100_000
	// Of the waits that are not drawn, one in 2^lookBits looks at the clock, so that a
	// period ends also if nothing is drawn any more.
	lookBits = 4
)

// sampling tells which waits of a lock are recorded.
type sampling struct {
	rest   atomic.Uint32 // w - 1
	began  atomic.Int64  // when the period began; 0: not yet
	ending atomic.Bool   // guards what follows

	exits    uint64  // when the period began
	arrivals uint32  // when the period began
	demand   float64 // what recording all waits would cost, as a share of throughput
}

// draw is the decision about one wait: w - 1 as it is by then, and a random number. As w is a power of two, the number is a
// multiple of w once in w times.
type draw struct{ rest, random uint32 }

func (st *state) draw() draw { return draw{st.sampling.rest.Load(), random()} }

// passed tells that there is nothing to be done about the wait. It has to be quick,
// and whoever asks must go on to the lock at once: the longer a goroutine takes from
// finding the lock in use to going to sleep, the more often it gets the lock after all, and
// the more rarely one of the others gets it several times in a row. 15 ns more there
// take 10 % off the throughput of a lock that is held for 50 ns.
func (d draw) passed() bool {
	return d.random&d.rest != 0 && d.random>>(32-lookBits) != 0
}

// weigh returns the weight of the wait, 0 if it is not recorded.
func (st *state) weigh(d draw) int64 {
	if d.random&d.rest == 0 {
		return int64(d.rest) + 1
	}
	if !d.passed() {
		st.reconsider(now())
	}
	return 0
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
	exits := st.seq.Load() + st.lost.Load() + st.extended.Load()
	a := st.account.Load()
	var settling int64
	if a != nil {
		settling = a.work.Load()
	}
	cost := slowdown(int64(exits-s.exits), settling)
	wait := arrivals-s.arrivals < enough && cost < spent && at-began < maxPeriod
	if s.began.Load() != began || wait && s.rest.Load() > 0 {
		return
	}
	if a != nil {
		a.work.Add(-settling)
	}
	if began != 0 {
		s.choose(max(cost, slowdown(1, waitCost)), at-began)
	}
	s.exits, s.arrivals = exits, arrivals
	s.began.Store(at)
}

// slowdown returns by how many ns recording has held up the program. If that is limited by the lock, it is what
// happens while the lock is held that counts; if it is limited by its processors, what one of them does holds up all
// of them by a fraction only. Which one it is, is not known, so it is whichever is more.
func slowdown(exits, settling int64) int64 {
	return max(exits*heldCost, (exits*exitCost+settling)/int64(runtime.GOMAXPROCS(0)))
}

// choose sets w for the next period, given how much the last one was slowed down, at least as much as
// by a single wait: that none was drawn does not prove that there was none.
func (s *sampling) choose(cost, period int64) {
	w := uint32(1)
	demand := float64(cost) * float64(s.rest.Load()+1) / float64(period)
	s.demand = max(demand, (s.demand+demand)/2)
	if s.demand > exactBudget {
		for d := s.demand; d > budget && w < maxWeight; d /= 2 {
			w *= 2
		}
	}
	s.rest.Store(w - 1)
}
