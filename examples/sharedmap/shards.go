package main

import (
	"hash/maphash"
	"strconv"

	"github.com/bottleneck-go/bottleneck/contention"
)

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
