package contention

import (
	"maps"
	"slices"
	"time"
)

// Scale returns a copy of the profile in which every time, and every number of contentions, is n
// times as large: the estimate of a time of which the profile shows the n-th part, drawn at random.
// As n is a whole number, nothing is rounded, and what sums in the profile sums in the copy. What
// was seen stays as it is: Wait.Observed, the longest waits, Lock.Waiters, what is in flight, and
// what was dropped. n must be positive.
func (p *Profile) Scale(n int) *Profile {
	out := *p
	k, count := time.Duration(n), int64(n)
	out.Duration *= k
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
	out.Waits = slices.Clone(p.Waits)
	for i := range out.Waits {
		w := &out.Waits[i]
		w.Lock = lock(w.Lock)
		w.Contentions *= count
		w.Parks *= count
		for _, d := range []*time.Duration{&w.Waited, &w.Ready, &w.ReadyIdle, &w.StdErr, &w.Blamed, &w.HandOff, &w.Unattributed} {
			*d *= k
		}
	}
	out.Pairs = slices.Clone(p.Pairs)
	for i := range out.Pairs {
		q := &out.Pairs[i]
		q.Lock = lock(q.Lock)
		q.Contentions *= count
		for _, d := range []*time.Duration{&q.Blamed, &q.StdErr, &q.Activity.Running, &q.Activity.Runnable, &q.Activity.Unknown} {
			*d *= k
		}
		q.Activity.Blocked = maps.Clone(q.Activity.Blocked)
		for kind := range q.Activity.Blocked {
			q.Activity.Blocked[kind] *= k
		}
		q.Roots = slices.Clone(q.Roots)
		for j := range q.Roots {
			q.Roots[j].Contentions *= count
			q.Roots[j].Blamed *= k
		}
	}
	return &out
}
