package granularity

import (
	"context"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/series"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// A site is a place that tasks come from: their class, their pool, and the call chain that created
// and, with a pool, submitted them. Statistics are kept per site, and a task has one pointer to its
// site.
type site struct {
	rec   *Recorder
	class *class
	key   siteKey

	mode       atomic.Uint32 // a lockMode; 0 while no task after the first has left its thread
	pace       pace
	begun      atomic.Int32 // tasks started in the mode firstLocked
	costs      atomic.Int64 // cost of the locks on the first and on cheap tasks, in ticks
	walls      atomic.Int64 // time of those tasks, in ticks
	longest    atomic.Int64 // longest task that has left its thread, in ticks
	cost       atomic.Int64 // maximum cost of locking one of them, in ticks
	nextSample atomic.Int64 // the tick from which one of them may be locked
	cell       cell
}

// siteKey identifies a site. A class is identified by its function's address or by its name.
type siteKey struct {
	fn    uintptr
	name  string
	chain *callstack.Chain
	pool  *poolName // nil: executed inline
}

// class is one kind of task of one recorder.
type class struct {
	name string

	mu     sync.Mutex
	series series.Series
}

// poolName is the name of a pool. All pools of one recorder with the same name share it.
type poolName struct {
	name    string
	trace   poolTrace
	workers atomic.Int64 // the most workers of those pools, or limits of groups; 0: none
}

// chains holds the call chains of all recorders.
var chains = callstack.NewTable(1 << 14)

const cacheSize = 1024

// siteCache holds recently used sites: direct-mapped, read without a lock.
type siteCache [cacheSize]atomic.Pointer[site]

// site returns the site of the key, in about 5 ns if it is in the cache.
func (r *Recorder) site(key *siteKey) *site {
	h := uint64(key.fn) ^ uint64(uintptr(unsafe.Pointer(unsafe.StringData(key.name)))) ^ uint64(uintptr(unsafe.Pointer(key.chain)))<<7
	slot := &r.cache[h*0x9e3779b97f4a7c15>>54]
	s := slot.Load()
	if s != nil && s.key.fn == key.fn && s.key.chain == key.chain && s.key.pool == key.pool && s.key.name == key.name {
		return s
	}
	s = r.findSite(*key)
	slot.Store(s)
	return s
}

// usualSite is the first site of a pool or group, and usually its only one.
type usualSite struct{ atomic.Pointer[site] }

// site returns the site of the pool's tasks that execute the function and are created and submitted
// by the chain.
func (u *usualSite) site(r *Recorder, pool *poolName, fn uintptr, chain *callstack.Chain) *site {
	s := u.Load()
	if s != nil && s.key.fn == fn && s.key.chain == chain {
		return s
	}
	s = r.site(&siteKey{fn: fn, chain: chain, pool: pool})
	if s != r.other {
		u.CompareAndSwap(nil, s)
	}
	return s
}

// maxSites limits the number of sites of a recorder.
const maxSites = 2048

// findSite is the slow path of site. Beyond the limit, it returns a site of a class "(other)".
func (r *Recorder) findSite(key siteKey) *site {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sites[key]; s != nil {
		return s
	}
	if len(r.sites) >= maxSites {
		return r.other
	}
	return r.addSite(key)
}

// addSite creates a site. The caller holds r.mu.
func (r *Recorder) addSite(key siteKey) *site {
	key.name = strings.Clone(key.name) // the caller may have built it in a buffer of its own
	name := key.name
	if key.fn != 0 {
		name = functionName(key.fn)
	}
	c := r.classes[name]
	if c == nil {
		c = &class{name: name, series: series.Series{Shift: seriesShift}}
		r.classes[name] = c
	}
	s := &site{rec: r, class: c, key: key}
	s.mode.Store(firstLocked)
	s.pace.left.Store(1)
	s.pace.gap.Store(1)
	r.sites[key] = s
	return s
}

func (r *Recorder) poolName(name string) *poolName {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pools[name]
	if p == nil {
		p = &poolName{name: name}
		r.pools[name] = p
	}
	return p
}

// limit records the workers of a pool, or the limit of a group. If there is no limit, unlimited
// remains set.
func (p *poolName) limit(workers int) {
	for {
		old := p.workers.Load()
		if old == unlimited || workers != unlimited && old >= int64(workers) || p.workers.CompareAndSwap(old, int64(workers)) {
			return
		}
	}
}

const unlimited = -1

// functionOf returns the address of a function value's code. A function value is a pointer to a
// closure, whose first word is that address.
func functionOf[F func() | func() error | func(context.Context) error](f F) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}

func functionName(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return "(unknown function)"
	}
	return symbol.Unescape(strings.TrimSuffix(f.Name(), "-fm")) // method values
}

// seriesShift is the first width of a bin: 2^22 ticks are 2 ms at 2 GHz.
const seriesShift = 22

// While an execution trace is recorded, each task is a region in it whose type is the task's class.
// The regions of a named pool belong to a trace task whose type is the pool's name. So a bottle
// graph groups by class with "-group region" and by pool with "-group task".

// poolTrace is a pool's task in the execution trace.
type poolTrace struct {
	mu    sync.Mutex
	ctx   context.Context
	task  *trace.Task
	since time.Time
}

// retask is how often a pool begins a new task in the trace. Otherwise a trace that began in
// between, or a flight recorder that has dropped old data, would lack the name.
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

// startRegion begins the region of a task of the site. A class without a name belongs to this
// package.
func (s *site) startRegion() *trace.Region {
	if s.class.name == "" {
		return nil
	}
	ctx := context.Background()
	if pool := s.key.pool; pool != nil && pool.name != "" {
		ctx = pool.context()
	}
	return trace.StartRegion(ctx, s.class.name)
}
