package contention

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Options says what to collect. The zero value is a good choice for a process that
// runs for long. While several Collectors are on, all collect what any of them asks for.
type Options struct {
	// Goroutines keeps rows of the profile apart by the ids of waiter and owner.
	// Programs that start a goroutine for each request then have very many rows.
	Goroutines bool
	// Exact records every wait and every hold during it. By default, a random part of the waits is
	// recorded if all of them would take more than 2 % of the time, and of an owner's holds of less
	// than 4 µs some are seen. Exact can take three quarters of the throughput of a hot lock.
	Exact bool
	// MaxChains, MaxLocks and MaxPairs bound the memory: the number of call chains
	// (0: 65536), of locks (0: 16384), and of rows in the profile (0: 65536). What
	// does not fit is put together and counted in Profile.Dropped. With full tables,
	// a collection takes about 60 MB. While a Collector is on, MaxChains is that of the first one.
	MaxChains, MaxLocks, MaxPairs int
}

// Collector collects the waits for all locks of this package in the process, from its Start to its
// Stop. The zero value is ready to use; a Collector must not be copied. Several may be on at the
// same time, such as that of a program and that of a library in it: each has all waits that began
// while it was on. [Start], [Stop] and [Snapshot] are those of a default Collector.
type Collector struct {
	// All of it is guarded by control.
	on      bool
	options Options
	next    *Collector // that is on, too
	parts   []*session // since Start; the last one is current while the Collector is on
	past    *Profile   // of parts that are over, and in which no wait goes on; nil if there is none
}

// Sessions
//
// At any time, waits are recorded in one session or, if no Collector is on, in none. Each Start and
// Stop ends the current session and begins another one for the Collectors that are on. So a
// Collector has found what its sessions have found, added up. With one Collector, that is one
// session. Sessions that follow one another share a table of call chains: an owner may leave in
// the one or the other of the same wait's.

var (
	// current is the session that goes on. This load finds that collection is off.
	current atomic.Pointer[session]

	control sync.Mutex
	active  *Collector // the first of those that are on, guarded by control
	std     Collector

	// join adds up what a Collector has found in several sessions. If there is the default
	// Collector only, it has one session, and the program does not link Merge: so
	// [Collector.Start] sets join, guarded by control.
	join func(limit int, past *Profile, parts ...*session) *Profile
)

// The errors of Start and Stop.
var (
	ErrStarted    = errors.New("contention: collection is already on")
	ErrNotStarted = errors.New("contention: Stop without Start")
)

// Start begins to collect, as [Collector.Start] does for the default Collector.
func Start(o Options) error { return std.start(o) }

// Stop ends what [Start] began.
func Stop() error { return std.stop() }

// Snapshot returns what has been found since [Start]; see [Collector.Snapshot].
func Snapshot() *Profile { return std.Snapshot() }

// Start begins to collect. While no Collector is on, locks record nothing. What c found earlier is
// forgotten, once a Snapshot of it that is being taken is done. It returns [ErrStarted] if c is on.
func (c *Collector) Start(o Options) error {
	control.Lock()
	join = joinParts
	control.Unlock()
	return c.start(o)
}

func (c *Collector) start(o Options) error {
	callstack.Goid() // it looks for the ids at its first call, which had better not be under a lock
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

// Stop ends the collection. Waits that have begun are still settled when they end,
// and a later Snapshot has them. It returns [ErrNotStarted] if c is off.
func (c *Collector) Stop() error { return c.stop() }

func (c *Collector) stop() error {
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

// nextSession ends the current session and begins that of the Collectors that are on.
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
	for c := active; c != nil; c = c.next {
		o.Goroutines = o.Goroutines || c.options.Goroutines
		o.Exact = o.Exact || c.options.Exact
		o.MaxChains = max(o.MaxChains, orDefault(c.options.MaxChains, callstack.DefaultLimit))
		o.MaxLocks = max(o.MaxLocks, orDefault(c.options.MaxLocks, defaultLocks))
		o.MaxPairs = max(o.MaxPairs, orDefault(c.options.MaxPairs, defaultPairs))
	}
	return o
}

// addUp makes one profile of the sessions in which no wait goes on, so that their number is bounded
// by that of such waits. In the last one, a wait may still be about to begin. One that begins later,
// in a goroutine that was preempted for so long, is booked in the session in which it ends.
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

// Snapshot returns what c has found since its last Start, until its Stop if there was one. It may be
// called at any time, by any goroutine; recording goes on during that time. It takes about 1 µs a
// row, and some µs for each call chain that was not in an earlier Snapshot; and up to 40 ms if an
// owner was preempted right after it unlocked, to learn who that was.
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

// joinParts adds up sessions that followed one another, and what came before them unless that is
// nil, to at most so many rows.
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
