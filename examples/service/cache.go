package main

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// cache keeps pages that were made before.
type cache interface {
	get(id int) string
}

// makePage asks the backend for an item and makes its page, which takes some computing.
func makePage(id int) string {
	time.Sleep(5 * time.Millisecond) // the backend
	sum := sha256.Sum256(fmt.Append(nil, id))
	for range 1000 {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Sprintf("item %d: %x\n", id, sum)
}

// lockedCache is the cache as it was first written: simple, and no page is ever made twice, since the
// lock is held while one is made. So no two pages are made at the same time.
type lockedCache struct {
	mu    contention.Mutex
	pages map[int]string
}

func newLockedCache() *lockedCache {
	c := &lockedCache{pages: map[int]string{}}
	c.mu.SetName("cache")
	return c
}

func (c *lockedCache) get(id int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	page, ok := c.pages[id]
	if !ok {
		page = makePage(id)
		keep(c.pages, id, page, capacity)
	}
	return page
}

// keep puts a page into a map of limited size. Which page has to go is chosen by the map's order, which is none.
func keep(pages map[int]string, id int, page string, most int) {
	for old := range pages {
		if len(pages) < most {
			break
		}
		delete(pages, old)
	}
	pages[id] = page
}

// shardedCache is the repair: pages are made without a lock, and the locks that are left are
// sixteen, each held for as long as it takes to look into a map. Two requests for the same page that come
// together both make it; so be it.
type shardedCache [16]shard

type shard struct {
	mu    contention.Mutex
	pages map[int]string
}

func newShardedCache() *shardedCache {
	c := &shardedCache{}
	for i := range c {
		c[i].pages = map[int]string{}
		c[i].mu.SetName("cache shard")
	}
	return c
}

func (c *shardedCache) get(id int) string {
	s := &c[id%len(c)]
	if page, ok := s.look(id); ok {
		return page
	}
	page := makePage(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(s.pages, id, page, capacity/len(c))
	return page
}

func (s *shard) look(id int) (page string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, ok = s.pages[id]
	return page, ok
}
