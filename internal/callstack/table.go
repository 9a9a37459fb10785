package callstack

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Table interns call chains. Looking up a known chain takes no lock; adding one does. It never
// holds more chains than its limit. Further chains are counted and represented by a single chain.
//
// Its size follows its contents, so a program that captures few chains adds little work for the
// garbage collector.
type Table struct {
	// slots has a power-of-two length and is at most half full. A chain is in the first free
	// slot from the position given by its hash.
	slots   atomic.Pointer[[]atomic.Pointer[Chain]]
	limit   int
	rest    Chain // returned by Capture once the table is full
	dropped atomic.Uint64

	mu     sync.Mutex
	chains []*Chain // by ID − 1
}

// DefaultLimit is the limit of a table made with a limit of zero. A chain takes about 100 B plus 8
// B per call, so a full table of this size takes about 20 MB.
const DefaultLimit = 1 << 16

// NewTable returns an empty table for at most limit chains.
func NewTable(limit int) *Table {
	if limit <= 0 {
		limit = DefaultLimit
	}
	t := &Table{limit: limit}
	slots := make([]atomic.Pointer[Chain], fewSlots)
	t.slots.Store(&slots)
	return t
}

const fewSlots = 64

// Dropped returns the number of captures whose chain was not in the full table.
func (t *Table) Dropped() uint64 { return t.dropped.Load() }

// Rest returns the chain that represents all chains that did not fit.
func (t *Table) Rest() *Chain { return &t.rest }

// find returns the chain with the given hash, or nil. While the table grows, it may miss a chain
// that is just being added; insert then finds it.
func (t *Table) find(hash uint64) *Chain {
	slots := *t.slots.Load()
	for i := hash; ; i++ {
		c := slots[i&uint64(len(slots)-1)].Load()
		if c == nil || c.hash == hash {
			return c
		}
	}
}

// full reports whether no new chain can be added to the table.
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

// insert adds a chain, unless another goroutine has added it since.
func (t *Table) insert(hash uint64, pcs []uintptr) *Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.find(hash); c != nil {
		return c
	}
	if len(t.chains) >= t.limit {
		return t.drop()
	}
	c := &Chain{hash: hash, pcs: append([]uintptr(nil), pcs...)}
	t.chains = append(t.chains, c)
	if slots := *t.slots.Load(); 2*len(t.chains) <= len(slots) {
		put(slots, c)
	} else {
		t.grow()
	}
	return c
}

// grow doubles the capacity and reinserts all chains.
func (t *Table) grow() {
	slots := make([]atomic.Pointer[Chain], 2*len(*t.slots.Load()))
	for _, c := range t.chains {
		put(slots, c)
	}
	t.slots.Store(&slots)
}

func put(slots []atomic.Pointer[Chain], c *Chain) {
	i := c.hash
	for slots[i&uint64(len(slots)-1)].Load() != nil {
		i++
	}
	slots[i&uint64(len(slots)-1)].Store(c)
}
