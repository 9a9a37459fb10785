package contention

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Filter selects rows of a profile. The zero value keeps all.
type Filter struct {
	// Kinds are the kinds to keep; empty means all.
	Kinds []Kind
	// Focus keeps rows that it matches in the name or the class of the lock, or in a group or the
	// full name of a function of the waiter, of the owner, or of a root owner.
	Focus *regexp.Regexp
	// Min drops pairs, hand-off and unattributed parts of rows with a smaller total time.
	Min time.Duration
}

// Filter returns a profile with the rows that f keeps. If Focus matches on the waiter's side, all
// parts of the wait are kept. If it matches only owners, the wait is reduced to what is blamed on
// those, and its Contentions are limited to theirs. If it matches only root owners, a pair is
// reduced to their part. Thus the result satisfies the invariants of a Profile, but its totals are
// those of the kept rows; Events and Bytes are 0, unless f keeps all. Rows are copied; locks and
// stacks are shared with p.
func (p *Profile) Filter(f Filter) *Profile {
	out := *p
	out.Waits, out.Pairs, out.Locks, out.Unfinished = nil, nil, nil, nil
	if len(f.Kinds) > 0 || f.Focus != nil || f.Min > 0 {
		out.Events, out.Bytes = 0, 0 // they are those of all waits
	}
	m := matcher{re: f.Focus, stacks: map[*Stack]bool{}, locks: map[*Lock]bool{}}
	t := &filtered{at: map[rowKey]int{}}
	for i := range p.Waits {
		if w := &p.Waits[i]; len(f.Kinds) == 0 || slices.Contains(f.Kinds, w.Kind) {
			t.add(w, m.lock(w.Lock) || m.party(&w.Waiter), f.Min)
		}
	}
	for i := range p.Pairs {
		q := p.Pairs[i]
		at, ok := t.at[q.waiterKey()]
		if ok && (t.whole[at] || m.party(&q.Owner) || m.roots(&q)) && q.Blamed >= f.Min {
			t.blame(at, &q)
			out.Pairs = append(out.Pairs, q)
		}
	}
	for _, u := range p.Unfinished {
		if (len(f.Kinds) == 0 || slices.Contains(f.Kinds, u.Kind)) && u.Waited >= f.Min && m.unfinished(&u) {
			out.Unfinished = append(out.Unfinished, u)
		}
	}
	used := map[*Lock]bool{}
	for i := range t.waits {
		w := &t.waits[i]
		w.Waited = w.Blamed + w.HandOff + w.Unattributed
		if w.Waited > 0 || f.Min <= 0 && t.whole[i] {
			w.Longest = min(w.Longest, w.Waited)
			used[w.Lock] = true
			out.Waits = append(out.Waits, *w)
		}
	}
	for _, l := range p.Locks {
		if used[l] {
			out.Locks = append(out.Locks, l)
		}
	}
	order.Stable(out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	return &out
}

// filtered has the waits that may be kept at least in part.
type filtered struct {
	at    map[rowKey]int
	waits []Wait
	whole []bool // Focus matched on the waiter's side
	limit []Wait // the waits before filtering
}

// add keeps the parts of a wait without blame. The blame is added with the pairs.
func (t *filtered) add(w *Wait, whole bool, least time.Duration) {
	k := w.key()
	at, again := t.at[k]
	if !again { // otherwise rows with equal call chains
		at = len(t.waits)
		t.at[k] = at
		t.waits = append(t.waits, Wait{Kind: w.Kind, Lock: w.Lock, Waiter: w.Waiter, Flags: w.Flags})
		t.whole = append(t.whole, whole)
		t.limit = append(t.limit, Wait{})
	}
	to, limit := &t.waits[at], &t.limit[at]
	to.Longest = max(to.Longest, w.Longest)
	to.StdErr = bothErrors(to.StdErr, w.StdErr) // of a part, at most
	limit.Contentions += w.Contentions
	limit.Observed += w.Observed
	if !whole {
		return
	}
	to.Parks += w.Parks
	to.Ready += w.Ready
	to.ReadyIdle += w.ReadyIdle
	to.Contentions, to.Observed = limit.Contentions, limit.Observed
	if w.HandOff >= least {
		to.HandOff += w.HandOff
	}
	if w.Unattributed >= least {
		to.Unattributed += w.Unattributed
	}
}

// blame adds a kept pair to its wait.
func (t *filtered) blame(at int, q *Pair) {
	w := &t.waits[at]
	w.Blamed += q.Blamed
	if !t.whole[at] {
		w.Contentions = min(t.limit[at].Contentions, w.Contentions+q.Contentions)
		w.Observed = min(t.limit[at].Observed, w.Observed+q.Contentions)
	}
}

// matcher caches the results of the regular expression.
type matcher struct {
	re     *regexp.Regexp
	stacks map[*Stack]bool
	locks  map[*Lock]bool
}

// roots reduces q to the root owners that match, and reports whether there are any.
func (m *matcher) roots(q *Pair) bool {
	var found []Root
	var did Activity
	var blamed time.Duration
	var contentions int64
	for i := range q.Roots {
		if r := &q.Roots[i]; m.party(&r.Owner) {
			found = append(found, *r)
			did.add(q.activityUnder(r), 1)
			blamed += r.Blamed
			contentions += r.Contentions
		}
	}
	q.Roots, q.Activity, q.Blamed = found, did, blamed
	q.Contentions = min(q.Contentions, contentions)
	q.Longest = min(q.Longest, blamed)
	return len(found) > 0
}

func (m *matcher) lock(l *Lock) bool {
	if m.re == nil {
		return true
	}
	found, known := m.locks[l]
	if !known {
		found = m.re.MatchString(l.Name) || m.re.MatchString(l.Class)
		m.locks[l] = found
	}
	return found
}

func (m *matcher) unfinished(u *Unfinished) bool {
	return m.re == nil || m.re.MatchString(u.Lock) || m.party(&u.Waiter) || m.party(&u.Holder)
}

func (m *matcher) party(p *Party) bool {
	if m.re == nil || m.re.MatchString(p.Group) {
		return true
	}
	if p.Stack == nil {
		return false
	}
	found, known := m.stacks[p.Stack]
	if !known {
		found = slices.ContainsFunc(p.Stack.Frames, func(f Frame) bool { return m.re.MatchString(f.Func) })
		m.stacks[p.Stack] = found
	}
	return found
}

// Top returns a copy of the profile that keeps the n rows of Waits with the longest Waited, the n
// pairs with the most Blamed, and their locks. The others are combined: into a row for each kind
// with the lock [OtherLocks] and no call chain, and for each row into a pair without the owner's
// call chain. Thus everything still sums, in memory proportional to n. Top returns p itself if it
// has at most n of each, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	if n <= 0 || len(p.Waits) <= n && len(p.Pairs) <= n {
		return p
	}
	f := topFolder{rest: p.restChain(), kept: map[rowKey]bool{}, waits: map[rowKey]int{}, pairs: map[rowKey]int{}, out: *p}
	f.out.Waits, f.out.Pairs, f.out.Locks = nil, nil, nil
	f.otherLock(p)
	waits := slices.Clone(p.Waits)
	order.Stable(waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	for i := range waits {
		f.wait(&waits[i], i < n)
	}
	pairs := slices.Clone(p.Pairs)
	order.Stable(pairs, func(a, b Pair) int { return cmp.Compare(b.Blamed, a.Blamed) })
	for i := range pairs {
		f.pair(&pairs[i], i < n)
	}
	return f.finish(p)
}

