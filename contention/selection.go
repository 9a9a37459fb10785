package contention

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Filter returns a profile with the waits of some kinds, of all if there are none, and with the
// rows that focus matches, if it is not nil: in the name or the class of the lock, or in a group or
// the full name of a function of the waiter, of the owner, or of a root owner. It drops pairs,
// hand-off and unattributed parts of rows with a total time of less than least.
//
// If focus matches on the waiter's side, all parts of the wait are kept. If it matches only owners,
// the wait is reduced to what is blamed on those, and its Contentions are limited to theirs. If it
// matches only root owners, a pair is reduced to their part. Thus the result satisfies the
// invariants of a Profile, but its totals are those of the kept rows; Events and Bytes are 0,
// unless all are kept. Rows are copied; locks and stacks are shared with p.
func (p *Profile) Filter(kinds []string, focus *regexp.Regexp, least time.Duration) *Profile {
	f, whole := newRowSums(), newRowSums() // whole has the waits before filtering
	f.out = *p
	f.out.Waits, f.out.Pairs, f.out.Locks, f.out.Unfinished = nil, nil, nil, nil
	if len(kinds) > 0 || focus != nil || least > 0 {
		f.out.Events, f.out.Bytes = 0, 0 // they are those of all waits
	}
	m := matcher{re: focus, stacks: map[*Stack]bool{}, locks: map[*Lock]bool{}}
	wanted := func(k string) bool { return len(kinds) == 0 || slices.Contains(kinds, k) }
	for i := range p.Waits {
		w := &p.Waits[i]
		if !wanted(w.Kind) {
			continue
		}
		k := w.key()
		all, to := whole.wait(k), f.wait(k)
		all.Add(w)
		to.Longest, to.StdErr = all.Longest, all.StdErr // of a part, at most
		if m.lock(w.Lock) || m.party(&w.Waiter) {
			to.Contentions, to.Observed, to.Parks, to.Ready, to.ReadyIdle = all.Contentions, all.Observed, all.Parks, all.Ready, all.ReadyIdle
			if w.HandOff >= least {
				to.HandOff += w.HandOff
			}
			if w.Unattributed >= least {
				to.Unattributed += w.Unattributed
			}
		}
	}
	for i := range p.Pairs {
		q := p.Pairs[i]
		k := q.waiterKey()
		keep := m.lock(q.Lock) || m.party(&q.Waiter)
		if _, ok := f.waits[k]; !ok || !keep && !m.party(&q.Owner) && !m.roots(&q) || q.Blamed < least {
			continue
		}
		to, all := f.wait(k), whole.wait(k)
		if to.Blamed += q.Blamed; !keep {
			to.Contentions = min(all.Contentions, to.Contentions+q.Contentions)
			to.Observed = min(all.Observed, to.Observed+q.Contentions)
		}
		f.out.Pairs = append(f.out.Pairs, q)
	}
	for _, u := range p.Unfinished {
		if wanted(u.Kind) && u.Waited >= least && (m.lock(&Lock{Name: u.Lock.String()}) || m.party(&u.Waiter) || m.party(&u.Holder)) {
			f.out.Unfinished = append(f.out.Unfinished, u)
		}
	}
	used := map[*Lock]bool{}
	f.out.Waits = slices.DeleteFunc(f.out.Waits, func(w Wait) bool {
		keep := w.Blamed+w.HandOff+w.Unattributed > 0 || least <= 0 && (m.lock(w.Lock) || m.party(&w.Waiter))
		used[w.Lock] = used[w.Lock] || keep
		return !keep
	})
	for i := range f.out.Waits {
		w := &f.out.Waits[i]
		w.Waited = w.Blamed + w.HandOff + w.Unattributed
		w.Longest = min(w.Longest, w.Waited)
	}
	f.out.Locks = slices.DeleteFunc(slices.Clone(p.Locks), func(l *Lock) bool { return !used[l] })
	order.Stable(f.out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	return &f.out
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
	f := newRowSums()
	f.out = *p
	f.out.Waits, f.out.Pairs, f.out.Locks = nil, nil, nil
	other, was := p.otherLock() // the lock of the combined rows, a copy of that of an earlier Top
	lockOf := func(l *Lock) *Lock {
		if l == was && l != nil {
			return other
		}
		return l
	}
	rest := p.restChain()
	folded := func(kind string, flags uint32) rowKey {
		return rowKey{kind: kind, lock: other, waiter: Party{Stack: rest}, flags: flags & WaiterFlags}
	}
	used, kept := map[*Lock]bool{}, map[rowKey]bool{}
	waits := slices.Clone(p.Waits)
	order.Stable(waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	for i := range waits {
		w := &waits[i]
		w.Lock = lockOf(w.Lock)
		if i < n && w.Waiter.Stack != rest {
			kept[w.key()], used[w.Lock] = true, true
			f.out.Waits = append(f.out.Waits, *w)
			continue
		}
		used[other] = true
		f.wait(folded(w.Kind, w.Flags)).Add(w)
		other.Longest = max(other.Longest, w.Longest)
	}
	pairs := slices.Clone(p.Pairs)
	order.Stable(pairs, func(a, b Pair) int { return cmp.Compare(b.Blamed, a.Blamed) })
	for i := range pairs {
		q := &pairs[i]
		q.Lock = lockOf(q.Lock)
		k := q.waiterKey()
		if !kept[k] {
			k = folded(q.Kind, q.Flags)
		} else if i < n && q.Owner.Stack != rest {
			f.out.Pairs = append(f.out.Pairs, *q)
			continue
		}
		k.owner.Stack = rest
		into := f.pair(k)
		stdErr := into.StdErr + q.StdErr // both may be estimated from the same waits
		into.add(q, 1)
		into.StdErr = stdErr
	}
	f.limit()
	for _, l := range p.Locks {
		if l = lockOf(l); used[l] {
			f.out.Locks = append(f.out.Locks, l)
		}
	}
	if was == nil && used[other] {
		f.out.Locks = append(f.out.Locks, other)
	}
	order.Stable(f.out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	order.Stable(f.out.Pairs, func(a, b Pair) int { return cmp.Compare(b.Blamed, a.Blamed) })
	return &f.out
}

// limit corrects pairs with combined owners: one wait may have lost time to several of them, but
// counts once, and its standard error is the limit of theirs.
func (s *rowSums) limit() {
	waits := map[rowKey]*Wait{}
	for i := range s.out.Waits {
		waits[s.out.Waits[i].key()] = &s.out.Waits[i]
	}
	for _, at := range s.pairs {
		q := &s.out.Pairs[at]
		if w := waits[q.waiterKey()]; w != nil {
			q.Contentions = min(q.Contentions, w.Contentions)
			q.StdErr = min(q.StdErr, w.StdErr)
		}
	}
}

// otherLock returns the lock of combined rows: a copy of that of an earlier Top, and that, if there
// is one.
func (p *Profile) otherLock() (other, was *Lock) {
	other = &Lock{Name: OtherLocks}
	for _, l := range p.Locks {
		if l.Name == OtherLocks && l.Class == "" {
			c := *l
			return &c, l
		}
		other.ID = max(other.ID, l.ID+1)
	}
	return other, nil
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
