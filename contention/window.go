package contention

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// Hot locks
//
// Writing down an exit takes two looks at the clock inside the critical section, and
// some work outside. For a lock that is held for 50 ns and always waited for, that
// would more than halve the throughput. So a lock that spends more than a few percent
// of the time on it goes over to sampling, by itself, and the profile says so.
//
// Time is cut into slots, and w slots in a row, or 32 if that is more, are a period. Of
// each w slots of a period one is recorded, the same in all, drawn at random. Waits
// that begin in it are recorded, whole, however long they last, and count w-fold; waits
// that begin in other slots are not registered at all, and cost a look at the clock by
// the waiter, who has the time. As every wait is
// recorded with probability 1/w, whenever it begins, w times the recorded waits is an
// unbiased estimate of all waits (Horvitz and Thompson, 1952). w is a whole number,
// so the parts of a wait still sum to it exactly.
//
// w is chosen at the end of a period, from what the period cost, for the next one:
// before its slot is drawn, so that it does not depend on the waits it decides about.

const (
	slotBits = 15 // a slot takes 2^15 ns = 33 µs
	minSlots = 32 // of a period, so that its cost is that of 1 ms at least

	// What it takes to write an exit, to settle a wait, and to look at one exit for it, in ns.
	exitCost = 150
	waitCost = 500
	walkCost = 4
	// budget is the share of time that may go into recording a lock, in 1/1024.
	budget = 55

	// A period is packed into 64 bits: its first slot, the slot drawn, and log2 w.
	logBits  = 4
	pickBits = 14
	maxLog   = pickBits
)

// window tells which waits of a lock are recorded.
type window struct {
	period atomic.Uint64
	// exits is the number of exits when the period began.
	exits atomic.Uint64
}

func unpack(p uint64) (start int64, pick, log int64) {
	return int64(p >> (pickBits + logBits)), int64(p>>logBits) & (1<<pickBits - 1), int64(p) & (1<<logBits - 1)
}

// slots returns the length of a period.
func slots(log int64) int64 { return max(minSlots, int64(1)<<log) }

// admit returns the weight of a wait that begins now, 0 if it is not recorded.
func (st *state) admit(s *session, now int64) (weight int64) {
	if s.exact {
		return 1
	}
	for {
		p := st.window.period.Load()
		start, pick, log := unpack(p)
		slot := now>>slotBits - start
		switch {
		case log == 0:
			return 1
		case slot < slots(log):
			if slot&(1<<log-1) == pick {
				return 1 << log
			}
			return 0
		}
		st.roll(p, now)
	}
}

// reconsider begins a new period if the present one has ended.
func (st *state) reconsider(at int64) {
	p := st.window.period.Load()
	start, _, log := unpack(p)
	if at>>slotBits-start >= slots(log) {
		st.roll(p, at)
	}
}

// roll begins the period after p, unless another goroutine has done so.
func (st *state) roll(p uint64, at int64) {
	start, _, log := unpack(p)
	exits := st.seq.Load() + st.lost.Load() + st.extended.Load()
	var settled int64
	a := st.account.Load()
	if a != nil {
		settled = a.work.Load()
	}
	cost := int64(exits-st.window.exits.Load())*exitCost + settled
	log = nextLog(log, cost*1024/(at-start<<slotBits))
	pick := rand.Uint64() & (1<<log - 1)
	next := uint64(at)>>slotBits<<(pickBits+logBits) | pick<<logBits | uint64(log)
	if st.window.period.CompareAndSwap(p, next) {
		st.window.exits.Store(exits)
		if a != nil {
			a.work.Add(-settled)
		}
	}
}

// nextLog returns log2 w for the next period, given that of the last and its cost
// in 1/1024 of the time.
func nextLog(log, cost int64) int64 {
	if cost > budget {
		return min(maxLog, log+int64(bits.Len64(uint64(cost/budget))))
	}
	if cost < budget/4 && log > 0 {
		return log - 1
	}
	return log
}
