package contention

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Aspect is a property by which waits are grouped.
type Aspect string

// The aspects. The owner aspects group the time by the owner to blame. Time without a known owner
// is under [UnattributedKey], time in which the owner did not run yet under [HandOffKey], and time
// in which waiters were ready after their waits under [ReadyKey]. The root aspects group it by the
// goroutine at the end of the chain of blame; see [Root].
const (
	ByKind            Aspect = "kind"
	ByClass           Aspect = "class"
	ByLock            Aspect = "lock"
	ByWaiterGoroutine Aspect = "waiter-goroutine"
	ByWaiterGroup     Aspect = "waiter-group"
	ByWaiterFunc      Aspect = "waiter-func"
	ByWaiterStack     Aspect = "waiter-stack"
	ByOwnerGoroutine  Aspect = "owner-goroutine"
	ByOwnerGroup      Aspect = "owner-group"
	ByOwnerFunc       Aspect = "owner-func"
	ByOwnerStack      Aspect = "owner-stack"
	ByRootGoroutine   Aspect = "root-goroutine"
	ByRootGroup       Aspect = "root-group"
	ByRootFunc        Aspect = "root-func"
	ByRootStack       Aspect = "root-stack"
	ByFlags           Aspect = "flags"
)

// Aspects lists all aspects.
var Aspects = []Aspect{
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

// Tree is the total of the waits that agree in the aspects on the path from the root. The children
// of a node sum to it, exactly.
type Tree struct {
	// Aspect is the property that the waits of the node have in common; empty for the root.
	Aspect Aspect
	// Key is the value of the aspect, such as the name of a function.
	Key string
	// Contentions is the number of waits. Below an owner aspect, it is the number of pairs of a
	// wait and an owner; below a root aspect, the number of triples of a wait, an owner and a
	// root.
	Contentions int64
	// Waited == Blamed + HandOff + Unattributed.
	Waited, Blamed, HandOff, Unattributed time.Duration
	// Ready is the time for which the waiters were ready after that, and ReadyIdle the part of it
	// in which a processor (P) was idle; see Wait. Below an owner aspect, it is under [ReadyKey].
	Ready, ReadyIdle time.Duration
	// Activity is what the owners did while they were blamed. Its parts sum to Blamed.
	Activity Activity
	// Children is sorted, longest Waited first, then longest Ready.
	Children []*Tree

	index map[string]*Tree
}

// Aggregate sums the waits of a profile by the given aspects: the children of the root differ in
// the first one, their children in the second, and so on. It returns an error if an aspect is
// unknown or duplicate. It takes about 1 µs for each row and aspect.
func (p *Profile) Aggregate(aspects ...Aspect) (*Tree, error) {
	// Indexes of the first owner aspect and the first root aspect.
	owners, roots := len(aspects), len(aspects)
	for i, a := range aspects {
		switch {
		case !slices.Contains(Aspects, a):
			return nil, fmt.Errorf("contention: unknown aspect %q", a)
		case slices.Contains(aspects[:i], a):
			return nil, fmt.Errorf("contention: aspect %q comes twice", a)
		case a.ofOwner():
			owners = min(owners, i)
			if a.ofRoot() {
				roots = min(roots, i)
			}
		}
	}
	root := new(Tree)
	for i := range p.Waits {
		w := &p.Waits[i]
		q := &Pair{Kind: w.Kind, Lock: w.Lock, Waiter: w.Waiter, Flags: w.Flags}
		root.add(aspects[:owners], q, "", 0).each(func(t *Tree) { t.Contentions += w.Contentions })
		if w.HandOff > 0 {
			root.add(aspects, q, HandOffKey, 0).each(func(t *Tree) { t.HandOff += w.HandOff })
		}
		if w.Unattributed > 0 {
			root.add(aspects, q, UnattributedKey, 0).each(func(t *Tree) { t.Unattributed += w.Unattributed })
		}
		if w.Ready > 0 {
			root.add(aspects, q, ReadyKey, 0).each(func(t *Tree) {
				t.Ready += w.Ready
				t.ReadyIdle += w.ReadyIdle
			})
		}
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		if roots == len(aspects) {
			root.addPair(aspects, q, q.Blamed, q.OwnerActivity())
			root.add(aspects, q, "", owners+1).each(func(t *Tree) { t.Contentions += q.Contentions })
			continue
		}
		root.add(aspects[:roots], q, "", owners+1).each(func(t *Tree) { t.Contentions += q.Contentions })
		of := *q
		for _, r := range q.RootOwners() {
			of.Roots = []Root{r} // the field that key uses
			root.addPair(aspects, &of, r.Blamed, q.activityUnder(&r))
			root.add(aspects, &of, "", roots+1).each(func(t *Tree) { t.Contentions += r.Contentions })
		}
	}
	root.finish()
	return root, nil
}

// addPair adds the blame of a pair, or of one of its roots.
func (t *Tree) addPair(aspects []Aspect, q *Pair, blamed time.Duration, did Activity) {
	t.add(aspects, q, "", 0).each(func(t *Tree) {
		t.Blamed += blamed
		t.Activity.add(did, 1)
	})
}

// path has the nodes from the root to a leaf.
type path []*Tree

func (p path) each(f func(*Tree)) {
	for _, t := range p {
		f(t)
	}
}

// add returns the nodes on the path of a row from the given level on, creating missing ones.
// noOwner, if not empty, is the key for all owner aspects.
func (t *Tree) add(aspects []Aspect, q *Pair, noOwner string, from int) path {
	p := path{t}
	for _, a := range aspects {
		key := a.key(q)
		if noOwner != "" && a.ofOwner() && a != ByFlags {
			key = noOwner
		}
		c := t.index[key]
		if c == nil {
			if t.index == nil {
				t.index = make(map[string]*Tree)
			}
			c = &Tree{Aspect: a, Key: key}
			t.index[key] = c
			t.Children = append(t.Children, c)
		}
		t = c
		p = append(p, t)
	}
	return p[min(from, len(p)):]
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
func (a Aspect) ofOwner() bool {
	return strings.HasPrefix(string(a), "owner-") || a.ofRoot() || a == ByFlags
}

// ofRoot reports whether the roots of one pair can differ in the aspect.
func (a Aspect) ofRoot() bool { return strings.HasPrefix(string(a), "root-") }

func (a Aspect) key(q *Pair) string {
	switch a {
	case ByKind:
		return string(q.Kind)
	case ByClass:
		return orUnknown(q.Lock.Class)
	case ByLock:
		return q.Lock.String()
	case ByFlags:
		return q.Flags.String()
	}
	who := q.Waiter
	switch {
	case a.ofRoot() && len(q.Roots) > 0:
		who = q.Roots[0].Owner
	case a.ofOwner():
		who = q.Owner
	}
	_, what, _ := strings.Cut(string(a), "-")
	switch what {
	case "goroutine":
		if who.Goroutine == 0 {
			return UnknownKey
		}
		return strconv.FormatUint(who.Goroutine, 10)
	case "group":
		return orUnknown(who.Group)
	case "func":
		return orUnknown(leafFunc(&who))
	}
	return who.Stack.String()
}

func orUnknown(s string) string { return cmp.Or(s, UnknownKey) }

// String returns the name of the lock, or its class and number.
func (l *Lock) String() string {
	if l.Name != "" {
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

// LockRow is the row of a lock in the table of locks.
type LockRow struct {
	*Lock
	// Wait is the sum of all waits for the lock, without their kind, waiter and flags.
	Wait
	// ForWork is the part of Waited in waits that need not cost anything; see [Wait.ForWork].
	ForWork time.Duration
	// Activity is what the owners did while they were waited for. Its parts sum to Blamed.
	Activity Activity
	// ContendedShare is the part of the profile's duration in which the lock was held while a
	// goroutine waited for it. If it is near 1, the lock limits the whole program.
	ContendedShare float64
}

// LockTable returns a row for each lock, most expensive first: the cost is Waited without ForWork.
func (p *Profile) LockTable() []LockRow {
	byLock := make(map[*Lock]*LockRow, len(p.Locks))
	for _, l := range p.Locks {
		byLock[l] = &LockRow{Lock: l}
		if p.Duration > 0 {
			byLock[l].ContendedShare = float64(l.Contended) / float64(p.Duration)
		}
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
		if r := byLock[p.Pairs[i].Lock]; r != nil {
			r.Activity.add(p.Pairs[i].OwnerActivity(), 1)
		}
	}
	rows := make([]LockRow, 0, len(byLock))
	for _, l := range p.Locks {
		rows = append(rows, *byLock[l])
	}
	order.Stable(rows, func(a, b LockRow) int {
		return cmp.Or(cmp.Compare(b.Waited-b.ForWork, a.Waited-a.ForWork), cmp.Compare(b.Waited, a.Waited))
	})
	return rows
}
