package contention

import (
	"cmp"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Chains of blame
//
// An owner may itself be blocked while it holds what others wait for: it waits for a second lock,
// or for a channel. Whoever it waits for then is to blame for both, and that one may be blocked as
// well. The root owner is the one at the end of this chain: the goroutine that was not blocked on
// anybody. A wait is split among root owners by the time for which each stood at the end.
//
// The chain ends
//
//   - with a goroutine that runs, is runnable, or does what is not known;
//   - with one that waits for what no goroutine is blamed for: a timer, the network, a system call, or a
//     lock that was given to a goroutine that does not run yet;
//   - with no goroutine that is known, if a goroutine waits for a lock whose owner is not known.
//
// Each goroutine's past is written with the roots of its waits as soon as they are over. Owners
// that delayed a wait have ended their own waits before, so the roots are there when they are
// needed: no chain has to be followed twice, none can be a circle, and a long one costs no more
// than a short one.

// Root is the goroutine at the end of a chain of blame, and its part of a [Pair].
type Root struct {
	// Owner is who is at the end of the chain, with the call chain by which it ended
	// the wait of the one before: the Unlock, the send. It is zero if that is not known.
	Owner Party
	// Via is what the owner of the pair was blocked on during that time. It is empty if it was
	// not blocked on anybody: the root is then the owner of the pair itself.
	Via Kind
	// Links is how many goroutines of the chain were blocked, from the owner of the pair on;
	// the most if there were several chains. It is 0 if the root is the owner of the pair
	// itself.
	Links int
	// Contentions is the number of waits in which the root had a part.
	Contentions int64
	// Blamed is the part of the pair's.
	Blamed time.Duration
}

// RootOwners returns who was at the end of the chains of blame that begin with the owner of q, the
// longest Blamed first. They sum to q.Blamed. It is q.Roots, or the owner itself if that is nil.
func (q *Pair) RootOwners() []Root {
	if len(q.Roots) > 0 {
		return q.Roots
	}
	return []Root{{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}}
}

// SetRoots completes the roots of q other than its owner by the owner itself, and sorts them. They
// stay nil if there are none.
func (q *Pair) SetRoots(others []Root) {
	q.Roots = nil
	if len(others) == 0 {
		return
	}
	self := Root{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}
	for _, r := range others {
		self.Blamed -= r.Blamed
	}
	q.Roots = others
	if self.Blamed > 0 {
		q.Roots = append(q.Roots, self)
	}
	order.Stable(q.Roots, func(a, b Root) int { return cmp.Compare(b.Blamed, a.Blamed) })
}

// otherRoots returns a copy of the roots of q other than its owner.
func (q *Pair) otherRoots() (others []Root) {
	for _, r := range q.Roots {
		if r.Via != "" {
			others = append(others, r)
		}
	}
	return others
}

// addRoot adds r to the root of the same owner, if there is one.
func addRoot(roots []Root, r Root) []Root {
	for i := range roots {
		if t := &roots[i]; t.Owner == r.Owner && t.Via == r.Via {
			t.Contentions += r.Contentions
			t.Blamed += r.Blamed
			t.Links = max(t.Links, r.Links)
			return roots
		}
	}
	return append(roots, r)
}

// rootsSince returns the roots of q other than its owner less those of an earlier state of it.
func (k *rowKeys) rootsSince(q, earlier *Pair) (others []Root) {
	for _, r := range q.otherRoots() {
		for _, e := range earlier.Roots {
			if e.Via == r.Via && e.Owner.Group == r.Owner.Group && e.Owner.Goroutine == r.Owner.Goroutine && k.stack(e.Owner.Stack) == k.stack(r.Owner.Stack) {
				r.Contentions -= e.Contentions
				r.Blamed -= e.Blamed
			}
		}
		if r.Blamed != 0 {
			others = append(others, r)
		}
	}
	return others
}

// activityUnder returns what the owner of q did while r was the root.
func (q *Pair) activityUnder(r *Root) Activity {
	if r.Via != "" {
		return Activity{Blocked: map[Kind]time.Duration{r.Via: r.Blamed}}
	}
	a := q.OwnerActivity().clone()
	for i := range q.Roots {
		if via := q.Roots[i].Via; via != "" {
			a.add(Activity{Blocked: map[Kind]time.Duration{via: q.Roots[i].Blamed}}, -1)
		}
	}
	return a
}
