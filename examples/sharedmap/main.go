// Sharedmap is what the paper on lock contention (Hofer, Gnedt, Schörgenhumer, Mössenböck, ICPE
// 2016, section 6) finds in xalan and pmd: many threads share one map, and the lock around it
// admits them one by one. The repaired version has many maps with a lock each. The hash of a key
// selects the map.
//
//	go run .                  # both versions: waiters, owners and updates per second
//	go run . -o profiles      # writes profiles for go tool pprof, JSON and pictures, too
package main

import (
	"flag"
	"hash/maphash"
	"strconv"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/examples/internal/beforeafter"
)

func main() {
	o := options{}
	flag.IntVar(&o.shards, "shards", 64, "number of maps of the repaired version")
	flag.IntVar(&o.compute, "compute", 4000, "steps of computation for each update, under the map's lock")
	beforeafter.Main("updates", func() bool { return o.shards >= 2 && o.compute >= 0 }, o.variants)
}

type options struct{ shards, compute int }

func (o *options) variants() []beforeafter.Variant {
	version := func(shards int) func() (func(g, n int), func()) {
		return func() (func(g, n int), func()) {
			m := newSharded(shards)
			return func(g, n int) { m.Update(keyOf(g, n), o.compute) }, func() {}
		}
	}
	return []beforeafter.Variant{
		{Name: "before", About: "one map, one lock", Start: version(1)},
		{Name: "after", About: "shards, each with a lock of its own", Start: version(o.shards)},
	}
}

// entry is the map's value for a key.
type entry struct {
	updates int
	digest  uint64
}

// shard is a map with its lock.
type shard struct {
	mu      contention.Mutex // was: sync.Mutex
	entries map[string]entry
}

// Update computes the next digest of a key. It does so under the lock, because the digest depends
// on the previous one.
func (s *shard) Update(key string, compute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	e.updates++
	for range compute {
		e.digest = e.digest*6364136223846793005 + 1442695040888963407
	}
	s.entries[key] = e
}

// sharded is a map that is divided into shards. With one shard, it is the map before the repair.
type sharded struct {
	seed   maphash.Seed
	shards []*shard
}

func newSharded(n int) *sharded {
	m := &sharded{seed: maphash.MakeSeed()}
	for range n {
		s := &shard{entries: map[string]entry{}}
		s.mu.SetName("map") // the same name for all: one line in the profile
		m.shards = append(m.shards, s)
	}
	return m
}

// Update updates a key in its shard.
func (m *sharded) Update(key string, compute int) {
	m.shards[maphash.String(m.seed, key)%uint64(len(m.shards))].Update(key, compute)
}

// updates counts the updates of all keys.
func (m *sharded) updates() (n int) {
	for _, s := range m.shards {
		s.mu.Lock()
		for _, e := range s.entries {
			n += e.updates
		}
		s.mu.Unlock()
	}
	return n
}

// keyOf returns the key of a goroutine's n-th update. All goroutines use the same thousand keys.
func keyOf(g, n int) string {
	return strconv.Itoa((g*7919 + n*104729) % 1000)
}
