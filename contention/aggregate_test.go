package contention

import (
	"math/rand/v2"
	"testing"
	"time"
)

// In every tree, for all aspects, the children sum to their parent, and the root equals the
// profile.
func TestAggregateSums(t *testing.T) {
	collecting(t, Options{Exact: true, Goroutines: true})
	everything()
	p := Snapshot()
	waited, blamed, handOff, unattributed := totals(p)
	var contentions int64
	for _, w := range p.Waits {
		contentions += w.Contentions
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		aspects := append([]string(nil), Aspects...)
		rng.Shuffle(len(aspects), func(i, j int) { aspects[i], aspects[j] = aspects[j], aspects[i] })
		aspects = aspects[:rng.IntN(5)]
		tree, err := p.Aggregate(aspects...)
		if err != nil {
			t.Fatal(err)
		}
		if tree.Waited != waited || tree.Blamed != blamed || tree.HandOff != handOff || tree.Unattributed != unattributed || tree.Contentions != contentions {
			t.Fatalf("%v: root %+v", aspects, tree)
		}
		checkTree(t, tree, aspects)
	}
}

func checkTree(t *testing.T, tree *Tree, aspects []string) {
	t.Helper()
	if len(aspects) == 0 {
		if len(tree.Children) != 0 {
			t.Errorf("leaf %s has children", tree.Key)
		}
		return
	}
	var sum Tree
	last := time.Duration(1 << 62)
	for _, c := range tree.Children {
		if c.Aspect != aspects[0] || c.Waited > last || c.Key == "" && c.Aspect != ByFlags {
			t.Errorf("child %q of %q: aspect %s, waited %v after %v", c.Key, tree.Key, c.Aspect, c.Waited, last)
		}
		last = c.Waited
		sum.Contentions += c.Contentions
		sum.Waited += c.Waited
		sum.Blamed += c.Blamed
		sum.HandOff += c.HandOff
		sum.Unattributed += c.Unattributed
		checkTree(t, c, aspects[1:])
	}
	if sum.Waited != tree.Waited || sum.Blamed != tree.Blamed || sum.HandOff != tree.HandOff || sum.Unattributed != tree.Unattributed {
		t.Errorf("children of %s %q sum to %v, not %v", tree.Aspect, tree.Key, sum.Waited, tree.Waited)
	}
	if !ofOwner(aspects[0]) && sum.Contentions != tree.Contentions {
		t.Errorf("children of %s %q have %d contentions, not %d", tree.Aspect, tree.Key, sum.Contentions, tree.Contentions)
	}
}

// A profile small enough to compute by hand.
func handMade() *Profile {
	cacheLock := &Lock{ID: 1, Name: "cache", Class: "app.Cache", Contended: 30 * time.Second}
	logLock := &Lock{ID: 2, Class: "app.Log"}
	get := Party{Group: "app.serve", Stack: &Stack{Frames: []Frame{{Func: "app.Get", File: "app.go", Line: 10}}}}
	fill := Party{Group: "app.fill", Stack: &Stack{Frames: []Frame{{Func: "app.Fill", File: "app.go", Line: 20}}}}
	return &Profile{
		Duration: time.Minute,
		Locks:    []*Lock{cacheLock, logLock},
		Waits: []Wait{
			{Kind: MutexKind, Lock: cacheLock, Waiter: get, Contentions: 5, Waited: 50, Blamed: 40, HandOff: 7, Unattributed: 3},
			{Kind: MutexKind, Lock: logLock, Waiter: get, Contentions: 1, Waited: 60, Blamed: 60},
		},
		Pairs: []Wait{
			{Kind: MutexKind, Lock: cacheLock, Waiter: get, Owner: fill, Contentions: 4, Blamed: 30},
			{Kind: MutexKind, Lock: cacheLock, Waiter: get, Owner: get, Contentions: 2, Blamed: 10},
			{Kind: MutexKind, Lock: logLock, Waiter: get, Owner: fill, Contentions: 1, Blamed: 60},
		},
	}
}

func TestAggregateByHand(t *testing.T) {
	tree, err := handMade().Aggregate(ByOwnerFunc, ByLock)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(indent string, n *Tree)
	walk = func(indent string, n *Tree) {
		got = append(got, indent+n.Key+" "+n.Waited.String())
		for _, c := range n.Children {
			walk(indent+" ", c)
		}
	}
	walk("", tree)
	want := []string{
		" 110ns",
		" app.Fill 90ns", "  app.Log#2 60ns", "  cache 30ns",
		" app.Get 10ns", "  cache 10ns",
		" [hand-off] 7ns", "  cache 7ns",
		" [unattributed] 3ns", "  cache 3ns",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if n := tree.Children[0].Contentions; n != 5 {
		t.Errorf("app.Fill in %d contentions, want 5", n)
	}
	for _, bad := range [][]string{{"nonsense"}, {ByLock, ByLock}} {
		if _, err := handMade().Aggregate(bad...); err == nil {
			t.Errorf("Aggregate(%v) gave no error", bad)
		}
	}
}

func TestLockTable(t *testing.T) {
	rows := handMade().LockTable()
	if len(rows) != 2 || rows[0].Lock.ID != 2 || rows[1].Contentions != 5 || rows[1].Waited != 50 ||
		rows[1].HandOff != 7 || rows[1].Unattributed != 3 || rows[1].Lock.Contended != 30*time.Second {
		t.Errorf("%+v", rows)
	}
}

// The table counts a wait where its owner is, and not once more in the row of the time after it.
func TestTableCountsWaitsOnce(t *testing.T) {
	l := &Lock{ID: 1, Name: "cache"}
	w := Wait{Kind: MutexKind, Lock: l, Waiter: Party{Group: "main.a"}, Waited: 8, Blamed: 5, Unattributed: 3, Contentions: 7, Ready: 2, Parks: 9}
	pair := Wait{Kind: MutexKind, Lock: l, Waiter: w.Waiter, Owner: Party{Group: "main.b"}, Blamed: 5, Contentions: 4}
	table := (&Profile{Locks: []*Lock{l}, Waits: []Wait{w}, Pairs: []Wait{pair}}).Table()
	totals := map[string]int64{}
	for k, v := range table.Total() {
		totals[table.Columns[k].Name] = v.Int
	}
	rows := 0
	for _, row := range table.Rows {
		for k, v := range row {
			if table.Columns[k].Name == "waits" && v.Known {
				rows += int(v.Int)
			}
		}
	}
	if totals["contentions"] != 4 || totals["wait_ns"] != 8 || rows != 7 {
		t.Errorf("%v, %d waits", totals, rows)
	}
}
