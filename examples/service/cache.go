package main

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// cache keeps finished pages.
type cache interface {
	get(id int) string
}

// makePage requests an item from the backend and computes its page.
func makePage(id int) string {
	time.Sleep(5 * time.Millisecond) // the backend
	sum := sha256.Sum256(fmt.Append(nil, id))
	for range 1000 {
		sum = sha256.Sum256(sum[:])
	}
	return fmt.Sprintf("item %d: %x\n", id, sum)
}

// lockedCache is the first version of the cache. It is simple and never makes a page twice, because
// it holds the lock while it makes one. So pages are made one at a time.
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

// keep puts a page into a map of limited size. The page to evict is arbitrary, by the order of the
// map.
func keep(pages map[int]string, id int, page string, most int) {
	for old := range pages {
		if len(pages) < most {
			break
		}
		delete(pages, old)
	}
	pages[id] = page
}

// shardedCache is the repair: pages are made without a lock. Sixteen locks remain, each held only
// for a map lookup. Two concurrent requests for the same page both make it.
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
