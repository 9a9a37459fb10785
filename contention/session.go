package contention

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/starter"
)

// session has the records of a Collector from its Start to its Stop.
type session struct {
	table   atomic.Pointer[callstack.Table] // nil once the session is forgotten
	options Options
	wall    int64 // when it began, in nanoseconds since 1970: a time.Time would link time zones
	start   int64 // the same in the time of now

	droppedBefore uint64 // call chains that the table had dropped before the session began

	sampled atomic.Bool // some lock recorded only a part of its waits
	waited  waitedTable
	logs    logQueue
	cells   atomic.Int64  // number of rows in all accounts
	crowded atomic.Uint64 // number of times there was no room for another row

	kept sync.RWMutex // held by Snapshot against forget

	mu        sync.Mutex
	accounts  map[*lockInfo]*account
	others    *account // of locks beyond the limit
	left      uint64   // number of those locks
	stop      int64    // end of the session; 0 until then
	stacks    any      // map[*callstack.Chain]*Stack; not linked into programs that take no Snapshot
	forgotten bool
}

const (
	defaultLocks = 1 << 14
	defaultPairs = 1 << 16
)

func newSession(o Options, start int64) *session {
	o.MaxLocks, o.MaxPairs = cmp.Or(max(0, o.MaxLocks), defaultLocks), cmp.Or(max(0, o.MaxPairs), defaultPairs)
	s := &session{options: o, wall: time.Now().UnixNano(), start: start, accounts: make(map[*lockInfo]*account)}
	s.table.Store(callstack.NewTable(o.MaxChains))
	return s
}

// shareChains makes the session, which has not begun, use the call chains of another one.
func (s *session) shareChains(of *session) {
	table := of.chains()
	s.table.Store(table)
	s.droppedBefore = table.Dropped()
}

func (s *session) chains() *callstack.Table { return s.table.Load() }

// noChain replaces the call chains of owners that leave a lock for which no goroutine has waited
// since its session was forgotten.
var noChain = new(callstack.Chain)

// capture returns the call chain above frame.
func (s *session) capture(frame unsafe.Pointer) *callstack.Chain {
	if table := s.chains(); table != nil {
		return table.CaptureAbove(frame)
	}
	return noChain
}

// end records the end of the session. Waits that have begun in it are still booked in it.
func (s *session) end(at int64) {
	s.mu.Lock()
	s.stop = at
	s.mu.Unlock()
	s.flushLogs()
}

// forget drops the results of the session. Locks that were waited for in it point to it until they
// are waited for again, and waits that had begun in it may still end.
func (s *session) forget() {
	s.kept.Lock()
	defer s.kept.Unlock()
	s.mu.Lock()
	accounts := s.allAccounts()
	s.forgotten = true
	s.accounts, s.others = make(map[*lockInfo]*account), nil
	s.stacks = nil
	s.mu.Unlock()
	for _, a := range accounts {
		a.forget()
	}
	s.waited.slots.Store(nil)
	s.table.Store(nil)
}

// allAccounts returns the accounts, in no order. The caller holds s.mu.
func (s *session) allAccounts() []*account {
	accounts := slices.Collect(maps.Values(s.accounts))
	if s.others != nil {
		accounts = append(accounts, s.others)
	}
	return accounts
}

// markSampled notes that some lock recorded only a part of its waits.
func (s *session) markSampled() {
	if !s.sampled.Load() { // the line is shared by all CPUs
		s.sampled.Store(true)
	}
}

// room reserves room for one more row and reports whether there was any.
func (s *session) room() bool {
	if s.cells.Load() >= int64(s.options.MaxPairs) {
		s.crowded.Add(1)
		return false
	}
	s.cells.Add(1)
	return true
}

// accountOf returns the lock's account in the first session.
func (st *state) accountOf(c *collection) *account {
	a := st.account.Load()
	if a == nil || a.session != c.session {
		a = c.open(st.info, st.rw)
		st.account.Store(a)
	}
	return a
}

