package contention

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Top returns a copy of the profile that keeps the n rows of Waits with the longest Waited and the
// n pairs with the most Blamed, and their locks. The others are put together: into a row for each
// kind with the lock [OtherLocks] and no call chain, and for each row into a pair without the
// owner's call chain. So everything still sums, in memory that follows n. It returns p itself if
// that has no more than n of each, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	if n <= 0 || len(p.Waits) <= n && len(p.Pairs) <= n {
		return p
	}
	f := topFolder{rest: p.restChain(), kept: map[topRow]bool{}, waits: map[topRow]int{}, pairs: map[topRow]int{}, out: *p}
	f.out.Waits, f.out.Pairs, f.out.Locks = nil, nil, nil
	f.otherLock(p)
	waits := slices.Clone(p.Waits)
	order.Stable(waits, func(a, b Wait) int { return compareTimes(b.Waited, a.Waited) })
	for i := range waits {
		f.wait(&waits[i], i < n)
	}
	pairs := slices.Clone(p.Pairs)
	order.Stable(pairs, func(a, b Pair) int { return compareTimes(b.Blamed, a.Blamed) })
	for i := range pairs {
		f.pair(&pairs[i], i < n)
	}
	return f.finish(p)
}

func compareTimes(a, b time.Duration) int { return int(min(1, max(-1, a-b))) }

// topRow identifies a row within a profile; the owner is empty in Waits.
type topRow struct {
	kind          Kind
	lock          *Lock
	waiter, owner Party
	flags         Flags
}

// topFolder is the state of a Top.
type topFolder struct {
	out   Profile
	rest  *Stack          // the call chain of what is put together
	other *Lock           // its lock,
	was   *Lock           // which is a copy of this one, if there was an earlier Top
	kept  map[topRow]bool // rows of Waits that stay single
	waits map[topRow]int  // index in out.Waits of what is put together
	pairs map[topRow]int
}

// restChain returns the call chain that stands for those that are put together: that of an earlier
// Top, if there is one.
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
		f.kept[topRow{kind: w.Kind, lock: w.Lock, waiter: w.Waiter, flags: w.Flags}] = true
		f.out.Waits = append(f.out.Waits, *w)
		return
	}
	k := f.folded(w.Kind, w.Flags)
	at, ok := f.waits[k]
	if !ok {
		at = len(f.out.Waits)
		f.out.Waits = append(f.out.Waits, Wait{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Flags: k.flags})
		f.waits[k] = at
	}
	f.out.Waits[at].add(w)
	f.other.Longest = max(f.other.Longest, w.Longest)
}

// folded is the row that stands for those that are not kept.
func (f *topFolder) folded(kind Kind, flags Flags) topRow {
	return topRow{kind: kind, lock: f.other, waiter: Party{Stack: f.rest}, flags: flags & WaiterFlags}
}

func (f *topFolder) pair(q *Pair, keep bool) {
	q.Lock = f.lockOf(q.Lock)
	k := topRow{kind: q.Kind, lock: q.Lock, waiter: q.Waiter, flags: q.Flags & WaiterFlags}
	if !f.kept[k] {
		k = f.folded(q.Kind, q.Flags)
	} else if keep && q.Owner.Stack != f.rest {
		f.out.Pairs = append(f.out.Pairs, *q)
		return
	}
	k.owner = Party{Stack: f.rest}
	at, ok := f.pairs[k]
	if !ok {
		at = len(f.out.Pairs)
		f.out.Pairs = append(f.out.Pairs, Pair{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Owner: k.owner, Flags: k.flags})
		f.pairs[k] = at
	}
	into := &f.out.Pairs[at]
	stdErr := into.StdErr + q.StdErr // both may be estimated from the same waits
	into.add(q)
	into.StdErr = stdErr
}

// limit takes account of that one wait may have lost time to several of the owners that are put
// together: they count it once, and know it no worse than the wait.
func (f *topFolder) limit() {
	waits := map[topRow]*Wait{}
	for i := range f.out.Waits {
		w := &f.out.Waits[i]
		waits[topRow{kind: w.Kind, lock: w.Lock, waiter: w.Waiter, flags: w.Flags}] = w
	}
	for k, at := range f.pairs {
		k.owner = Party{}
		if q, w := &f.out.Pairs[at], waits[k]; w != nil {
			q.Contentions = min(q.Contentions, w.Contentions)
			q.StdErr = min(q.StdErr, w.StdErr)
		}
	}
}

// finish keeps the locks that are still referred to, and the order.
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
	order.Stable(f.out.Waits, func(a, b Wait) int { return compareTimes(b.Waited, a.Waited) })
	order.Stable(f.out.Pairs, func(a, b Pair) int { return compareTimes(b.Blamed, a.Blamed) })
	return &f.out
}
