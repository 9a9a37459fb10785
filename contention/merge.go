package contention

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// piece is the position of a profile among those made in one pass over a trace. The zero value is
// for a single profile.
type piece struct {
	pass        *int // the same for all pieces of a pass; nil for a single profile
	first, last int  // range of pieces
	sameIDs     bool // windows of a pass: a lock has the same ID in all of them
}

// Finish completes a profile whose rows another package has filled in: it sorts them, and adds the
// limits of their accuracy to Warnings. The profile is piece number n of those with the same pass,
// or window number n: a lock has the same ID in all windows.
func (p *Profile) Finish(pass *int, n int, window bool) {
	p.piece = piece{pass, n, n, window}
	p.finish()
	if p.Source == FromTrace && !window { // windows get the warnings when they are merged
		p.warnTrace()
	}
}

// Merge adds up profiles of several instances of a program, or of several windows of one instance.
//
// Contentions, times and Duration are summed, so that waited time ÷ Duration is still the mean
// number of waiting goroutines per instance; the longest wait is the maximum. Rows are the same if
// they agree in kind, lock, call chains (by function, file and line), groups and flags. Locks are
// the same if they have the same name, class and place of creation. Locks without a name must also
// be waited for by the same call chain; several such locks of a profile are matched with those of
// the others one by one, in order. Locks from windows of one pass are matched by ID. When several
// instances are merged, goroutine IDs are dropped.
//
// Consecutive windows of one trace are one instance. Any other profile counts as its Instances, or
// one. nil profiles are ignored. The accuracy is that of the least accurate profile. The result
// shares the call chains of the profiles. It takes about a microsecond per row.
func Merge(profiles ...*Profile) *Profile {
	m := merger{
		stacks: map[*Stack]*Stack{}, byText: map[string]*Stack{},
		byID: map[lockID]*mergedLock{}, byKey: map[lockKey]*alikeLocks{}, sources: map[*int]int{},
	}
	for _, p := range profiles {
		if p != nil {
			m.count(p)
		}
	}
	for _, p := range profiles {
		if p != nil {
			m.add(p)
		}
	}
	return m.result()
}

// merger is the state of a merge.
type merger struct {
	out          Profile
	waits, pairs sumRows

	n         int          // number of the profile being added, from 1
	sources   map[*int]int // by pass: its last piece
	instances int
	foreign   bool // some profile is not a piece of a pass: its warnings are kept

	stacks map[*Stack]*Stack // the first with the same calls
	byText map[string]*Stack
	locks  []*mergedLock
	byID   map[lockID]*mergedLock
	byKey  map[lockKey]*alikeLocks
	own    []string // warnings of passes over traces
}

// mergedLock is a lock of the result.
type mergedLock struct {
	lock   *Lock
	n      int  // the latest profile that has it,
	source *int // and the pass of that profile, if it is a piece
}

// alikeLocks has the locks of the result with the same key.
type alikeLocks struct {
	list []*mergedLock
	in   map[*mergedLock]bool
	free int // profile n has found those before,
	n    int
}

// take returns the first lock that may be one of profile n and that the profile has not found yet,
// or nil.
func (a *alikeLocks) take(n int, of piece) *mergedLock {
	if a.n != n {
		a.n, a.free = n, 0
	}
	for ; a.free < len(a.list); a.free++ {
		if e := a.list[a.free]; e.n != n && !(of.sameIDs && e.source == of.pass) {
			return e
		}
	}
	return nil
}

func (a *alikeLocks) add(e *mergedLock) {
	if !a.in[e] {
		a.in[e] = true
		a.list = append(a.list, e)
	}
}

type lockID struct {
	source *int
	id     uint64
}

// lockKey is a key by which locks are matched.
type lockKey struct {
	name, class     string
	created, waiter *Stack
	kind            string // of a wait; "" for a lock with a name
}

// count counts the instances.
func (m *merger) count(p *Profile) {
	switch s := p.piece.pass; {
	case s == nil:
		m.instances += max(1, p.Instances)
		m.foreign = true
	default:
		if last, seen := m.sources[s]; !seen || p.piece.first <= last {
			m.instances++ // otherwise it follows
		}
		m.sources[s] = p.piece.last
	}
}

func (m *merger) add(p *Profile) {
	m.n++
	m.addHead(p)
	locks := m.matchLocks(p)
	add := func(into *sumRows, w *Wait) {
		sum := into.row(rowKey{w.Kind, locks[w.Lock].lock, m.party(w.Waiter), m.party(w.Owner), w.Flags})
		sum.Add(w)
		m.addRoots(sum, w)
	}
	for i := range p.Waits {
		add(&m.waits, &p.Waits[i])
	}
	for i := range p.Pairs {
		add(&m.pairs, &p.Pairs[i])
	}
}

