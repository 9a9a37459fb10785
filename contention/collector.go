package contention

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Options configures collection. The zero value is ready to use, also in long-running processes.
// While several Collectors are on, all collect what any of their Options requests.
type Options struct {
	// Goroutines keeps separate rows for each pair of goroutine IDs of waiter and owner. Programs
	// that start a goroutine for each request then have very many rows.
	Goroutines bool
	// Exact records every wait and every hold during it. By default, a random part of the waits
	// is recorded if recording all of them would take more than 2 % of the time, and only some of
	// an owner's holds of less than 4 µs are observed. Exact can take three quarters of the
	// throughput of a hot lock.
	Exact bool
	// NoChains captures no call chains: rows are of locks, and the Stack of waiters and owners is
	// nil. Recording a wait then takes 5 % less time, and 25 % less at a depth of 40 calls. While
	// several Collectors are on, it applies if all have it.
	NoChains bool
	// MaxChains, MaxLocks and MaxPairs bound the memory: the number of call chains (0: 65536), of
	// locks (0: 16384), and of rows in the profile (0: 65536). The excess is combined and counted
	// in Profile.Dropped. With full tables, a collection takes about 60 MB. While a Collector is
	// on, the MaxChains of the first one applies.
	MaxChains, MaxLocks, MaxPairs int
}

// Collector collects the waits for all locks of this package in the process, from Start to Stop.
// The zero value is ready to use; a Collector must not be copied. Several may be on at the same
// time, such as those of a program and of a library in it: each has all waits that began while it
// was on. [Start], [Stop] and [Snapshot] use a default Collector.
type Collector struct {
	// All fields are guarded by control.
	on      bool
	options Options
	next    *Collector // next Collector that is on
	parts   []*session // since Start; the last one is current while the Collector is on
	// past is the sum of finished parts without waits in progress; nil if there is none.
	past *Profile
}

// Sessions
//
// At any time, waits are recorded in one session or, if no Collector is on, in none. Each Start and
// Stop ends the current session and begins another one for the Collectors that are on. The result
// of a Collector is the sum of its sessions; with a single Collector, that is one session.
// Consecutive sessions share a table of call chains, since the owners during one wait may leave in
// different sessions.

var (
	// current is the current session. If it is nil, collection is off.
	current atomic.Pointer[session]

	control sync.Mutex
	active  *Collector // the first Collector that is on, guarded by control
	std     Collector

	// join adds up the sessions of a Collector. With only the default Collector, there is one
	// session, and the program does not link Merge: [Collector.Start] sets join, guarded by
	// control.
	join func(limit int, past *Profile, parts ...*session) *Profile
)

// The errors of Start and Stop.
var (
	ErrStarted    = errors.New("contention: collection is already on")
	ErrNotStarted = errors.New("contention: Stop without Start")
)

// Start starts the default Collector, as [Collector.Start] does.
func Start(o Options) error { return std.start(o) }

// Stop stops the default Collector.
func Stop() error { return std.Stop() }

// Snapshot returns the profile since [Start]; see [Collector.Snapshot].
func Snapshot() *Profile { return std.Snapshot() }

// Start begins to collect. While no Collector is on, locks record nothing. Start drops the earlier
// results of c, once a Snapshot of them in progress is done. It returns [ErrStarted] if c is on.
func (c *Collector) Start(o Options) error {
	control.Lock()
	join = joinParts
	control.Unlock()
	return c.start(o)
}

func (c *Collector) start(o Options) error {
	callstack.Goid() // its first call takes some 100 µs: make it before locking
	control.Lock()
	defer control.Unlock()
	if c.on {
		return ErrStarted
	}
	for _, s := range c.parts {
		s.release()
	}
	c.on, c.options, c.parts, c.past = true, o, nil, nil
	active, c.next = c, active
	nextSession()
	return nil
}

