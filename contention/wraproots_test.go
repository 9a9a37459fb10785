package contention

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// The names of the owners in a chain of blame, from the waiter on.
//
//go:noinline
func chainFirst(a *Mutex, b *Mutex, d time.Duration, locked chan bool) {
	a.Lock()
	locked <- true
	chainSecond(b) // blocked here for most of the time
	time.Sleep(d)
	a.Unlock()
}

//go:noinline
func chainSecond(b *Mutex) {
	b.Lock()
	b.Unlock() //lint:ignore SA2001 the test is about the wait
}

//go:noinline
func chainRoot(b *Mutex, d time.Duration) { time.Sleep(d); b.Unlock() }

// chainOfBlame makes the victim wait for a, whose owner waits for b, whose owner sleeps.
func chainOfBlame(t *testing.T) {
	a, b := NewMutex("a"), NewMutex("b")
	b.Lock()
	locked, done := make(chan bool), make(chan bool)
	go func() { chainFirst(a, b, 20*time.Millisecond, locked); done <- true }()
	<-locked
	go func() { victim(a); done <- true }()
	waitFor(t, "two waiters", func() bool { return a.registered() == 1 && b.registered() == 1 })
	chainRoot(b, 40*time.Millisecond)
	<-done
	<-done
}

func TestWrapperRoots(t *testing.T) {
	collecting(t, Options{Exact: true, Goroutines: true})
	chainOfBlame(t)
	p := Snapshot()
	checkConservation(t, p)
	var waitB, pairA *Wait
	for i := range p.Pairs {
		switch p.Pairs[i].Lock.Name {
		case "a":
			pairA = &p.Pairs[i]
		case "b":
			waitB = &p.Pairs[i]
		}
	}
	if pairA == nil || waitB == nil || len(p.Pairs) != 2 {
		t.Fatalf("%d pairs", len(p.Pairs))
	}
	if pairA.Owner.Goroutine == 0 {
		t.Skip("no goroutine ids: no chains")
	}
	name := func(p Party) string { return p.Stack.Frames[0].Func }
	if len(pairA.Roots) != 2 || waitB.Roots != nil {
		t.Fatalf("roots %+v and %+v", pairA.Roots, waitB.Roots)
	}
	root, self := pairA.Roots[0], pairA.Roots[1]
	if root.Owner == pairA.Owner { // a sleep that took longer than asked for
		root, self = self, root
	}
	if !strings.HasSuffix(name(root.Owner), ".chainRoot") || root.Kind != MutexKind || root.Links != 1 || root.Contentions != 1 || root.Owner.Goroutine != waitB.Owner.Goroutine {
		t.Errorf("root %s %+v", name(root.Owner), root)
	}
	// The victim came while the owner waited for b: it lost the wait for b without its
	// beginning.
	if root.Blamed > waitB.Blamed || root.Blamed < 40*time.Millisecond || self.Blamed < 20*time.Millisecond || self.Owner != pairA.Owner {
		t.Errorf("root %v, of a wait of %v; itself %+v", root.Blamed, waitB.Blamed, self)
	}
	if a := pairA; a.Blocked[MutexKind] < root.Blamed || a.Running != 0 || a.Unknown() > self.Blamed {
		t.Errorf("%+v", a)
	}
	tree, err := p.Aggregate(ByRootFunc, ByLock)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(tree.Children, func(c *Tree) bool { return strings.HasSuffix(c.Key, ".chainRoot") })
	if at < 0 {
		t.Fatalf("chainRoot is not to blame: %+v", tree)
	}
	if c := tree.Children[at]; len(c.Children) != 2 || c.Blamed != root.Blamed+waitB.Blamed {
		t.Errorf("chainRoot is to blame for %v by %d locks", c.Blamed, len(c.Children))
	}
}