// enter sets the accounts of a wait that begins.
func (w *wait) enter(st *state, c *collection) {
	w.account = st.accountOf(c)
	for _, s := range c.more {
		w.more = append(w.more, s.open(st.info, st.rw))
	}
}

// record records a wait that is over in each of its accounts: a copy of it in those of other
// Collectors, which pins the exits as w does. With a function for the outcome, waits would escape
// to the heap.
func (w *wait) record(what outcome, signal *holder) {
	for len(w.more) > 0 {
		c := *w
		c.account, c.more = w.more[0], nil
		w.more = w.more[1:]
		if c.pinned != nil {
			c.pinned.pins.Add(1)
		}
		c.record(what, signal)
	}
	switch a := w.account; what {
	case granted:
		a.add(w)
	case signaled:
		a.addCond(w, *signal)
	case notDrawn:
		a.timed(w)
	case longNotDrawn:
		a.timedLong(w)
	}
}

// An outcome is how a wait ended, and so what is known of it.
type outcome uint8

const (
	granted      outcome = iota // it got the lock, and exits name the owners
	signaled                    // the signal of a Cond ended it
	notDrawn                    // only its time is known
	longNotDrawn                // also the waiter
)

func (s *session) open(info *lockInfo, rw bool) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accounts[info]; a != nil {
		return a
	}
	if len(s.accounts) < s.options.MaxLocks && info.id != otherLocksID {
		a := s.newAccount(info, rw)
		s.accounts[info] = a
		return a
	}
	s.left++
	if s.others == nil {
		info := &lockInfo{id: otherLocksID}
		name := otherLocks
		info.name.Store(&name)
		s.others = s.newAccount(info, rw)
	}
	return s.others
}

func (s *session) newAccount(info *lockInfo, rw bool) *account {
	return &account{
		session:   s,
		info:      info,
		rw:        rw,
		waits:     make(map[waitKey]*waitCell),
		pairs:     make(map[pairKey]*pairCell),
		forgotten: s.forgotten,
	}
}

// exited records the call chain that left with r.
func (s *session) exited(r *release, chain *callstack.Chain) {
	if s.tracing() {
		s.logExit(r)
	}
	r.exit.complete(r.chunk, chain)
	s.flushLogs()
}

// snapshot copies the accounts of a session into a profile.
func (s *session) snapshot() *Profile {
	s.mu.Lock()
	accounts := s.allAccounts()
	end := s.stop
	left := s.left
	s.mu.Unlock()
	if end == 0 {
		end = now()
	}

	p := &Profile{Source: FromWrappers, Accuracy: Exact, Start: time.Unix(0, s.wall), Duration: time.Duration(end - s.start)}
	order.Stable(accounts, func(a, b *account) int { return cmp.Compare(a.info.id, b.info.id) })
	settleAll(accounts)
	s.flushLogs()
	for _, a := range accounts {
		a.copyTo(p)
	}
	p.Dropped.Chains = s.chains().Dropped() - s.droppedBefore
	p.Dropped.Locks = left
	p.Dropped.Pairs = s.crowded.Load()
	if s.sampled.Load() {
		p.Accuracy = Sampled
	}
	p.finish()
	return p
}

// settleAll settles the deferred waits. It waits up to 40 ms for owners that were preempted right
// after the release, before they recorded their call chains.
func settleAll(accounts []*account) {
	for wait := 10 * time.Microsecond; ; wait *= 2 {
		left := 0
		for _, a := range accounts {
			left += a.retry(true)
		}
		if left == 0 || wait > 20*time.Millisecond {
			return
		}
		time.Sleep(wait)
	}
}