// Stop ends the collection. Waits that have begun are still settled when they end, and a later
// Snapshot includes them. It returns [ErrNotStarted] if c is off.
func (c *Collector) Stop() error {
	control.Lock()
	defer control.Unlock()
	if !c.on {
		return ErrNotStarted
	}
	c.on = false
	at := &active
	for *at != c {
		at = &(*at).next
	}
	*at, c.next = c.next, nil
	nextSession()
	return nil
}

// nextSession ends the current session and begins one for the Collectors that are on.
func nextSession() {
	var next *session
	at := now()
	if active != nil {
		next = newSession(activeOptions(), at)
	}
	last := current.Load()
	if last != nil && next != nil {
		next.shareChains(last)
	}
	current.Store(next)
	if last != nil {
		last.end(at)
	}
	for c := active; c != nil; c = c.next {
		c.addUp(last)
		c.parts = append(c.parts, next)
		next.users++
	}
}

// activeOptions returns the options of a session for all Collectors that are on.
func activeOptions() (o Options) {
	o.NoChains = true
	for c := active; c != nil; c = c.next {
		o.NoChains = o.NoChains && c.options.NoChains
		o.Goroutines = o.Goroutines || c.options.Goroutines
		o.Exact = o.Exact || c.options.Exact
		o.MaxChains = max(o.MaxChains, orDefault(c.options.MaxChains, callstack.DefaultLimit))
		o.MaxLocks = max(o.MaxLocks, orDefault(c.options.MaxLocks, defaultLocks))
		o.MaxPairs = max(o.MaxPairs, orDefault(c.options.MaxPairs, defaultPairs))
	}
	return o
}

// addUp combines the sessions without a wait in progress into one profile, so that the number of
// sessions is bounded by that of such waits. In the last session, a wait may still be about to
// begin. If a goroutine was preempted for so long that its wait begins later, the wait is booked in
// the session in which it ends.
func (c *Collector) addUp(last *session) {
	kept := c.parts[:0]
	for _, s := range c.parts {
		if s == last || !s.seal() {
			kept = append(kept, s)
			continue
		}
		c.past = join(c.limit(), c.past, s)
		c.past.InFlight, c.past.Unfinished = 0, nil // such a wait is in another session now
		s.release()
	}
	clear(c.parts[len(kept):])
	c.parts = kept
}

func (c *Collector) limit() int { return orDefault(c.options.MaxPairs, defaultPairs) }

// Snapshot returns the profile of c since its last Start, until its Stop if there was one. It may
// be called at any time, by any goroutine; recording continues in that time. It takes about 1 µs
// per row, and some µs for each call chain that was not in an earlier Snapshot. It waits for up to
// 40 ms if an owner was preempted right after it unlocked, to get its call chain.
func (c *Collector) Snapshot() *Profile {
	control.Lock()
	past, limit := c.past, c.limit()
	parts := append([]*session(nil), c.parts...)
	for _, s := range parts {
		s.kept.RLock()
		defer s.kept.RUnlock()
	}
	control.Unlock()
	switch {
	case len(parts) == 0:
		return &Profile{
			Source:   FromWrappers,
			Accuracy: Exact,
			Warnings: []string{"Collection has not been started; see contention.Start."},
		}
	case len(parts) == 1 && past == nil:
		return parts[0].snapshot()
	}
	return join(limit, past, parts...)
}

// joinParts adds up consecutive sessions, and the earlier profile past unless it is nil. The result
// has at most limit rows.
func joinParts(limit int, past *Profile, parts ...*session) *Profile {
	var all []*Profile
	if past != nil {
		copied := *past
		all = append(all, &copied)
	}
	for _, s := range parts {
		all = append(all, s.snapshot())
	}
	pass := new(int)
	for i, p := range all {
		p.piece = Piece{Pass: pass, First: i, Last: i, SameIDs: true}
	}
	p := Merge(all...).Top(limit)
	p.piece = Piece{}
	for _, l := range p.Locks {
		if l.Name == OtherLocks {
			l.ID = otherLocksID
		}
	}
	return p
}
