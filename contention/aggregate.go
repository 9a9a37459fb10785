package contention

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// The aspects are properties by which waits are grouped. The owner aspects group the time by the
// owner to blame. Time without a known owner is under [UnattributedKey], time in which the owner
// did not run yet under [HandOffKey], and time in which waiters were ready after their waits under
// [ReadyKey]. The root aspects group it by the goroutine at the end of the chain of blame; see
// [Wait.RootOwners].
const (
	ByKind            = "kind"
	ByClass           = "class"
	ByLock            = "lock"
	ByWaiterGoroutine = "waiter-goroutine"
	ByWaiterGroup     = "waiter-group"
	ByWaiterFunc      = "waiter-func"
	ByWaiterStack     = "waiter-stack"
	ByOwnerGoroutine  = "owner-goroutine"
	ByOwnerGroup      = "owner-group"
	ByOwnerFunc       = "owner-func"
	ByOwnerStack      = "owner-stack"
	ByRootGoroutine   = "root-goroutine"
	ByRootGroup       = "root-group"
	ByRootFunc        = "root-func"
	ByRootStack       = "root-stack"
	ByFlags           = "flags"
)

// Aspects lists all aspects.
var Aspects = []string{
	ByKind, ByClass, ByLock, ByFlags,
	ByWaiterFunc, ByWaiterStack, ByWaiterGroup, ByWaiterGoroutine,
	ByOwnerFunc, ByOwnerStack, ByOwnerGroup, ByOwnerGoroutine,
	ByRootFunc, ByRootStack, ByRootGroup, ByRootGoroutine,
}

// Keys in place of the owner for time without an owner.
const (
	HandOffKey      = "[hand-off]"
	UnattributedKey = "[unattributed]"
	ReadyKey        = "[ready]" // for a processor, after the wait
	UnknownKey      = "[unknown]"
)

// The parties in place of the owner.
var (
	handOffOwner      = Party{Group: HandOffKey, Stack: &Stack{Frames: []Frame{{Func: HandOffKey, Aspect: "hand-off"}}}}
	unattributedOwner = Party{Group: UnattributedKey, Stack: &Stack{Frames: []Frame{{Func: UnattributedKey, Aspect: "unattributed"}}}}
	readyOwner        = Party{Group: ReadyKey, Stack: &Stack{Frames: []Frame{{Func: ReadyKey, Aspect: "ready"}}}}
)

// parts iterates over the parts of all waits: the pairs, which have an owner, and the parts without
// one, whose owner is one of the parties above. Those of readyOwner, whose time is not in the time
// waited, also have the numbers of contentions and parks.
func (p *Profile) parts() iter.Seq2[*Wait, bool] {
	return func(yield func(w *Wait, owned bool) bool) {
		for i := range p.Pairs {
			if !yield(&p.Pairs[i], true) {
				return
			}
		}
		for i := range p.Waits {
			w := &p.Waits[i]
			row := Wait{Kind: w.Kind, Lock: w.Lock, Waiter: w.Waiter, Flags: w.Flags}
			handOff, unattributed, ready := row, row, row
			handOff.Owner, handOff.HandOff = handOffOwner, w.HandOff
			unattributed.Owner, unattributed.Unattributed = unattributedOwner, w.Unattributed
			ready.Owner, ready.Ready, ready.ReadyIdle, ready.Contentions, ready.Parks = readyOwner, w.Ready, w.ReadyIdle, w.Contentions, w.Parks
			if w.HandOff > 0 && !yield(&handOff, false) || w.Unattributed > 0 && !yield(&unattributed, false) || !yield(&ready, false) {
				return
			}
		}
	}
}

func (w *Wait) partTime() time.Duration { return w.Blamed + w.HandOff + w.Unattributed + w.Ready }

// Tree is the total of the waits that agree in the aspects on the path from the root, or of those
// for one lock. The children of a node sum to it, exactly.
type Tree struct {
	Aspect string // the property that the waits of the node have in common; empty for the root
	Key    string // the value of the aspect, such as the name of a function
	// Wait has the sums. Below an owner aspect, its Contentions are the number of pairs of a wait
	// and an owner; below a root aspect, the number of triples of a wait, an owner and a root.
	// Ready is under [ReadyKey] there. Lock and Parks are set in a LockTable only.
	Wait
	// ForWork, in a LockTable only, is the part of Waited in waits that need not cost anything; see
	// [Wait.ForWork].
	ForWork  time.Duration
	Children []*Tree // sorted, longest Waited first, then longest Ready

	index map[string]*Tree
}

// Add adds the numbers of o to t, without the children.
func (t *Tree) Add(o *Tree) {
	t.ForWork += o.ForWork
	t.Wait.Add(&o.Wait)
}

