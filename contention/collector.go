package contention

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Options configures collection. The zero value is ready to use, also in long-running processes.
type Options struct {
	// Goroutines keeps separate rows for each pair of goroutine IDs of waiter and owner. Programs
	// that start a goroutine for each request then have very many rows.
	Goroutines bool
	// Exact records every wait, and every hold during a wait. By default, if recording all waits
	// would take more than 2 % of the time, a random part of them is recorded, and of an owner's
	// holds of less than 4 µs only some are observed. Exact can take a third of the throughput of a
	// hot lock (BenchmarkContendedExact). It applies while any Collector with it is on.
	Exact bool
	// MaxChains, MaxLocks and MaxPairs bound the memory: the number of call chains (0: 65536), of
	// locks (0: 16384), and of rows in the profile (0: 65536). The excess is combined and counted
	// in Profile.Dropped. With full tables, a collection takes about 60 MB. Collectors that are on
	// at the same time share call chains, and the MaxChains of the first one applies.
	MaxChains, MaxLocks, MaxPairs int
}

// Collector collects the waits for all locks of this package in the process, from Start to Stop.
// The zero value is ready to use; a Collector must not be copied. Several may be on at the same
// time, such as those of a program and of a library in it: each has all waits that began while it
// was on. [Start], [Stop] and [Snapshot] use a default Collector.
type Collector struct {
	session *session // since the last Start; guarded by control
}

// collection has the sessions of the Collectors that are on. It is immutable. Each wait is recorded
// in all of them. They share a table of call chains.
type collection struct {
	*session
	more  []*session
	exact bool
}

var (
	// current is nil if collection is off.
	current atomic.Pointer[collection]

	control sync.Mutex
	active  []*Collector // those that are on, the latest first; guarded by control
	std     Collector
)

// The errors of Start and Stop.
var (
	ErrStarted    = errors.New("contention: collection is already on")
	ErrNotStarted = errors.New("contention: Stop without Start")
)

// Start starts the default Collector, as [Collector.Start] does.
func Start(o Options) error { return std.Start(o) }

// Stop stops the default Collector.
func Stop() error { return std.Stop() }

// Snapshot returns the profile since [Start]; see [Collector.Snapshot].
func Snapshot() *Profile { return std.Snapshot() }

// Start begins to collect. While no Collector is on, locks record nothing. Start drops the earlier
// results of c, once a Snapshot of them in progress is done. It returns [ErrStarted] if c is on.
func (c *Collector) Start(o Options) error {
	callstack.Goid() // its first call takes some 100 µs: make it before locking
	control.Lock()
	defer control.Unlock()
	if slices.Contains(active, c) {
		return ErrStarted
	}
	if c.session != nil {
		c.session.forget()
	}
	c.session = newSession(o, now())
	if len(active) > 0 {
		c.session.shareChains(active[0].session)
	}
	active = slices.Insert(active, 0, c)
	nextCollection()
	return nil
}

// Stop ends the collection. Waits that have begun are still settled when they end, and a later
// Snapshot includes them. It returns [ErrNotStarted] if c is off.
func (c *Collector) Stop() error {
	control.Lock()
	defer control.Unlock()
	i := slices.Index(active, c)
	if i < 0 {
		return ErrNotStarted
	}
	active = slices.Delete(active, i, i+1)
	nextCollection()
	c.session.end(now())
	return nil
}

// nextCollection makes waits that begin from now on be recorded for the Collectors that are on.
func nextCollection() {
	if len(active) == 0 {
		current.Store(nil)
		return
	}
	next := &collection{session: active[0].session}
	for i, c := range active {
		if next.exact = next.exact || c.session.options.Exact; i > 0 {
			next.more = append(next.more, c.session)
		}
	}
	current.Store(next)
}

// Snapshot returns the profile of c since its last Start, until its Stop if there was one. It may
// be called at any time, by any goroutine; recording continues in that time. It takes about 1 µs
// per row, and some µs for each call chain that was not in an earlier Snapshot. It waits for up to
// 40 ms if an owner was preempted right after it unlocked, to get its call chain.
func (c *Collector) Snapshot() *Profile {
	control.Lock()
	s := c.session
	if s == nil {
		control.Unlock()
		return &Profile{
			Source:   FromWrappers,
			Accuracy: Exact,
			Warnings: []string{"Collection has not been started; see contention.Start."},
		}
	}
	s.kept.RLock()
	defer s.kept.RUnlock()
	control.Unlock()
	return s.snapshot()
}
