package main

import (
	"math/rand/v2"
	"runtime/metrics"
)

// entry is an entry of a cache: one line of the processor's cache, in a list by age.
type entry struct {
	next  *entry
	value uint64
	_     [6]uint64
}

// cache is a list of entries, and the entries by their place in the list.
//
// After a compaction the entries are in memory in the order of the list, so a walk along the list
// is a walk along memory, which is fast. Each replacement puts an entry somewhere else, so the walk
// jumps more and more. The source does not show that: the work is the same, only the addresses
// differ.
type cache struct {
	at        []*entry
	cursor    int
	random    *rand.Rand
	cycles    uint64 // of the collector, at the last call of collected
	compacted int
}

func newCache(entries int) *cache {
	c := &cache{at: make([]*entry, entries), random: rand.New(rand.NewPCG(1, 2))}
	for i := range c.at {
		c.at[i] = &entry{value: uint64(i)}
	}
	c.compact()
	return c
}

// compact copies the entries, in the order of the list, into one piece of memory, as a copying
// collector does. Go's collector does not.
func (c *cache) compact() {
	slab := make([]entry, len(c.at))
	for i, old := range c.at {
		slab[i] = *old
		c.at[i] = &slab[i]
		if i > 0 {
			slab[i-1].next = &slab[i]
		}
	}
	slab[len(slab)-1].next = &slab[0]
	c.compacted++
}

// collected reports whether the collector has finished a cycle since the last call.
func (c *cache) collected() bool {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	n := cycles[0].Value.Uint64()
	defer func() { c.cycles = n }()
	return n != c.cycles
}

// unit is a unit of work: it visits some entries and replaces some random ones.
//
//go:noinline
func (c *cache) unit(visits, replacements int) (sum uint64) {
	e := c.at[c.cursor]
	for range visits {
		sum += e.value
		e = e.next
	}
	c.cursor = (c.cursor + visits) % len(c.at)
	for range replacements {
		i := c.random.IntN(len(c.at))
		old := c.at[i]
		e := &entry{next: old.next, value: old.value}
		c.at[i] = e
		c.at[(i+len(c.at)-1)%len(c.at)].next = e
	}
	return sum
}