// topFolder is the state of a Top.
type topFolder struct {
	out   Profile
	rest  *Stack          // call chain of the combined rows
	other *Lock           // their lock,
	was   *Lock           // which is a copy of this one, if there was an earlier Top
	kept  map[rowKey]bool // rows of Waits that stay separate
	waits map[rowKey]int  // index in out.Waits of the combined rows
	pairs map[rowKey]int
}

// restChain returns the call chain of combined rows: that of an earlier Top, if there is one.
func (p *Profile) restChain() *Stack {
	isRest := func(s *Stack) bool { return s != nil && len(s.Frames) == 1 && s.Frames[0].Func == callstack.Dropped }
	for i := range p.Waits {
		if s := p.Waits[i].Waiter.Stack; isRest(s) {
			return s
		}
	}
	for i := range p.Pairs {
		if s := p.Pairs[i].Owner.Stack; isRest(s) {
			return s
		}
	}
	return &Stack{Frames: []Frame{{Func: callstack.Dropped}}}
}

func (f *topFolder) otherLock(p *Profile) {
	f.other = &Lock{Name: OtherLocks}
	for _, l := range p.Locks {
		if l.Name == OtherLocks && l.Class == "" {
			c := *l
			f.other, f.was = &c, l
			return
		}
		f.other.ID = max(f.other.ID, l.ID+1)
	}
}

