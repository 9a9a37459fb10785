package contention

import (
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// The history of a lock is the numbered sequence of its exits: one record each time an owner leaves
// while a goroutine waits. The number of the last exit, recorded before and after a wait,
// identifies all owners during it.
//
// Exits are in chunks, linked in order. A waiter pins the chunk that is the last one when its wait
// begins. Chunks before the first pinned one are reused, so memory is proportional to the longest
// wait: a lock that is passed around for hours with short waits needs a chunk or two.

const (
	chunkExits = 16
	// maxChunks bounds the history of one lock, to about 12 MB. Exits beyond it are lost: they
	// are counted, and the time that they explain becomes unattributed.
	maxChunks = 1 << 12
)

// exit is one release of a lock that a goroutine waited for.
type exit struct {
	_ incomparable

	acquired int64 // when this owner got the lock or, if that is unknown, the first waiter came
	released int64
	// pending is, for writers of an RWMutex, when they began to hold back readers; 0 if at once.
	pending int64
	// gaps is the time between the two in which the lock was free. An owner that takes the lock
	// repeatedly before any waiter wakes leaves one exit for all holds.
	gaps     int64
	arrivals uint32 // state.arrivals when this exit was published
	doubts
	shared bool // a reader's
	g      uint64

	chain  atomic.Pointer[callstack.Chain] // set after the lock was released
	wanted atomic.Pointer[account]         // set by a waiter that needs the chain before it is set

	// forward is set by an owner that unlocked in Cond.Wait: the blame goes to the call chain of
	// the final Unlock.
	forward *forward
}

// doubts is what is not known of a run of holds, for which see sampling.go.
type doubts struct {
	// unknown is the part of the gaps in which it is unknown whether the lock was held; unsure also
	// includes the part that is only likely.
	unknown, unsure int64
	variance        float64 // of the time for which the owner held the lock, in ns²
}

// incomparable makes the compiler omit the functions that compare a struct.
type incomparable [0]func()

// forward is the call chain of a later Unlock. All Waits before that Unlock share it.
type forward struct {
	chain  atomic.Pointer[callstack.Chain]
	wanted atomic.Pointer[account]
}

// resolve sets the call chain of the final Unlock, and settles the waits that depend on it.
func (f *forward) resolve(chain *callstack.Chain) {
	f.chain.Store(chain)
	if a := f.wanted.Load(); a != nil {
		a.retry(false)
	}
}

type chunk struct {
	first uint64 // the number of exits[0]
	next  atomic.Pointer[chunk]
	pins  atomic.Int32
	done  atomic.Int32 // exits that are complete
	exits [chunkExits]exit
}

// history has the exits of a lock. One goroutine at a time adds exits: the exclusive owner of a
// Mutex, or the holder of the mutex of an RWMutex's state.
type history struct {
	seq  atomic.Uint64 // the number of the last exit
	lost atomic.Uint64 // exits that were not recorded
	tail atomic.Pointer[chunk]

	head   *chunk
	chunks int
}

// pin returns the last chunk, pinned, and the number of the last exit.
func (h *history) pin() (*chunk, uint64) {
	for {
		c := h.tail.Load()
		if c == nil {
			h.tail.CompareAndSwap(nil, &chunk{first: 1})
			continue
		}
		c.pins.Add(1)
		if h.tail.Load() == c {
			return c, h.seq.Load()
		}
		c.pins.Add(-1) // it may be reused for later exits
	}
}

// next returns the record for exit number seq+1 and its chunk, or nil if there is no room. The exit
// counts once publish is called.
func (h *history) next() (*exit, *chunk) {
	k := h.seq.Load() + 1
	c := h.tail.Load()
	if h.head == nil {
		h.head, h.chunks = c, 1
	}
	if k == c.first+chunkExits {
		n := h.grow(k)
		if n == nil {
			h.lost.Add(1)
			return nil, nil
		}
		c.next.Store(n)
		h.tail.Store(n)
		c = n
	}
	e := &c.exits[k-c.first]
	e.chain.Store(nil)
	e.wanted.Store(nil)
	e.pending, e.gaps, e.shared, e.forward = 0, 0, false, nil
	e.doubts = doubts{}
	return e, c
}

// publish makes the exit that next returned the last one, and returns its number.
func (h *history) publish() uint64 { return h.seq.Add(1) }

// grow returns an empty chunk that starts at exit k: the oldest one if no waiter needs it, else a
// new one, or nil if there are too many.
func (h *history) grow(k uint64) *chunk {
	c := h.head
	if c != h.tail.Load() && c.pins.Load() == 0 && c.done.Load() == chunkExits {
		h.head = c.next.Load()
		c.next.Store(nil)
		c.done.Store(0)
		c.first = k
		return c
	}
	if h.chunks == maxChunks {
		return nil
	}
	h.chunks++
	return &chunk{first: k}
}

// last returns the exit with number seq, or nil if there is none in the last chunk.
func (h *history) last() *exit {
	c, k := h.tail.Load(), h.seq.Load()
	if c == nil || k < c.first || k >= c.first+chunkExits {
		return nil
	}
	return &c.exits[k-c.first]
}

// complete sets the call chain of the owner that left with e.
func (e *exit) complete(c *chunk, chain *callstack.Chain) {
	e.chain.Store(chain)
	a := e.wanted.Load()
	c.done.Add(1) // from here on e may be reused for another exit
	if a != nil {
		a.retry(false)
	}
}

// known reports whether the owner's call chain is set, and that of the final Unlock if the owner
// left in Cond.Wait.
func (e *exit) known() bool {
	return e.chain.Load() != nil && (e.forward == nil || e.forward.chain.Load() != nil)
}

// want requests a call of a.retry once the owner is known.
func (e *exit) want(a *account) {
	e.wanted.Store(a)
	if e.forward != nil {
		e.forward.wanted.Store(a)
	}
}

// holder copies the known data of the owner to h.
func (e *exit) holder(h *holder) {
	h.acquired, h.released, h.pending, h.gaps = e.acquired, e.released, e.pending, e.gaps
	h.chain, h.g = e.chain.Load(), e.g
	h.doubts = e.doubts
	if e.shared {
		h.flags = ReadOwner
	}
	if e.forward != nil && h.chain != nil {
		if final := e.forward.chain.Load(); final != nil {
			h.chain = final
		} else {
			h.flags |= InWait
		}
	}
}