// Pieces of waits, by hand: goroutine 1 waits for 2 from 10 to 20, and for no goroutine until 25;
// 3 waits for 1, and 4 for 3.
func TestFollowWaitChains(t *testing.T) {
	s := newSession(Options{Goroutines: true}, now())
	var chains []*callstack.Chain
	for _, f := range []string{"f1", "f2", "f3", "f4"} {
		chains = append(chains, callstack.NewChain([]callstack.Frame{{Func: f}}, false))
	}
	settle := func(g uint64, start, end int64, holders ...holder) *account {
		a := s.open(newLockInfo(), false)
		a.begun.Add(1)
		a.bookBehind(&wait{account: a, chain: chains[g-1], g: g, start: start, end: end, weight: 1, count: 1}, holders...)
		return a
	}
	owner := func(g uint64, from, to int64) holder {
		return holder{acquired: from, released: to, chain: chains[g-1], g: g}
	}
	settle(1, 10, 25, owner(2, 0, 20))
	settle(3, 12, 30, owner(1, 5, 28))
	settle(4, 0, 40, owner(2, 0, 8), owner(3, 8, 40))
	p := s.snapshot()
	checkConservation(t, p)
	got := ""
	for _, q := range p.Pairs {
		got += q.Waiter.Stack.Frames[0].Func + " for " + q.Owner.Stack.Frames[0].Func + ": " + q.Blamed.String() + ", blocked " + q.BlockedTotal().String()
		for _, r := range q.Roots {
			got += "; " + r.Owner.Stack.Frames[0].Func + " " + r.Blamed.String() + " " + strings.Repeat(">", r.Links)
		}
		got += "\n"
	}
	// 3 was blocked from 12 to 30: from 12 to 20 by 2, from 20 to 28 by 1, then by no
	// goroutine.
	const want = `f4 for f3: 32ns, blocked 18ns; f3 16ns ; f1 8ns >; f2 8ns >>
f3 for f1: 16ns, blocked 13ns; f2 8ns >; f1 8ns 
f1 for f2: 10ns, blocked 0s
f4 for f2: 8ns, blocked 0s
`
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// TestManyOwnersAreKeptByRoot: if a wait has more owners than there is room for, a goroutine that
// waits for the waiter gets all roots and their times. This needs room for one piece per root.
func TestManyOwnersAreKeptByRoot(t *testing.T) {
	const n = 200 // alternating owners with holds of 10 and 20, each followed by 1 free
	s := newSession(Options{}, now())
	var chains []*callstack.Chain
	for _, f := range []string{"waiter", "ten", "twenty", "last"} {
		chains = append(chains, callstack.NewChain([]callstack.Frame{{Func: f}}, false))
	}
	a := s.open(newLockInfo(), false)
	at := int64(100)
	var owners []holder
	for i := range int64(n) {
		hold := 10 * (1 + i%2)
		owners = append(owners, holder{acquired: at, released: at + hold, chain: chains[1+i%2], g: uint64(10 + i)})
		at += hold + 1
	}
	a.begun.Add(1)
	a.bookBehind(&wait{account: a, chain: chains[0], g: 1, start: 100, end: at, weight: 1, count: 1}, owners...)
	if slot := s.waited.slots.Load()[1].Load(); slot.n != 3 {
		t.Errorf("%d pieces", slot.n)
	}
	b := s.open(newLockInfo(), false)
	b.begun.Add(1)
	b.bookBehind(&wait{account: b, chain: chains[3], g: 2, start: 60, end: at + 70, weight: 1, count: 1}, holder{acquired: 50, released: at + 50, chain: chains[0], g: 1})
	p := s.snapshot()
	checkConservation(t, p)
	roots, blocked := map[string]time.Duration{}, time.Duration(0)
	for _, q := range p.Pairs {
		if q.Waiter.Stack.Frames[0].Func == "last" {
			blocked = q.BlockedTotal()
			for _, r := range q.Roots {
				roots[r.Owner.Stack.Frames[0].Func] += r.Blamed
			}
		}
	}
	// The hand-offs, and the time before and after the wait, are the waiter's own.
	if roots["ten"] != n/2*10 || roots["twenty"] != n/2*20 || roots["waiter"] != n+40+50 || blocked != time.Duration(at-100) {
		t.Errorf("roots %v, blocked for %v of %d", roots, blocked, at-100)
	}
}

// bookBehind books a wait behind the given owners.
func (a *account) bookBehind(w *wait, owners ...holder) {
	a.sums.restart(w)
	for i := range owners {
		a.sums.add(a, &owners[i])
	}
	if w.kind == kindWriter {
		a.sums.share(w.start, w.end)
	}
	a.book(w)
}

// TestFollowOverlapping: the stored data of an owner contradicts itself. The sums stay right.
func TestFollowOverlapping(t *testing.T) {
	s := newSession(Options{}, now())
	c := callstack.NewChain([]callstack.Frame{{Func: "f"}}, false)
	other := callstack.NewChain([]callstack.Frame{{Func: "g"}}, false)
	s.waited.add(1, []waitedPiece{
		{from: 0, to: 50, ns: 50, links: 1, chain: c}, {from: 10, to: 60, ns: 50, kind: kindReader, links: 1, chain: other}, {from: 5, to: 20, ns: 15, kind: kindCond, links: 2},
	})
	a := s.open(newLockInfo(), false)
	a.begun.Add(1)
	a.bookBehind(&wait{account: a, chain: c, g: 2, start: 2, end: 62, weight: 3, count: 3}, holder{released: 60, chain: c, g: 1})
	p := s.snapshot()
	checkConservation(t, p)
	if q := p.Pairs[0]; q.Blamed != 3*58 || q.BlockedTotal() != 3*58 {
		t.Errorf("%v: %+v", q.Blamed, q)
	}
}