func (f *topFolder) lockOf(l *Lock) *Lock {
	if l == f.was && l != nil {
		return f.other
	}
	return l
}

func (f *topFolder) wait(w *Wait, keep bool) {
	w.Lock = f.lockOf(w.Lock)
	if keep && w.Waiter.Stack != f.rest {
		f.kept[w.key()] = true
		f.out.Waits = append(f.out.Waits, *w)
		return
	}
	k := f.folded(w.Kind, w.Flags)
	rowOf(&f.out.Waits, f.waits, k, Wait{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Flags: k.flags}).Add(w)
	f.other.Longest = max(f.other.Longest, w.Longest)
}

// folded returns the key of the row that combines those that are not kept.
func (f *topFolder) folded(kind Kind, flags Flags) rowKey {
	return rowKey{kind: kind, lock: f.other, waiter: Party{Stack: f.rest}, flags: flags & WaiterFlags}
}

func (f *topFolder) pair(q *Pair, keep bool) {
	q.Lock = f.lockOf(q.Lock)
	k := q.waiterKey()
	if !f.kept[k] {
		k = f.folded(q.Kind, q.Flags)
	} else if keep && q.Owner.Stack != f.rest {
		f.out.Pairs = append(f.out.Pairs, *q)
		return
	}
	k.owner = Party{Stack: f.rest}
	into := rowOf(&f.out.Pairs, f.pairs, k, Pair{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Owner: k.owner, Flags: k.flags})
	stdErr := into.StdErr + q.StdErr // both may be estimated from the same waits
	into.add(q, 1)
	into.StdErr = stdErr
}

// limit corrects pairs with combined owners: one wait may have lost time to several of them, but
// counts once, and its standard error is the limit of theirs.
func (f *topFolder) limit() {
	waits := map[rowKey]*Wait{}
	for i := range f.out.Waits {
		w := &f.out.Waits[i]
		waits[w.key()] = w
	}
	for k, at := range f.pairs {
		k.owner = Party{}
		if q, w := &f.out.Pairs[at], waits[k]; w != nil {
			q.Contentions = min(q.Contentions, w.Contentions)
			q.StdErr = min(q.StdErr, w.StdErr)
		}
	}
}

// finish keeps the locks that are still referred to, in the order of p.
func (f *topFolder) finish(p *Profile) *Profile {
	f.limit()
	used := map[*Lock]bool{}
	for i := range f.out.Waits {
		used[f.out.Waits[i].Lock] = true
	}
	for _, l := range p.Locks {
		if l = f.lockOf(l); used[l] {
			f.out.Locks = append(f.out.Locks, l)
		}
	}
	if f.was == nil && used[f.other] {
		f.out.Locks = append(f.out.Locks, f.other)
	}
	order.Stable(f.out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	order.Stable(f.out.Pairs, func(a, b Pair) int { return cmp.Compare(b.Blamed, a.Blamed) })
	return &f.out
}
