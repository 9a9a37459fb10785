package granularity

import (
	"context"
	"runtime/trace"
	"sync"
	"time"
)

// While an execution trace is recorded, each task is a region in it whose type
// is the task's class, and the regions of a named pool belong to a trace task whose type
// is the pool's name. So a bottle graph groups by class with "-group region" and by
// pool with "-group task".

// poolTrace is a pool's task in the execution trace.
type poolTrace struct {
	mu    sync.Mutex
	ctx   context.Context
	task  *trace.Task
	since time.Time
}

// retask is how often a pool begins a new task in the trace. A trace that began
// during that time, or a flight recorder that forgot its past, would otherwise not know the name.
const retask = 250 * time.Millisecond

// context returns the context of the pool's task in the trace.
func (p *poolName) context() context.Context {
	t := &p.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.ctx == nil || now.Sub(t.since) > retask {
		if t.task != nil {
			t.task.End()
		}
		t.ctx, t.task = trace.NewTask(context.Background(), p.name)
		t.since = now
	}
	return t.ctx
}

// startRegion begins the region of a task of the site. A class without a name is our own.
func (s *site) startRegion() *trace.Region {
	if s.class.name == "" {
		return nil
	}
	ctx := context.Background()
	if s.pool != nil && s.pool.name != "" {
		ctx = s.pool.context()
	}
	return trace.StartRegion(ctx, s.class.name)
}
