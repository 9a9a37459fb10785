package live

import (
	"sync"
	"time"
)

// gate lets one collection of each kind go on at a time. Who comes meanwhile is told when to come
// again instead of being queued: a queue would only make the service slower when it is slow
// already.
type gate struct {
	mu   sync.Mutex
	busy map[string]time.Time // until when, about
}

// enter begins a collection that takes about d. If there is one of the kind already, it tells how
// long that still takes, about.
func (g *gate) enter(kind string, d time.Duration) (leave func(), wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if until, busy := g.busy[kind]; busy {
		return nil, max(until.Sub(now), time.Second)
	}
	if g.busy == nil {
		g.busy = map[string]time.Time{}
	}
	g.busy[kind] = now.Add(d)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.busy, kind)
	}, 0
}
