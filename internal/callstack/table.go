package callstack

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Table interns call chains. Looking up a known chain takes no lock; adding one
// does. It never holds more than its limit: further chains are counted, and
// replaced by one chain that stands for all of them.
//
// It is as large as what is in it: a program that hardly ever captures a chain has hardly
// more for the garbage collector to look at.
type Table struct {
	// slots has a power of two of them, at most half of them in use. A chain is in the first
	// one that is free from where its hash says.
	slots   atomic.Pointer[[]atomic.Pointer[Chain]]
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
	t := &Table{limit: limit}
	slots := make([]atomic.Pointer[Chain], fewSlots)
	t.slots.Store(&slots)
	return t
}

const fewSlots = 64

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

// find returns the chain with the given hash, or nil. While the table grows, it may miss
// one that is just being added, which insert then finds.
func (t *Table) find(hash uint64) *Chain {
	slots := *t.slots.Load()
	for i := hash; ; i++ {
		c := slots[i&uint64(len(slots)-1)].Load()
		if c == nil || c.hash == hash {
			return c
		}
	}
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

// insert adds a chain, unless another goroutine did so during that time.
func (t *Table) insert(hash uint64, pcs []uintptr) *Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.find(hash); c != nil {
		return c
	}
	if len(t.chains) >= t.limit {
		return t.drop()
	}
	c := &Chain{
		hash: hash,
		id:   uint32(len(t.chains) + 1),
		pcs:  append([]uintptr(nil), pcs...),
	}
	t.chains = append(t.chains, c)
	if slots := *t.slots.Load(); 2*len(t.chains) <= len(slots) {
		put(slots, c)
	} else {
		t.grow()
	}
	return c
}

// grow makes room for twice as many chains, and puts all of them there.
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
