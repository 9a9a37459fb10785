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
	recent  *[recentRows]*traceRow // recently used rows, with a high hit rate; nil if not used
	rows    map[traceRowKey]*traceRow
	cells   int // number of rows and pairs
	max     int
	crowded uint64 // number of times there was no room for a row or a pair
	serial  uint64 // number of waits

	goroutines bool          // see Options.Goroutines
	windows    *traceWindows // nil without Options.Window
}

type traceRowKey struct {
	kind   timeline.Wait
	lock   *tracedLock
	waiter *callSite
	group  string
	g      int64
	flags  uint32
}

// traceRow is a row of Profile.Waits, without the fields of its key, and its pairs.
type traceRow struct {
	contention.Wait
	pairs map[owner]*tracePair
	last  owner      // the owner that was last asked for,
	pair  *tracePair // and its pair

	key     traceRowKey
	windows *traceWindows

	// For waits with sums of many owners: see sums.go.
	sums  []shownSum // of the latest
	clock int64      // their number
	work  int        // steps not yet in those of the lock
}

const recentRows = 1 << 7

// slot returns the index of a row in recent.
func slot(waiter *callSite, lock *tracedLock, of string, g int64) uintptr {
	h := uintptr(unsafe.Pointer(waiter)) ^ uintptr(unsafe.Pointer(lock))<<5 ^ uintptr(unsafe.Pointer(unsafe.StringData(of)))<<3
	return (h>>4 ^ h>>11 ^ uintptr(g)) % recentRows
}

type tracePair struct {
	count, blamed, longest int64
	serial                 uint64 // number of the wait that was added last
	inWait                 int64  // its blame on the owner
	did                    ledger // what the owner did
	now                    *inWaits
}

func newTraceRows(limit int, goroutines bool) traceRows {
	return traceRows{recent: new([recentRows]*traceRow), rows: map[traceRowKey]*traceRow{}, max: limit, goroutines: goroutines}
}

// restSite stands for the call chains in excess of a limit. It is never written.
var restSite = &callSite{stack: &contention.Stack{Frames: []contention.Frame{{Func: callstack.Dropped}}}}

// add books a finished wait, and returns its row.
func (r *traceRows) add(g *timeline.Goroutine, w *waiting) *traceRow {
	row := r.rowOf(g, w)
	row.over(w, w.waited+w.earlier)
	row.addTimes(w.waited, &w.times, 1)
	r.serial++
	if len(w.sums) > 0 {
		r.show(row, w.lock.root(), w.sums)
	}
	for i := range w.parts {
		p := &w.parts[i]
		if p.owner.site == restSite {
			r.crowded++
		}
		r.pair(row, &p.owner).add(p, r.serial, len(w.sums) > 0)
	}
	return row
}

// over counts a wait that took the given time.
func (row *traceRow) over(w *waiting, took timeline.Time) {
	row.Contentions++
	row.Observed++
	row.Parks += w.blocks
	row.Longest = max(row.Longest, time.Duration(took))
}

// addTimes adds the times of a number of waits.
func (row *traceRow) addTimes(waited timeline.Time, t *waitTimes, waits time.Duration) {
	row.Waited += waits * time.Duration(waited)
	row.Blamed += waits * time.Duration(t[blamedSpan])
	row.HandOff += waits * time.Duration(t[handOffSpan])
	row.Unattributed += waits * time.Duration(t[unattributedSpan])
	row.Ready += waits * time.Duration(t[readySpan])
	row.ReadyIdle += waits * time.Duration(t[idleSpan])
}

func (r *traceRows) rowOf(g *timeline.Goroutine, w *waiting) *traceRow {
	lock, of, id := w.lock.root(), g.Func, int64(0)
	if r.goroutines {
		id = g.ID
	}
	// Compared field by field: a key made for the comparison would be written and read again.
	e := &r.recent[slot(w.site, lock, of, id)]
	if row := *e; row != nil {
		if k := &row.key; k.waiter == w.site && k.lock == lock && k.group == of && k.kind == w.kind && k.flags == w.flags && k.g == id {
			return row
		}
	}
	return r.row(rowKeyOf(g, w, r.goroutines), e)
}

func rowKeyOf(g *timeline.Goroutine, w *waiting, goroutines bool) traceRowKey {
	k := traceRowKey{kind: w.kind, lock: w.lock.root(), waiter: w.site, group: g.Func, flags: w.flags}
	if goroutines {
		k.g = g.ID
	}
	return k
}

// row returns the row of a key, or that of the dropped if there is no room for another one. It
// stores the row in e, unless e is nil.
func (r *traceRows) row(k traceRowKey, e **traceRow) *traceRow {
	row := r.rows[k]
	dropped := row == nil && r.cells >= r.max
	if dropped {
		r.crowded++
		k.waiter, k.group, k.g = restSite, "", 0
		row = r.rows[k]
	}
	if row == nil {
		row = &traceRow{pairs: map[owner]*tracePair{}, key: k, windows: r.windows}
		r.rows[k] = row
		r.cells++
	}
	if e != nil && !dropped {
		*e = row
	}
	return row
}

// pair returns the pair of a row, or that of the dropped.
func (r *traceRows) pair(row *traceRow, by *owner) *tracePair {
	if row.pair != nil && row.last.is(by) {
		return row.pair
	}
	k := *by
	p := row.pairs[k]
	if p != nil {
		row.last, row.pair = k, p
		return p
	}
	if r.cells >= r.max {
		r.crowded++
		k.site, k.group, k.g = restSite, "", 0
		p = row.pairs[k]
	}
	if p == nil {
		p = new(tracePair)
		row.pairs[k] = p
		r.cells++
	}
	return p
}

