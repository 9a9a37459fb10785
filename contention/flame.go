package contention

import (
	"fmt"
	"iter"
	"slices"
)

// The views: whose call chains the stacks of a flame graph have.
const (
	// OwnerView has the call chains of the owners to blame.
	OwnerView = "owner"
	// WaiterView has the call chains of the waiters.
	WaiterView = "waiter"
	// JoinedView has both in one stack: from the root, the waiter's chain, then the lock, then
	// the owner's chain upside down, from the call that held the lock to where its goroutine
	// began. Read from the root, it shows who waits; from the leaf, who holds the lock.
	JoinedView = "joined"
	// RootView has the call chains of the goroutines at the end of the chains of blame; see
	// [Root].
	RootView = "root"
)

// Views lists all views.
var Views = []string{OwnerView, WaiterView, JoinedView, RootView}

// CheckView returns an error if there is no view with the name.
func CheckView(name string) error {
	if slices.Contains(Views, name) {
		return nil
	}
	return fmt.Errorf("contention: unknown view %q: want owner, waiter, joined or root", name)
}

// HeldByKey stands between the lock and the owner's calls in the joined view.
const HeldByKey = "[held by]"

// Title returns the name of the lock, or its class. Locks of the same class without names have the
// same title.
func (l *Lock) Title() string {
	if l.Name != "" {
		return l.Name
	}
	return orUnknown(l.Class)
}

// Samples returns the stacks of a flame graph, root first, each with the part of a wait that it
// stands for: the pairs of waiter and owner or, in RootView, a part of a pair for each of its
// roots, with that root alone. Parts without an owner are pairs with the owner's group
// [HandOffKey], [UnattributedKey] or [ReadyKey]. In WaiterView, there are only whole waits, without
// an owner, and those of [ReadyKey]. What is below [ReadyKey] is the time after the waits; the
// others sum to the time waited. Equal stacks are not combined.
func (p *Profile) Samples(view string) iter.Seq2[[]Frame, Pair] {
	return func(yield func([]Frame, Pair) bool) {
		if view == WaiterView {
			for i := range p.Waits {
				w := &p.Waits[i]
				q := Pair{Kind: w.Kind, Lock: w.Lock, Waiter: w.Waiter, Flags: w.Flags, Contentions: w.Contentions, Blamed: w.Waited}
				ready := q
				ready.Owner, ready.Contentions, ready.Blamed = readyOwner, 0, w.Ready
				if !yield(calls(w.Waiter.Stack), q) || w.Ready > 0 && !yield(calls(w.Waiter.Stack), ready) {
					return
				}
			}
			return
		}
		for q, w := range p.parts() {
			if w != nil && q.Blamed == 0 {
				continue
			}
			roots := []Root{{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}}
			if view == RootView {
				roots = q.RootOwners()
			}
			for _, r := range roots {
				part := *q
				part.Contentions, part.Blamed, part.Roots = r.Contentions, r.Blamed, []Root{r}
				stack := calls(r.Owner.Stack)
				if view == JoinedView {
					slices.Reverse(stack)
					if w == nil {
						stack = slices.Insert(stack, 0, notCode(HeldByKey, "held by"))
					}
					stack = append(append(calls(q.Waiter.Stack), notCode("[lock] "+q.Lock.Title(), "lock")), stack...)
				}
				if !yield(stack, part) {
					return
				}
			}
		}
	}
}

func notCode(text, aspect string) Frame {
	return Frame{Func: text, Aspect: aspect}
}

// calls returns the calls of a stack, root first, with spare capacity.
func calls(s *Stack) []Frame {
	if s == nil || len(s.Frames) == 0 {
		return []Frame{notCode(UnknownKey, "unknown")}
	}
	out := make([]Frame, 0, 2*len(s.Frames)+3)
	if s.Truncated {
		out = append(out, notCode("[truncated]", "truncated"))
	}
	for _, f := range slices.Backward(s.Frames) {
		out = append(out, f)
	}
	return out
}
