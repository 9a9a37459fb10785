package contention

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// View selects whose call chains the stacks of a flame graph are.
type View string

// The views.
const (
	// OwnerView has the call chains of those who are to blame.
	OwnerView View = "owner"
	// WaiterView has the call chains of those who waited.
	WaiterView View = "waiter"
	// JoinedView has both in one stack: from the root the waiter's, then the lock, then the
	// owner's upside down, from the call that held the lock to where its goroutine began.
	// Read from the root, it shows who waits; from the leaf, who holds the lock.
	JoinedView View = "joined"
	// RootView has the call chains of those at the end of the chains of blame; see [Root].
	RootView View = "root"
)

// Views lists all views.
var Views = []View{OwnerView, WaiterView, JoinedView, RootView}

// ParseView returns the view of a name such as "joined".
func ParseView(name string) (View, error) {
	if v := View(name); slices.Contains(Views, v) {
		return v, nil
	}
	return "", fmt.Errorf("contention: unknown view %q: want owner, waiter, joined or root", name)
}

// Sample is a stack of a flame graph.
type Sample struct {
	// Stack begins with the root.
	Stack []SampleFrame
	Kind  Kind
	Lock  *Lock
	// WaiterGroup is empty in the owner's and the root's views, and OwnerGroup in the waiter's.
	// Where there is no owner, OwnerGroup is [HandOffKey], [UnattributedKey] or [ReadyKey].
	// RootGroup is there in the root's view only, and is the same where there is no owner.
	WaiterGroup, OwnerGroup, RootGroup string
	// Contentions is the number of waits; where there is an owner, of those that it
	// delayed, so that these do not sum to the number of waits.
	Contentions int64
	// Delay is the time. The delays of all samples sum to what was waited.
	Delay time.Duration
	// Ready is for how long the waiters were ready after that, until they had a processor:
	// below [ReadyKey], or with the waits in the waiter's view.
	Ready time.Duration
}

// SampleFrame is one line of a stack.
type SampleFrame struct {
	Frame
	// Aspect is empty for a call. Else the frame is not code, Func is a text in
	// brackets, such as "[lock] cache", and Aspect names what it stands for.
	Aspect string
}

// HeldByKey stands between the lock and the owner's calls in the joined view.
const HeldByKey = "[held by]"

// Title returns the name of the lock, or its class: locks of one sort that have no names have
// one title.
func (l *Lock) Title() string {
	if l.Name != "" {
		return l.Name
	}
	return orUnknown(l.Class)
}

// Samples gives the stacks of a flame graph: one for each pair of waiter and owner, or for each
// root of it in the root's view, and, but for the waiters' view, one each for what is hand-off,
// unattributed and ready in a row of Waits. Equal stacks are not put together.
func (p *Profile) Samples(v View) iter.Seq[Sample] {
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

// sampleOf returns a sample with the stack up to where the owner's part begins.
func sampleOf(v View, k Kind, l *Lock, waiter Party) Sample {
	s := Sample{Kind: k, Lock: l}
	if v == JoinedView {
		s.WaiterGroup = orUnknown(waiter.Group)
		s.Stack = append(calls(waiter.Stack), notCode("[lock] "+l.Title(), "lock"))
	}
	return s
}

// withoutOwner yields the part of a row that no goroutine is blamed for, if there is one.
func (w *Wait) withoutOwner(v View, key string, d time.Duration, yield func(Sample) bool) bool {
	if d == 0 {
		return true
	}
	s := w.notOwned(v, key)
	s.Delay = d
	return yield(s)
}

// notOwned returns the sample for a part of a row that belongs to no owner.
func (w *Wait) notOwned(v View, key string) Sample {
	s := sampleOf(v, w.Kind, w.Lock, w.Waiter)
	s.Stack = append(s.Stack, notCode(key, key[1:len(key)-1]))
	s.OwnerGroup = key
	if v == RootView {
		s.RootGroup = key
	}
	return s
}

func notCode(text, aspect string) SampleFrame {
	return SampleFrame{Frame: Frame{Func: text}, Aspect: aspect}
}

// calls returns the calls of a stack, root first, with room for more.
func calls(s *Stack) []SampleFrame {
	if s == nil || len(s.Frames) == 0 {
		return []SampleFrame{notCode(UnknownKey, "unknown")}
	}
	out := make([]SampleFrame, 0, 2*len(s.Frames)+3)
	if s.Truncated {
		out = append(out, notCode("[truncated]", "truncated"))
	}
	for _, f := range slices.Backward(s.Frames) {
		out = append(out, SampleFrame{Frame: f})
	}
	return out
}
