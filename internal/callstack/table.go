package callstack

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// Table interns call chains. Looking up a known chain takes no lock; adding one
// does. It never holds more than its limit: further chains are counted, and
// replaced by one chain that stands for all of them.
type Table struct {
	buckets []atomic.Pointer[Chain]
	limit   int
	rest    Chain // what Capture returns once the table is full
	dropped atomic.Uint64

	mu     sync.Mutex
	chains []*Chain // by ID, less one
}

// DefaultLimit is the limit of a table made with a limit of zero. A chain takes
// about 100 B and 8 B a call, so a full table of this size takes about 20 MB.
const DefaultLimit = 1 << 16

// NewTable returns an empty table for at most limit chains.
func NewTable(limit int) *Table {
	if limit <= 0 {
		limit = DefaultLimit
	}
	n := 1 << bits.Len(uint(min(limit, 1<<20)/4))
	return &Table{buckets: make([]atomic.Pointer[Chain], n), limit: limit}
}

// Dropped returns how many captures found the table full and their chain not in it.
func (t *Table) Dropped() uint64 { return t.dropped.Load() }

// Len returns the number of chains in the table.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.chains)
}

// Rest returns the chain that stands for all those that did not fit.
func (t *Table) Rest() *Chain { return &t.rest }

// find returns the chain with the given hash, or nil.
func (t *Table) find(hash uint64) *Chain {
	c := t.buckets[hash&uint64(len(t.buckets)-1)].Load()
	for c != nil && c.hash != hash {
		c = c.next
	}
	return c
}

// full tells that a chain which is not in the table cannot be added to it.
func (t *Table) full() bool { return t.dropped.Load() != 0 }

// drop counts a capture that did not fit.
func (t *Table) drop() *Chain {
	t.dropped.Add(1)
	return &t.rest
}

// callers interns the chain of the calling goroutine under hash.
//
//go:noinline
func (t *Table) callers(hash uint64) *Chain {
	if t.full() {
		return t.drop()
	}
	var buf [MaxDepth]uintptr
	n := runtime.Callers(1, buf[:])
	return t.insert(hash, buf[:n])
}

// insert adds a chain, unless another goroutine did so meanwhile.
func (t *Table) insert(hash uint64, pcs []uintptr) *Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.find(hash); c != nil {
		return c
	}
	if len(t.chains) >= t.limit {
		return t.drop()
	}
	b := &t.buckets[hash&uint64(len(t.buckets)-1)]
	c := &Chain{
		hash: hash,
		id:   uint32(len(t.chains) + 1),
		pcs:  append([]uintptr(nil), pcs...),
		next: b.Load(),
	}
	t.chains = append(t.chains, c)
	b.Store(c)
	return c
}