// add adds a part of a wait. Several parts of one wait count as one contention, and so does what the
// pair has in the sums of the wait, if there are any.
func (p *tracePair) add(part *blamedPart, serial uint64, sums bool) {
	ns := int64(part.ns)
	if p.serial != serial {
		p.serial, p.inWait = serial, 0
		if sums && p.now != nil {
			p.inWait = int64(p.now.ns)
		}
		if p.inWait == 0 {
			p.count++
		}
	}
	p.inWait += ns
	p.blamed += ns
	p.longest = max(p.longest, p.inWait)
	for i := range part.did.causes {
		c := &part.did.causes[i]
		if c.n, c.wait = 1, serial; sums && p.now != nil && p.now.causes[causeKey{c.via, c.root}] != nil {
			c.n = 0
		}
	}
	p.did.merge(&part.did)
}

// addTimes adds the part of a number of waits, without counting them.
func (p *tracePair) addTimes(part *blamedPart, waits int64) {
	p.blamed += waits * int64(part.ns)
	p.did.addTimes(&part.did, waits)
}

// over counts waits that each lost a time to the owner.
func (p *tracePair) over(waits, ns int64) {
	p.count += waits
	p.longest = max(p.longest, ns)
}

// united returns the rows, merging those whose locks have turned out to be the same.
func (r *traceRows) united() map[traceRowKey]*traceRow {
	rows := make(map[traceRowKey]*traceRow, len(r.rows))
	for k, row := range r.rows {
		row.settle()
		k.lock = k.lock.root()
		if into := rows[k]; into != nil {
			into.merge(row)
			continue
		}
		c := &traceRow{pairs: make(map[owner]*tracePair, len(row.pairs))}
		c.merge(row)
		rows[k] = c
	}
	return rows
}

func (r *traceRow) merge(s *traceRow) {
	r.Wait.Add(&s.Wait)
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
func (r *traceRows) copyTo(p *contention.Profile, facts func(*tracedLock) *lockFacts) {
	locks := map[*tracedLock]*contention.Lock{}
	lockOf := func(t *tracedLock) *contention.Lock {
		l := locks[t]
		if l == nil {
			l = t.named()
			f := facts(t)
			l.Waiters, l.Longest, l.Contended = int(f.waiters), time.Duration(f.longest), time.Duration(f.contended)
			if usual, n := t.holds.median(); n >= manyHolds {
				l.Hold = time.Duration(usual)
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
		row, lock, kind := united[k], lockOf(k.lock), doingOf[k.kind].kind()
		waiter := contention.Party{Goroutine: uint64(k.g), Group: k.group, Stack: k.waiter.stack}
		row.Kind, row.Lock, row.Waiter, row.Flags = kind, lock, waiter, k.flags
		p.Waits = append(p.Waits, row.Wait)
		owners := slices.Collect(maps.Keys(row.pairs))
		order.Stable(owners, compareOwners)
		for _, o := range owners {
			c := row.pairs[o]
			q := contention.Wait{
				Kind: kind, Lock: lock, Waiter: waiter,
				Owner: contention.Party{Goroutine: uint64(o.g), Group: o.group, Stack: o.site.stack},
				Flags: k.flags | o.flags, Contentions: c.count,
				Blamed: time.Duration(c.blamed), Longest: time.Duration(c.longest),
			}
			c.did.copyTo(&q)
			p.Pairs = append(p.Pairs, q)
		}
	}
	slices.SortFunc(p.Locks, func(a, b *contention.Lock) int { return cmp.Compare(a.ID, b.ID) })
}

// named returns the lock for a profile, without numbers.
func (t *tracedLock) named() *contention.Lock {
	l := &contention.Lock{ID: t.id, Name: t.name, Class: t.class}
	if t.several() {
		l.Name = contention.SeveralLocks
	}
	return l
}

// compareRows and compareOwners order rows by the first appearance of their call chains in the
// trace, so that a profile is reproducible.
func compareRows(a, b traceRowKey) int {
	return cmp.Or(cmp.Compare(a.lock.id, b.lock.id), cmp.Compare(a.kind, b.kind), cmp.Compare(a.flags, b.flags),
		cmp.Compare(a.waiter.id, b.waiter.id), cmp.Compare(a.group, b.group), cmp.Compare(a.g, b.g))
}

func compareOwners(a, b owner) int {
	return cmp.Or(cmp.Compare(a.site.id, b.site.id), cmp.Compare(a.flags, b.flags), cmp.Compare(a.group, b.group), cmp.Compare(a.g, b.g))
}

// copyTo sets the activity of the owner of a pair and the roots.
func (l *ledger) copyTo(q *contention.Wait) {
	did := l.did()
	q.Running, q.Runnable = time.Duration(did[doingRunning]), time.Duration(did[doingRunnable])
	for on := blockedOn; on < doings; on++ {
		if ns := did[on]; ns != 0 {
			if q.Blocked == nil {
				q.Blocked = map[string]time.Duration{}
			}
			q.Blocked[on.kind()] = time.Duration(ns)
		}
	}
	var roots []contention.Wait
	for i := range l.causes {
		c := &l.causes[i]
		r := contention.Wait{Kind: c.via.kind(), Links: int(c.links), Contentions: min(c.n, q.Contentions), Blamed: time.Duration(c.ns)}
		if c.root.site != nil {
			r.Owner = contention.Party{Goroutine: uint64(c.root.g), Group: c.root.group, Stack: c.root.site.stack}
		}
		roots = append(roots, r)
	}
	q.SetRoots(roots)
}