// copyTo adds the account's rows to the profile. It symbolizes names after unlocking the account.
func (a *account) copyTo(p *Profile) {
	s := a.session
	a.mu.Lock()
	a.settleTimed()
	p.InFlight += a.begun.Load() - a.settled
	p.Dropped.Exits += a.missed
	waits := make(map[waitKey]waitCell, len(a.waits))
	for k, c := range a.waits {
		waits[k] = c.whole()
	}
	pairs := make(map[pairKey]pairCell, len(a.pairs))
	for k, c := range a.pairs {
		cell := *c
		cell.roots = c.roots.clone()
		pairs[k] = cell
	}
	var missing [len(kinds)]time.Duration // by kind: time of waits that no row represents
	for k, c := range waits {
		if k.chain == unsampled {
			missing[k.kind] += time.Duration(c.waited)
		}
	}
	lock := &Lock{ID: a.info.id, Waiters: int(a.waiters), Longest: time.Duration(a.longest), Contended: time.Duration(a.contended)}
	a.mu.Unlock()

	a.describe(lock)
	a.unfinished(p, lock)
	if len(waits) == 0 {
		return
	}
	p.Locks = append(p.Locks, lock)
	for k, c := range waits {
		p.Waits = append(p.Waits, Wait{
			Kind: kinds[k.kind], Lock: lock, Waiter: s.party(k.chain, k.g), Flags: k.flags,
			Contentions: c.count, Observed: c.observed,
			Waited: time.Duration(c.waited), Blamed: time.Duration(c.blamed),
			HandOff: time.Duration(c.handOff), Unattributed: time.Duration(c.unattributed),
			Longest: time.Duration(c.longest), StdErr: c.stdErr(k, missing[k.kind]),
		})
	}
	for k, c := range pairs {
		waiter := waitKey{chain: k.waiter, g: k.waiterG, kind: k.kind, flags: k.flags & WaiterFlags}
		q := Wait{
			Kind: kinds[k.kind], Lock: lock, Flags: k.flags,
			Waiter: s.party(k.waiter, k.waiterG), Owner: s.party(k.owner, k.ownerG),
			Contentions: c.count, Blamed: time.Duration(c.blamed), Longest: time.Duration(c.longest),
			StdErr: rowError(k.flags, c.variance, missing[k.kind]+time.Duration(c.unsure+waits[waiter].long.ns)),
		}
		s.ownerRoots(&q, c.roots)
		p.Pairs = append(p.Pairs, q)
	}
}

// describe sets the fields of l that identify the lock of the account.
func (a *account) describe(l *Lock) {
	if name := a.info.name.Load(); name != nil {
		l.Name = *name
	}
	if c := a.info.created.Load(); c != nil {
		l.Created = a.session.stack(c)
	}
	l.Class = a.info.class()
}

// stack symbolizes a chain, once per session, so that stacks can be compared by address.
func (s *session) stack(c *callstack.Chain) *Stack {
	s.mu.Lock()
	defer s.mu.Unlock()
	stacks, _ := s.stacks.(map[*callstack.Chain]*Stack)
	if stacks == nil {
		stacks = map[*callstack.Chain]*Stack{}
		s.stacks = stacks
	}
	if st := stacks[c]; st != nil {
		return st
	}
	frames := c.Frames()
	st := &Stack{Frames: make([]Frame, len(frames)), Truncated: c.Truncated()}
	for i, f := range frames {
		st.Frames[i] = Frame{Func: f.Func, File: f.File, Line: f.Line, PC: uint64(f.PC)}
	}
	stacks[c] = st
	return st
}

func (s *session) party(c *callstack.Chain, g uint64) Party {
	if c == noChain {
		return Party{Goroutine: g}
	}
	return newParty(s.stack(c), g)
}

// newParty sets the group to the function that the goroutine was started with, if the call chain
// shows it. The graph of a trace uses the same names.
func newParty(st *Stack, g uint64) Party {
	p := Party{Goroutine: g, Stack: st}
	if n := len(st.Frames); n > 0 && !st.Truncated {
		p.Group = st.Frames[starter.Name(n, func(i int) (string, string) { return st.Frames[i].Func, st.Frames[i].File })].Func
	}
	return p
}

