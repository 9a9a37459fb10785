package contention

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Filter says what to keep of a profile. The zero value keeps everything.
type Filter struct {
	// Kinds are those to keep; none means all.
	Kinds []Kind
	// Focus keeps what it finds in the name or the class of the lock, or in a group or the full
	// name of a function of the waiter, of the owner, or of a root owner.
	Focus *regexp.Regexp
	// Min leaves out pairs, hand-off and unattributed parts of rows that are shorter in all.
	Min time.Duration
}

// Filter returns a profile with those rows that f keeps. Where Focus finds something on
// the waiter's side, the wait is kept with all of its parts; where only owners are found, it is
// cut down to what is blamed on those, and its Contentions are at most as many; where only root
// owners are found, a pair is cut down to their part. So what holds for a Profile holds for the
// result, but its totals are those of what is left. Rows are copied, locks and stacks are shared
// with p.
func (p *Profile) Filter(f Filter) *Profile {
	out := *p
	out.Waits, out.Pairs, out.Locks, out.Unfinished = nil, nil, nil, nil
	m := matcher{re: f.Focus, stacks: map[*Stack]bool{}, locks: map[*Lock]bool{}}
	t := &filtered{at: map[waiterKey]int{}}
	for i := range p.Waits {
		if w := &p.Waits[i]; len(f.Kinds) == 0 || slices.Contains(f.Kinds, w.Kind) {
			t.add(w, m.lock(w.Lock) || m.party(&w.Waiter), f.Min)
		}
	}
	for i := range p.Pairs {
		q := p.Pairs[i]
		at, ok := t.at[waiterKey{q.Kind, q.Lock, q.Waiter, q.Flags & WaiterFlags}]
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

// filtered are the waits of which a part at least may be kept.
type filtered struct {
	at    map[waiterKey]int
	waits []Wait
	whole []bool // the waiter's side was found
	limit []Wait // as they were
}

// add keeps of a wait what no goroutine is blamed for. The blame follows with the pairs.
func (t *filtered) add(w *Wait, whole bool, least time.Duration) {
	k := waiterKey{w.Kind, w.Lock, w.Waiter, w.Flags}
	at, again := t.at[k]
	if !again { // else rows whose call chains cannot be told apart
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

// blame adds a pair that is kept to its wait.
func (t *filtered) blame(at int, q *Pair) {
	w := &t.waits[at]
	w.Blamed += q.Blamed
	if !t.whole[at] {
		w.Contentions = min(t.limit[at].Contentions, w.Contentions+q.Contentions)
		w.Observed = min(t.limit[at].Observed, w.Observed+q.Contentions)
	}
}

// matcher remembers what the regular expression found.
type matcher struct {
	re     *regexp.Regexp
	stacks map[*Stack]bool
	locks  map[*Lock]bool
}

// roots cuts q down to the root owners that are found, and reports whether there are any.
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
