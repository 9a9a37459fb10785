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
	// [Wait.RootOwners].
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

// heldByKey stands between the lock and the owner's calls in the joined view.
const heldByKey = "[held by]"

// Title returns the name of the lock, or its class. Locks of the same class without names have the
// same title.
func (l *Lock) Title() string {
	if l.Name != "" {
		return l.Name
	}
	return orUnknown(l.Class)
}

// Samples returns the stacks of a flame graph, root first, each with the part of a wait that it
// stands for, whose time is Blamed: the pairs of waiter and owner or, in RootView, a part of a pair
// for each of its roots, with that root alone. Parts without an owner are pairs with the owner's
// group [HandOffKey], [UnattributedKey] or [ReadyKey]. In WaiterView, there are only whole waits,
// without an owner, and those of [ReadyKey]. What is below [ReadyKey] is the time after the waits;
// the others sum to the time waited. Equal stacks are not combined.
func (p *Profile) Samples(view string) iter.Seq2[[]Frame, Wait] {
	return func(yield func([]Frame, Wait) bool) {
		if view == WaiterView {
			for _, w := range p.Waits {
				ready := w
				ready.Owner, ready.Contentions, ready.Blamed = readyOwner, 0, w.Ready
				w.Blamed = w.Waited
				if stack := w.Waiter.Stack; !yield(calls(stack), w) || ready.Blamed > 0 && !yield(calls(stack), ready) {
					return
				}
			}
			return
		}
		for w, owned := range p.parts() {
			parts := []Wait{*w}
			if parts[0].Blamed = w.partTime(); parts[0].Blamed == 0 && !owned {
				continue
			}
			if !owned {
				parts[0].Contentions = 0
			}
			if view == RootView {
				parts = parts[0].byRoot()
			}
			for _, part := range parts {
				stack := calls(part.Owner.Stack)
				switch view {
				case RootView:
					stack = calls(part.Roots[0].Owner.Stack)
				case JoinedView:
					slices.Reverse(stack)
					if owned {
						stack = slices.Insert(stack, 0, notCode(heldByKey, "held by"))
					}
					stack = append(append(calls(part.Waiter.Stack), notCode("[lock] "+part.Lock.Title(), "lock")), stack...)
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