// addHead adds the fields that belong to no row.
func (m *merger) addHead(p *Profile) {
	o := &m.out
	if m.n == 1 {
		o.Source, o.Accuracy, o.piece = p.Source, p.Accuracy, p.piece
	} else {
		if p.Source != o.Source {
			o.warn("The profile combines observations from %s and from %s, which do not include the same waits.", o.Source, p.Source)
		}
		if slices.Index(accuracies, p.Accuracy) > slices.Index(accuracies, o.Accuracy) {
			o.Accuracy = p.Accuracy
		}
	}
	follows := m.n > 1 && p.piece.pass != nil && p.piece.pass == o.piece.pass
	if follows {
		if p.piece.first > o.piece.last && p.Source == FromTrace {
			o.InFlight, o.Unfinished = 0, nil // they continue in the next piece
		}
		o.piece.first = min(o.piece.first, p.piece.first)
		o.piece.last = max(o.piece.last, p.piece.last)
	} else if m.n > 1 {
		o.piece = piece{}
	}
	if !p.Start.IsZero() && (o.Start.IsZero() || p.Start.Before(o.Start)) {
		o.Start = p.Start
	}
	o.Duration += p.Duration
	o.InFlight += p.InFlight
	o.Events += p.Events
	o.Bytes += p.Bytes
	o.Unfinished = append(o.Unfinished, p.Unfinished...)
	o.Dropped.Chains += p.Dropped.Chains
	o.Dropped.Locks += p.Dropped.Locks
	o.Dropped.Pairs += p.Dropped.Pairs
	o.Dropped.Exits += p.Dropped.Exits
	into := &o.Warnings
	if p.piece.pass != nil {
		into = &m.own // they follow from the numbers if all are of passes
	}
	for _, w := range p.Warnings {
		if len(*into) < maxMergedWarnings && !slices.Contains(o.Warnings, w) && !slices.Contains(m.own, w) {
			*into = append(*into, w)
		}
	}
}

// severalInstances returns n if it is more than one, else 0.
func severalInstances(n int) int {
	if n > 1 {
		return n
	}
	return 0
}

// maxMergedWarnings is the maximum number of different warnings in a merged profile.
const maxMergedWarnings = 32

// addRoots adds the roots of b other than its owner to those of q, which already includes the rest
// of b.
func (m *merger) addRoots(q, b *Wait) {
	var sums sumRows
	for i, r := range slices.Concat(q.Roots, b.Roots) {
		if r.Kind == "" {
			continue
		}
		if i >= len(q.Roots) {
			r.Owner = m.party(r.Owner)
		}
		sums.row(r.key()).Add(&r)
	}
	q.SetRoots(sums.list)
}

// party returns p with the stack of the result, and without a goroutine if its ID is meaningless.
func (m *merger) party(p Party) Party {
	if m.instances > 1 {
		p.Goroutine = 0
	}
	p.Stack = m.stack(p.Stack)
	return p
}

// stack returns the first call chain with the same functions, files and lines.
func (m *merger) stack(s *Stack) *Stack {
	first, known := m.stacks[s]
	if s == nil || known {
		return first
	}
	text := []string{strconv.FormatBool(s.Truncated)}
	for _, f := range s.Frames {
		text = append(text, f.Func, f.File, strconv.Itoa(f.Line))
	}
	k := strings.Join(text, "\x00")
	if first = m.byText[k]; first == nil {
		first, m.byText[k] = s, s
	}
	m.stacks[s] = first
	return first
}

// matchLocks finds or makes the locks of the result that correspond to those of a profile.
func (m *merger) matchLocks(p *Profile) map[*Lock]*mergedLock {
	keys := make(map[*Lock][]lockKey, len(p.Locks))
	for i := range p.Waits {
		w := &p.Waits[i]
		if l := w.Lock; l.Name == "" || l.Name == SeveralLocks {
			keys[l] = append(keys[l], lockKey{class: l.Class, created: m.stack(l.Created), kind: w.Kind, waiter: m.stack(w.Waiter.Stack)})
		}
	}
	out := make(map[*Lock]*mergedLock, len(p.Locks))
	match := func(l *Lock) {
		if out[l] == nil && l != nil {
			out[l] = m.match(l, p.piece, keys[l])
		}
	}
	for _, l := range p.Locks {
		if m.byID[lockID{p.piece.pass, l.ID}] != nil {
			match(l) // before a similar lock takes its place
		}
	}
	for _, l := range p.Locks {
		match(l)
	}
	for _, rows := range [][]Wait{p.Waits, p.Pairs} {
		for i := range rows {
			match(rows[i].Lock) // a profile made by hand may lack its locks
		}
	}
	return out
}