// Aggregate sums the waits of a profile by the given aspects: the children of the root differ in
// the first one, their children in the second, and so on. It returns an error if an aspect is
// unknown or duplicate. It takes about 1 µs for each row and aspect.
func (p *Profile) Aggregate(aspects ...string) (*Tree, error) {
	// Indexes of the first owner aspect and the first root aspect.
	owners, roots := len(aspects), len(aspects)
	for i, a := range aspects {
		switch {
		case !slices.Contains(Aspects, a):
			return nil, fmt.Errorf("contention: unknown aspect %q", a)
		case slices.Contains(aspects[:i], a):
			return nil, fmt.Errorf("contention: duplicate aspect %q", a)
		case ofOwner(a):
			owners = min(owners, i)
			if ofRoot(a) {
				roots = min(roots, i)
			}
		}
	}
	root := new(Tree)
	for w, owned := range p.parts() {
		if !owned {
			if w.partTime() > 0 {
				root.add(aspects, w, &Wait{HandOff: w.HandOff, Unattributed: w.Unattributed, Ready: w.Ready, ReadyIdle: w.ReadyIdle}, 0)
			}
			continue
		}
		parts, above := []Wait{*w}, owners
		if roots < len(aspects) {
			root.add(aspects[:roots], w, &Wait{Contentions: w.Contentions}, owners+1)
			parts, above = w.byRoot(), roots
		}
		for i := range parts {
			part := &parts[i]
			root.add(aspects, part, &Wait{Blamed: part.Blamed, Running: part.Running, Runnable: part.Runnable, Blocked: part.Blocked}, 0)
			root.add(aspects, part, &Wait{Contentions: part.Contentions}, above+1)
		}
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		root.add(aspects[:owners], w, &Wait{Contentions: w.Contentions}, 0)
	}
	root.finish()
	return root, nil
}

// add adds numbers to the nodes on the path of a row, from the given level on.
func (t *Tree) add(aspects []string, w, numbers *Wait, from int) {
	for level := 0; ; level++ {
		if level >= from {
			t.Wait.Add(numbers)
		}
		if level == len(aspects) {
			return
		}
		key := keyOf(aspects[level], w)
		c := t.index[key]
		if c == nil {
			if t.index == nil {
				t.index = make(map[string]*Tree)
			}
			c = &Tree{Aspect: aspects[level], Key: key}
			t.index[key] = c
			t.Children = append(t.Children, c)
		}
		t = c
	}
}

// finish computes Waited and sorts the children.
func (t *Tree) finish() {
	t.Waited = t.Blamed + t.HandOff + t.Unattributed
	t.index = nil
	for _, c := range t.Children {
		c.finish()
	}
	slices.SortFunc(t.Children, func(a, b *Tree) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(b.Ready, a.Ready), cmp.Compare(a.Key, b.Key))
	})
}

// ofOwner reports whether pairs of one wait can differ in the aspect.
func ofOwner(aspect string) bool {
	return strings.HasPrefix(aspect, "owner-") || ofRoot(aspect) || aspect == ByFlags
}

// ofRoot reports whether the roots of one pair can differ in the aspect.
func ofRoot(aspect string) bool { return strings.HasPrefix(aspect, "root-") }

// keyOf returns the value of an aspect for a part of a wait.
func keyOf(aspect string, q *Wait) string {
	switch aspect {
	case ByKind:
		return q.Kind
	case ByClass:
		return orUnknown(q.Lock.Class)
	case ByLock:
		return q.Lock.String()
	case ByFlags:
		return FlagNames(q.Flags)
	}
	who := &q.Waiter
	switch {
	case ofRoot(aspect) && len(q.Roots) > 0:
		who = &q.Roots[0].Owner
	case ofOwner(aspect):
		who = &q.Owner
	}
	switch _, what, _ := strings.Cut(aspect, "-"); {
	case what == "func" || who.isNone():
		return orUnknown(leafFunc(who))
	case what == "group":
		return orUnknown(who.Group)
	case what == "stack":
		return who.Stack.String()
	case who.Goroutine == 0:
		return UnknownKey
	}
	return strconv.FormatUint(who.Goroutine, 10)
}

// isNone reports whether the party stands for a part of a wait without an owner.
func (p *Party) isNone() bool {
	return p.Stack == handOffOwner.Stack || p.Stack == unattributedOwner.Stack || p.Stack == readyOwner.Stack
}

func orUnknown(s string) string { return cmp.Or(s, UnknownKey) }

func leafFunc(p *Party) string {
	if p.Stack == nil || len(p.Stack.Frames) == 0 {
		return UnknownKey
	}
	return p.Stack.Frames[0].Func
}

// String returns the name of the lock, or its class and number; "" for nil.
func (l *Lock) String() string {
	switch {
	case l == nil:
		return ""
	case l.Name != "":
		return l.Name
	}
	return fmt.Sprintf("%s#%d", orUnknown(l.Class), l.ID)
}

// String returns the calls, leaf first: "f file:line < g file:line".
func (s *Stack) String() string {
	if s == nil || len(s.Frames) == 0 {
		return UnknownKey
	}
	text := strings.Join(s.texts(), " < ")
	if s.Truncated {
		text += " < …"
	}
	return text
}

// LockTable returns the total of each lock, most expensive first: the cost is Waited without
// ForWork. If the Contended time of a lock is near the Duration, it limits the whole program.
func (p *Profile) LockTable() []*Tree {
	rows, byLock := make([]*Tree, len(p.Locks)), make(map[*Lock]*Tree, len(p.Locks))
	for i, l := range p.Locks {
		rows[i] = &Tree{Aspect: ByLock, Key: l.String(), Wait: Wait{Lock: l}}
		byLock[l] = rows[i]
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		if r := byLock[w.Lock]; r != nil {
			r.Wait.Add(w)
			if w.ForWork() {
				r.ForWork += w.Waited
			}
		}
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		if r := byLock[q.Lock]; r != nil {
			r.Wait.Add(&Wait{Running: q.Running, Runnable: q.Runnable, Blocked: q.Blocked})
		}
	}
	order.Stable(rows, func(a, b *Tree) int {
		return cmp.Or(cmp.Compare(b.Waited-b.ForWork, a.Waited-a.ForWork), cmp.Compare(b.Waited, a.Waited))
	})
	return rows
}
