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
	out := *p
	out.Pairs, out.Unfinished = nil, nil
	if len(kinds) > 0 || focus != nil || least > 0 {
		out.Events, out.Bytes = 0, 0 // they are those of all waits
	}
	var kept, whole sumRows // whole has the waits before filtering
	m := matcher{re: focus, stacks: map[*Stack]bool{}, locks: map[*Lock]bool{}}
	wanted := func(k string) bool { return len(kinds) == 0 || slices.Contains(kinds, k) }
	for i := range p.Waits {
		w := &p.Waits[i]
		if !wanted(w.Kind) {
			continue
		}
		all, to := whole.row(w.key()), kept.row(w.key())
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
	for _, q := range p.Pairs {
		k := q.waiterKey()
		keep := m.lock(q.Lock) || m.party(&q.Waiter)
		if _, ok := kept.at[k]; !ok || !keep && !m.party(&q.Owner) && !m.roots(&q) || q.Blamed < least {
			continue
		}
		to, all := kept.row(k), whole.row(k)
		if to.Blamed += q.Blamed; !keep {
			to.Contentions = min(all.Contentions, to.Contentions+q.Contentions)
			to.Observed = min(all.Observed, to.Observed+q.Contentions)
		}
		out.Pairs = append(out.Pairs, q)
	}
	for _, u := range p.Unfinished {
		if wanted(u.Kind) && u.Waited >= least && (m.lock(&Lock{Name: u.Lock.String()}) || m.party(&u.Waiter) || m.party(&u.Owner)) {
			out.Unfinished = append(out.Unfinished, u)
		}
	}
	used := map[*Lock]bool{}
	out.Waits = slices.DeleteFunc(kept.list, func(w Wait) bool {
		keep := w.Blamed+w.HandOff+w.Unattributed > 0 || least <= 0 && (m.lock(w.Lock) || m.party(&w.Waiter))
		used[w.Lock] = used[w.Lock] || keep
		return !keep
	})
	for i := range out.Waits {
		w := &out.Waits[i]
		w.Waited = w.Blamed + w.HandOff + w.Unattributed
		w.Longest = min(w.Longest, w.Waited)
	}
	out.Locks = slices.DeleteFunc(slices.Clone(p.Locks), func(l *Lock) bool { return !used[l] })
	order.Stable(out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	return &out
}

// matcher caches the results of the regular expression.
type matcher struct {
	re     *regexp.Regexp
	stacks map[*Stack]bool
	locks  map[*Lock]bool
}

// roots reduces q to the root owners that match, and reports whether there are any.
func (m *matcher) roots(q *Wait) bool {
	found := Wait{Kind: q.Kind, Lock: q.Lock, Waiter: q.Waiter, Owner: q.Owner, Flags: q.Flags}
	for _, part := range q.byRoot() {
		if m.party(&part.Roots[0].Owner) {
			found.Roots = append(found.Roots, part.Roots...)
			found.Add(&part)
		}
	}
	found.Contentions = min(q.Contentions, found.Contentions)
	found.Longest, found.StdErr = min(q.Longest, found.Blamed), q.StdErr
	*q = found
	return len(found.Roots) > 0
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
// with the lock "[other locks]" and no call chain, and for each row into a pair without the owner's
// call chain. Thus everything still sums, in memory proportional to n. Top returns p itself if it
// has at most n of each, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	if n <= 0 || len(p.Waits) <= n && len(p.Pairs) <= n {
		return p
	}
	out := *p
	out.Waits, out.Pairs, out.Locks = nil, nil, nil
	// The lock and the call chain of combined rows, also of those of an earlier Top.
	other, rest := &Lock{ID: otherLocksID, Name: otherLocks}, &Stack{Frames: []Frame{{Func: callstack.Dropped}}}
	ofOthers := func(l *Lock) bool { return l != nil && l.Name == otherLocks && l.Class == "" }
	isRest := func(s *Stack) bool { return s != nil && len(s.Frames) == 1 && s.Frames[0].Func == callstack.Dropped }
	used, kept := map[*Lock]bool{}, map[rowKey]*Wait{}
	var waits, pairs sumRows // combined
	rows := slices.Clone(p.Waits)
	order.Stable(rows, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	for i := range rows {
		w := &rows[i]
		if ofOthers(w.Lock) {
			w.Lock = other
		}
		if i < n && !isRest(w.Waiter.Stack) {
			kept[w.key()], used[w.Lock] = w, true
			out.Waits = append(out.Waits, *w)
			continue
		}
		used[other] = true
		waits.row(rowKey{kind: w.Kind, lock: other, waiter: Party{Stack: rest}, flags: w.Flags & WaiterFlags}).Add(w)
		other.Longest = max(other.Longest, w.Longest)
	}
	for i := range waits.list {
		kept[waits.list[i].key()] = &waits.list[i]
	}
	out.Waits = append(out.Waits, waits.list...)
	rows = slices.Clone(p.Pairs)
	order.Stable(rows, func(a, b Wait) int { return cmp.Compare(b.Blamed, a.Blamed) })
	for i := range rows {
		q := &rows[i]
		if ofOthers(q.Lock) {
			q.Lock = other
		}
		k := q.waiterKey()
		if kept[k] == nil {
			k.lock, k.waiter = other, Party{Stack: rest}
		} else if i < n && !isRest(q.Owner.Stack) {
			out.Pairs = append(out.Pairs, *q)
			continue
		}
		w := kept[k]
		k.owner.Stack = rest
		into := pairs.row(k)
		stdErr := into.StdErr + q.StdErr // both may be estimated from the same waits
		into.Add(q)
		into.StdErr = stdErr
		if w != nil { // one wait may have lost time to several owners
			into.Contentions, into.StdErr = min(into.Contentions, w.Contentions), min(stdErr, w.StdErr)
		}
	}
	out.Pairs = append(out.Pairs, pairs.list...)
	for _, l := range p.Locks {
		if ofOthers(l) {
			other.Waiters, other.Longest, other.Contended = l.Waiters, max(l.Longest, other.Longest), l.Contended
		} else if used[l] {
			out.Locks = append(out.Locks, l)
		}
	}
	if used[other] {
		out.Locks = append(out.Locks, other)
	}
	order.Stable(out.Waits, func(a, b Wait) int { return cmp.Compare(b.Waited, a.Waited) })
	order.Stable(out.Pairs, func(a, b Wait) int { return cmp.Compare(b.Blamed, a.Blamed) })
	return &out
}
