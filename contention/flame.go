package contention

import (
	"fmt"
	"iter"
	"slices"
	"time"
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

// Sample is a stack of a flame graph.
type Sample struct {
	// Stack begins with the root.
	Stack []Frame
	Kind  Kind
	Lock  *Lock
	// WaiterGroup is empty in OwnerView and RootView, and OwnerGroup in WaiterView. Without an
	// owner, OwnerGroup is [HandOffKey], [UnattributedKey] or [ReadyKey]. RootGroup is set only
	// in RootView; without an owner, it equals OwnerGroup.
	WaiterGroup, OwnerGroup, RootGroup string
	// Contentions is the number of waits. For an owner, it is the number of waits that it
	// delayed; these do not sum to the number of waits.
	Contentions int64
	// Delay is the time. The delays of all samples sum to the time waited.
	Delay time.Duration
	// Ready is the time for which the waiters were ready after that, until they had a processor
	// (P). It is below [ReadyKey], or in WaiterView with the waits.
	Ready time.Duration
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

// Samples returns the stacks of a flame graph: one for each pair of waiter and owner, or in
// RootView for each root of a pair. Except in WaiterView, it also returns one each for the
// hand-off, unattributed and ready time of each row of Waits. Equal stacks are not combined.
func (p *Profile) Samples(v string) iter.Seq[Sample] {
	if v == WaiterView {
		return p.waiterSamples
	}
	return func(yield func(Sample) bool) {
		for i := range p.Pairs {
			q := &p.Pairs[i]
			if v == RootView {
				if !q.rootSamples(yield) {
					return
				}
				continue
			}
			s := sampleOf(v, q.Kind, q.Lock, q.Waiter)
			if v == JoinedView {
				s.Stack = append(s.Stack, notCode(HeldByKey, "held by"))
			}
			from := len(s.Stack)
			s.Stack = append(s.Stack, calls(q.Owner.Stack)...)
			if v == JoinedView {
				slices.Reverse(s.Stack[from:])
			}
			s.OwnerGroup = orUnknown(q.Owner.Group)
			s.Contentions, s.Delay = q.Contentions, q.Blamed
			if !yield(s) {
				return
			}
		}
		for i := range p.Waits {
			w := &p.Waits[i]
			if !w.withoutOwner(v, HandOffKey, w.HandOff, yield) || !w.withoutOwner(v, UnattributedKey, w.Unattributed, yield) {
				return
			}
			if w.Ready > 0 {
				s := w.notOwned(v, ReadyKey)
				if s.Ready = w.Ready; !yield(s) {
					return
				}
			}
		}
	}
}

// rootSamples yields a sample for each root of a pair.
func (q *Pair) rootSamples(yield func(Sample) bool) bool {
	for _, r := range q.RootOwners() {
		s := Sample{
			Stack: calls(r.Owner.Stack), Kind: q.Kind, Lock: q.Lock, OwnerGroup: orUnknown(q.Owner.Group), RootGroup: orUnknown(r.Owner.Group),
			Contentions: r.Contentions, Delay: r.Blamed,
		}
		if !yield(s) {
			return false
		}
	}
	return true
}

func (p *Profile) waiterSamples(yield func(Sample) bool) {
	for i := range p.Waits {
		w := &p.Waits[i]
		s := Sample{
			Stack: calls(w.Waiter.Stack), Kind: w.Kind, Lock: w.Lock, WaiterGroup: orUnknown(w.Waiter.Group),
			Contentions: w.Contentions, Delay: w.Waited, Ready: w.Ready,
		}
		if !yield(s) {
			return
		}
	}
}

// sampleOf returns a sample with the stack up to the owner's part.
func sampleOf(v string, k Kind, l *Lock, waiter Party) Sample {
	s := Sample{Kind: k, Lock: l}
	if v == JoinedView {
		s.WaiterGroup = orUnknown(waiter.Group)
		s.Stack = append(calls(waiter.Stack), notCode("[lock] "+l.Title(), "lock"))
	}
	return s
}

// withoutOwner yields the part of a row that is blamed on no goroutine, if there is one.
func (w *Wait) withoutOwner(v string, key string, d time.Duration, yield func(Sample) bool) bool {
	if d == 0 {
		return true
	}
	s := w.notOwned(v, key)
	s.Delay = d
	return yield(s)
}

// notOwned returns the sample for a part of a row that belongs to no owner.
func (w *Wait) notOwned(v string, key string) Sample {
	s := sampleOf(v, w.Kind, w.Lock, w.Waiter)
	s.Stack = append(s.Stack, notCode(key, key[1:len(key)-1]))
	s.OwnerGroup = key
	if v == RootView {
		s.RootGroup = key
	}
	return s
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