func (m *merger) match(l *Lock, of piece, keys []lockKey) *mergedLock {
	if len(keys) == 0 {
		keys = []lockKey{{name: l.Name, class: l.Class, created: m.stack(l.Created)}}
	}
	id := lockID{of.pass, l.ID}
	e := m.byID[id]
	for i := 0; e == nil && i < len(keys); i++ {
		if a := m.byKey[keys[i]]; a != nil {
			e = a.take(m.n, of)
		}
	}
	if e == nil {
		e = &mergedLock{lock: &Lock{ID: l.ID, Name: l.Name, Class: l.Class, Created: m.stack(l.Created)}}
		m.locks = append(m.locks, e)
	}
	e.n, e.source = m.n, of.pass
	if of.pass != nil {
		m.byID[id] = e
	}
	for _, k := range keys {
		a := m.byKey[k]
		if a == nil {
			a = &alikeLocks{in: map[*mergedLock]bool{}}
			m.byKey[k] = a
		}
		a.add(e)
	}
	if l.Name == SeveralLocks {
		e.lock.Name = SeveralLocks
	}
	e.lock.Waiters = max(e.lock.Waiters, l.Waiters)
	e.lock.Longest = max(e.lock.Longest, l.Longest)
	e.lock.Contended += l.Contended
	e.lock.Hold = max(e.lock.Hold, l.Hold)
	return e
}

func (m *merger) result() *Profile {
	p := &m.out
	p.Waits, p.Pairs = m.waits.list, m.pairs.list
	if m.instances > 1 {
		p.Instances = m.instances
	}
	ids := map[uint64]bool{}
	for i, e := range m.locks {
		if m.instances > 1 || ids[e.lock.ID] {
			e.lock.ID = uint64(i + 1)
		}
		ids[e.lock.ID] = true
		p.Locks = append(p.Locks, e.lock)
	}
	slices.SortStableFunc(p.Locks, func(a, b *Lock) int { return cmp.Compare(a.ID, b.ID) })
	kept := p.Warnings
	p.finish()
	if m.foreign {
		p.Warnings = append(kept, m.own...) // the numbers in them are those of the parts
	} else if p.Source == FromTrace {
		p.warnTrace()
	}
	return p
}

// warnTrace adds warnings that follow from the rows of a profile of a trace.
func (p *Profile) warnTrace() {
	var waited, unattributed time.Duration
	for i := range p.Waits {
		if w := &p.Waits[i]; w.OfLock() {
			waited += w.Waited
			unattributed += w.Unattributed
		}
	}
	// Less is no reason to doubt the rest.
	if part := 100 * float64(unattributed) / float64(waited); part >= 0.5 {
		p.warn("The owner is unknown for %.0f %% of the waiting for locks.", part)
	}
	several := 0
	for _, l := range p.Locks {
		if l.Name == SeveralLocks {
			several++
		}
	}
	if several > 0 {
		p.warn("%d entries combine several locks each: the same code locks them, so the trace does not distinguish them.", several)
	}
}

// Scale returns a copy of the profile in which all times and numbers of contentions are n times as
// large. It estimates the whole from a random sample of one in n. As n is an integer, nothing is
// rounded, and sums in the profile remain sums in the copy. Observed values stay as they are:
// Wait.Observed, the longest waits, Lock.Waiters, contentions in flight, and what was dropped. n
// must be positive.
func (p *Profile) Scale(n int) *Profile {
	out := *p
	k, count := time.Duration(n), int64(n)
	out.Duration *= k
	out.Events *= count // so that rates stay
	out.Bytes *= count
	locks := make(map[*Lock]*Lock, len(p.Locks))
	lock := func(l *Lock) *Lock {
		if l != nil && locks[l] == nil {
			scaled := *l
			scaled.Contended *= k
			locks[l] = &scaled
		}
		return locks[l]
	}
	out.Locks = slices.Clone(p.Locks)
	for i, l := range out.Locks {
		out.Locks[i] = lock(l)
	}
	out.Waits, out.Pairs = scaled(p.Waits, count, lock), scaled(p.Pairs, count, lock)
	return &out
}

// scaled returns rows as often as times, with other locks.
func scaled(rows []Wait, times int64, lock func(*Lock) *Lock) []Wait {
	out := slices.Clone(rows)
	for i := range out {
		w := &rows[i]
		out[i] = Wait{Kind: w.Kind, Lock: lock(w.Lock), Waiter: w.Waiter, Owner: w.Owner, Flags: w.Flags, Roots: scaled(w.Roots, times, lock)}
		out[i].add(w, times)
	}
	return out
}