// finish sorts the rows and adds the warnings that follow from them.
func (p *Profile) finish() {
	order.Stable(p.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Lock.ID, b.Lock.ID))
	})
	order.Stable(p.Pairs, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Blamed, a.Blamed), cmp.Compare(a.Lock.ID, b.Lock.ID))
	})
	order.Stable(p.Unfinished, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Lock.String(), b.Lock.String()))
	})
	sampled := map[*Lock]*sampledLock{}
	for i := range p.Waits {
		w := &p.Waits[i]
		if w.Flags&Estimated == 0 {
			continue
		}
		l := sampled[w.Lock]
		if l == nil {
			l = new(sampledLock)
			sampled[w.Lock] = l
		}
		if w.Observed == w.Contentions {
			l.behindRuns += w.Waited
		} else {
			l.estimated += w.Waited
		}
		l.observed += w.Observed
		if w.Observed == 0 && leafFunc(&w.Waiter) == notSampled {
			l.missing += w.Waited
		}
	}
	if len(sampled) > 0 && p.Accuracy == Exact {
		p.Accuracy = Sampled
	}
	p.warnSampled(sampled)
	d := p.Dropped
	p.warnCount(d.Chains, "call chains were dropped; raise MaxChains.")
	p.warnCount(d.Locks, "locks are combined as "+otherLocks+"; raise MaxLocks.")
	p.warnCount(d.Pairs, "waits, or parts of them, are in rows without call chains; raise MaxPairs.")
	p.warnCount(d.Exits, "releases during long waits were dropped; the time of their owners is unattributed.")
}

// sampledLock has the estimated waiting for a lock, the number of waits observed for it, and the
// waiting that no recorded wait represents. behindRuns is the waiting that is not estimated, but
// may be behind holds that were not all observed.
type sampledLock struct {
	estimated, missing, behindRuns time.Duration
	observed                       int64
	locks                          int // in sums of locks
}

// warnSampled adds warnings about estimated rows and the accuracy of the estimates.
func (p *Profile) warnSampled(locks map[*Lock]*sampledLock) {
	var known, unknown sampledLock
	var behindRuns time.Duration
	for _, l := range locks {
		behindRuns += l.behindRuns
		sum := &known
		if l.observed < fewDrawn {
			sum = &unknown
		}
		if l.estimated > 0 {
			sum.locks++
			sum.estimated += l.estimated
			sum.missing += l.missing
			sum.observed += l.observed
		}
	}
	if known.estimated > 0 {
		p.warn("The division of %s of the waiting, at %s, among callers is estimated from %d random waits; see StdErr of each row. They do not represent %s of the waiting, whose waiter is %s. The number and the total of all waits are exact.",
			format.Percent(known.estimated, p.waited()), format.Plural(known.locks, "lock", "locks"), known.observed, format.Percent(known.missing, p.waited()), notSampled)
	}
	if behindRuns > 0 {
		p.warn("In %s of the waiting, owners took the lock many times in a row, for less than 4 µs each: the blame is estimated from some of these holds; see StdErr of each pair. Options.Exact records all of them.",
			format.Percent(behindRuns, p.waited()))
	}
	if unknown.estimated > 0 {
		p.warn("The division of %s of the waiting, at %s, among callers is unknown: only %s recorded with their owners. Collect for longer, or with Options.Exact.",
			format.Percent(unknown.estimated, p.waited()), format.Plural(unknown.locks, "lock", "locks"), format.Plural(unknown.observed, "wait was", "waits were"))
	}
}

// fewDrawn is the number of drawn waits below which the standard error is itself a rough estimate.
const fewDrawn = 30

func (p *Profile) warn(text string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(text, args...))
}

func (p *Profile) warnCount(n uint64, what string) {
	if n > 0 {
		p.warn("%d %s", n, what)
	}
}
