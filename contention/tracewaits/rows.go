package tracewaits

import (
	"cmp"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// traceRows has the rows of the profile of a trace.
type traceRows struct {
	recent  *[recentRows]recentRow // recently used rows, with a high hit rate; nil if not used
	rows    map[traceRowKey]*traceRow
	cells   int // number of rows and pairs
	max     int
	crowded uint64 // number of times there was no room for a row or a pair
	serial  uint64 // number of waits
}

type traceRowKey struct {
	kind   timeline.Wait
	lock   *tracedLock
	waiter *callSite
	group  group
	g      int64
	flags  contention.Flags
}

type traceOwnerKey struct {
	site  *callSite
	group group
	g     int64
	flags contention.Flags
}

// traceRow is a row of Profile.Waits and its pairs.
type traceRow struct {
	count, observed                       int64
	waited, blamed, handOff, unattributed int64
	longest                               int64
	blocks                                int64 // more than count after futile wake-ups
	// ready is the time after the waits, and idle the part of it in which a processor (P) was
	// idle.
	ready int64
	idle  int64

	pairs map[traceOwnerKey]*tracePair
	last  traceOwnerKey // the owner that was last asked for,
	pair  *tracePair    // and its pair
}

type recentRow struct {
	key traceRowKey
	row *traceRow
}

const recentRows = 1 << 7

// slot returns the index of a row in recent.
func slot(waiter *callSite, lock *tracedLock, of group, g int64) uintptr {
	h := uintptr(unsafe.Pointer(waiter)) ^ uintptr(unsafe.Pointer(lock))<<5 ^ *(*uintptr)(unsafe.Pointer(&of))<<3
	return (h>>4 ^ h>>11 ^ uintptr(g)) % recentRows
}

type tracePair struct {
	count, blamed, longest int64
	serial                 uint64 // number of the wait that was added last
	inWait                 int64  // its blame on the owner
	did                    ledger // what the owner did
}

func newTraceRows(limit int) traceRows {
	return traceRows{recent: new([recentRows]recentRow), rows: map[traceRowKey]*traceRow{}, max: limit}
}

// restSite stands for the call chains in excess of a limit. It is never written.
var restSite = &callSite{stack: &contention.Stack{Frames: []contention.Frame{{Func: callstack.Dropped}}}}

// add books a finished wait.
func (r *traceRows) add(g *tracedGoroutine, w *waiting, goroutines bool) {
	row := r.rowOf(g, w, goroutines)
	row.count++
	row.observed++
	row.blocks += w.blocks
	row.waited += int64(w.waited)
	row.blamed += int64(w.blamed)
	row.handOff += int64(w.handOff)
	row.unattributed += int64(w.unattributed)
	row.ready += int64(w.ready)
	row.idle += int64(w.idle)
	row.longest = max(row.longest, int64(w.waited+w.earlier))
	r.serial++
	for i := range w.parts {
		p := &w.parts[i]
		if p.owner.site == restSite {
			r.crowded++
		}
		r.pairOf(row, &p.owner, goroutines).add(p, r.serial, goroutines)
	}
}

// rowOf returns the row of a wait.
func (r *traceRows) rowOf(g *tracedGoroutine, w *waiting, goroutines bool) *traceRow {
	lock, of, id := w.lock.root(), g.group(), int64(0)
	if goroutines {
		id = g.g.ID
	}
	var e *recentRow
	if r.recent != nil {
		// Compared field by field: a key made for the comparison would be written and read again.
		e = &r.recent[slot(w.site, lock, of, id)]
		if k := &e.key; e.row != nil && k.waiter == w.site && k.lock == lock && k.group == of && k.kind == w.kind && k.flags == w.flags && k.g == id {
			return e.row
		}
	}
	return r.row(traceRowKey{kind: w.kind, lock: lock, waiter: w.site, group: of, flags: w.flags, g: id}, e)
}

// pairOf returns the pair of an owner.
func (r *traceRows) pairOf(row *traceRow, by *owner, goroutines bool) *tracePair {
	id := int64(0)
	if goroutines {
		id = by.g
	}
	if k := &row.last; row.pair != nil && k.site == by.site && k.group == by.group && k.flags == by.flags && k.g == id {
		return row.pair
	}
	return r.pair(row, traceOwnerKey{by.site, by.group, id, by.flags})
}

// row returns the row of a key, or that of the dropped if there is no room for another one. It
// stores the row in e, unless e is nil.
func (r *traceRows) row(k traceRowKey, e *recentRow) *traceRow {
	row := r.rows[k]
	dropped := row == nil && r.cells >= r.max
	if dropped {
		r.crowded++
		k.waiter, k.group, k.g = restSite, group{}, 0
		row = r.rows[k]
	}
	if row == nil {
		row = &traceRow{pairs: map[traceOwnerKey]*tracePair{}}
		r.rows[k] = row
		r.cells++
	}
	if e != nil && !dropped {
		e.key, e.row = k, row
	}
	return row
}

// pair returns the pair of a row, or that of the dropped.
func (r *traceRows) pair(row *traceRow, k traceOwnerKey) *tracePair {
	if row.pair != nil && row.last == k {
		return row.pair
	}
	p := row.pairs[k]
	if p != nil {
		row.last, row.pair = k, p
		return p
	}
	if r.cells >= r.max {
		r.crowded++
		k.site, k.group, k.g = restSite, group{}, 0
		p = row.pairs[k]
	}
	if p == nil {
		p = new(tracePair)
		row.pairs[k] = p
		r.cells++
	}
	return p
}

// add adds a part of a wait. Several parts of one wait count as one contention.
func (p *tracePair) add(part *blamedPart, serial uint64, goroutines bool) {
	first := p.serial != serial
	if first {
		p.serial, p.inWait = serial, 0
		p.count++
	}
	ns := int64(part.ns)
	p.inWait += ns
	p.blamed += ns
	p.longest = max(p.longest, p.inWait)
	waits := int64(0)
	if first {
		waits = 1
	}
	p.addDid(&part.did, waits, goroutines)
}

// addDid adds what the owner did during the given number of additional waits.
func (p *tracePair) addDid(did *ledger, waits int64, goroutines bool) {
	for i := range did.causes {
		c := &did.causes[i]
		c.n = waits
		if !goroutines {
			c.root.g = 0
		}
	}
	p.did.merge(did)
}

// united returns the rows, merging those whose locks have turned out to be the same.
func (r *traceRows) united() map[traceRowKey]*traceRow {
	rows := make(map[traceRowKey]*traceRow, len(r.rows))
	for k, row := range r.rows {
		k.lock = k.lock.root()
		if into := rows[k]; into != nil {
			into.merge(row)
			continue
		}
		c := &traceRow{pairs: make(map[traceOwnerKey]*tracePair, len(row.pairs))}
		c.merge(row)
		rows[k] = c
	}
	return rows
}

func (r *traceRow) merge(s *traceRow) {
	r.count += s.count
	r.observed += s.observed
	r.blocks += s.blocks
	r.waited += s.waited
	r.blamed += s.blamed
	r.handOff += s.handOff
	r.unattributed += s.unattributed
	r.ready += s.ready
	r.idle += s.idle
	r.longest = max(r.longest, s.longest)
	for k, p := range s.pairs {
		into := r.pairs[k]
		if into == nil {
			into = new(tracePair)
			r.pairs[k] = into
		}
		into.count += p.count
		into.blamed += p.blamed
		into.longest = max(into.longest, p.longest)
		into.did.merge(&p.did)
	}
}

// copyTo adds the rows and their locks, with the facts of these, to a profile.
func (r *traceRows) copyTo(p *contention.Profile, facts func(*tracedLock) lockFacts) {
	locks := map[*tracedLock]*contention.Lock{}
	lockOf := func(t *tracedLock) *contention.Lock {
		l := locks[t]
		if l == nil {
			f := facts(t)
			l = &contention.Lock{ID: t.id, Name: t.name, Class: t.class, Waiters: int(f.waiters), Longest: time.Duration(f.longest), Contended: time.Duration(f.contended)}
			if usual, n := t.holds.median(); n >= manyHolds {
				l.Hold = time.Duration(usual)
			}
			if t.several() {
				l.Name = contention.SeveralLocks
			}
			locks[t] = l
			p.Locks = append(p.Locks, l)
		}
		return l
	}
	united := r.united()
	keys := slices.Collect(maps.Keys(united))
	order.Stable(keys, compareRows)
	for _, k := range keys {
		row, lock := united[k], lockOf(k.lock)
		waiter := contention.Party{Goroutine: uint64(k.g), Group: k.group.name(), Stack: k.waiter.stack}
		p.Waits = append(p.Waits, contention.Wait{
			Kind: traceKind(k.kind), Lock: lock, Waiter: waiter, Flags: k.flags,
			Contentions: row.count, Observed: row.observed, Parks: row.blocks,
			Ready: time.Duration(row.ready), ReadyIdle: time.Duration(row.idle),
			Waited: time.Duration(row.waited), Blamed: time.Duration(row.blamed),
			HandOff: time.Duration(row.handOff), Unattributed: time.Duration(row.unattributed),
			Longest: time.Duration(row.longest),
		})
		owners := slices.Collect(maps.Keys(row.pairs))
		order.Stable(owners, compareOwners)
		for _, o := range owners {
			c := row.pairs[o]
			q := contention.Pair{
				Kind: traceKind(k.kind), Lock: lock, Waiter: waiter,
				Owner: contention.Party{Goroutine: uint64(o.g), Group: o.group.name(), Stack: o.site.stack},
				Flags: k.flags | o.flags, Contentions: c.count,
				Blamed: time.Duration(c.blamed), Longest: time.Duration(c.longest),
			}
			c.did.copyTo(&q)
			p.Pairs = append(p.Pairs, q)
		}
	}
	slices.SortFunc(p.Locks, func(a, b *contention.Lock) int { return cmp.Compare(a.ID, b.ID) })
}

// compareRows and compareOwners order rows by the first appearance of their call chains in the
// trace, so that a profile is reproducible.
func compareRows(a, b traceRowKey) int {
	return cmp.Or(cmp.Compare(a.lock.id, b.lock.id), cmp.Compare(a.kind, b.kind), cmp.Compare(a.flags, b.flags),
		cmp.Compare(a.waiter.id, b.waiter.id), cmp.Compare(a.group.name(), b.group.name()), cmp.Compare(a.g, b.g))
}

func compareOwners(a, b traceOwnerKey) int {
	return cmp.Or(cmp.Compare(a.site.id, b.site.id), cmp.Compare(a.flags, b.flags), cmp.Compare(a.group.name(), b.group.name()), cmp.Compare(a.g, b.g))
}

// copyTo sets the activity of the owner of a pair and the roots.
func (l *ledger) copyTo(q *contention.Pair) {
	var ns [doings]int64
	for i, d := range l.times() {
		ns[i] = int64(d)
	}
	q.Activity = activityOf(&ns)
	var roots []contention.Root
	for i := range l.causes {
		c := &l.causes[i]
		r := contention.Root{Via: c.via.kind(), Links: int(c.links), Contentions: min(c.n, q.Contentions), Blamed: time.Duration(c.ns)}
		if c.root.site != nil {
			r.Owner = contention.Party{Goroutine: uint64(c.root.g), Group: c.root.group.name(), Stack: c.root.site.stack}
		}
		roots = append(roots, r)
	}
	q.SetRoots(roots)
}

// doingOf returns what a goroutine does during a wait.
func doingOf(w timeline.Wait) doing {
	switch w {
	case timeline.WaitMutex:
		return doingMutex
	case timeline.WaitRWMutexWriter:
		return doingWriter
	case timeline.WaitRWMutexReader:
		return doingReader
	case timeline.WaitWaitGroup:
		return doingWaitGroup
	case timeline.WaitCond:
		return doingCond
	case timeline.WaitOnce:
		return doingOnce
	case timeline.WaitChanSend:
		return doingChanSend
	case timeline.WaitChanReceive:
		return doingChanReceive
	case timeline.WaitSelect:
		return doingSelect
	case timeline.WaitSemaphore:
		return doingSemaphore
	case timeline.WaitNetwork:
		return doingNetwork
	case timeline.WaitSleep:
		return doingSleep
	case timeline.WaitGC:
		return doingGC
	case timeline.WaitSyscall:
		return doingSyscall
	}
	return doingOther
}

// traceKind returns the kind of contention of a wait.
func traceKind(w timeline.Wait) contention.Kind {
	switch w {
	case timeline.WaitMutex, timeline.WaitRWMutexWriter, timeline.WaitRWMutexReader, timeline.WaitWaitGroup,
		timeline.WaitCond, timeline.WaitOnce, timeline.WaitChanSend, timeline.WaitChanReceive, timeline.WaitSelect,
		timeline.WaitSemaphore, timeline.WaitNetwork, timeline.WaitSleep, timeline.WaitGC, timeline.WaitSyscall:
		return contention.Kind(w.String())
	}
	return contention.OtherKind
}
