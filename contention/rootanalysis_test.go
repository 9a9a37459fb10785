package contention

import (
	"regexp"
	"strconv"
	"testing"
	"time"
)

// rooted has a wait of 100 behind fill: 60 due to disk, and 15 due to an unknown root.
func rooted() *Profile {
	stack := func(f string) *Stack { return &Stack{Frames: []Frame{{Func: f, File: "app.go", Line: 1}}} }
	lock := &Lock{ID: 1, Name: "cache", Class: "app.Cache"}
	get := Party{Group: "app.serve", Stack: stack("app.Get")}
	fill := Party{Group: "app.fill", Stack: stack("app.Fill")}
	disk := Party{Group: "app.disk", Stack: stack("app.Read")}
	return &Profile{
		Source: FromTrace, Duration: 1000, Locks: []*Lock{lock},
		Waits: []Wait{{Kind: MutexKind, Lock: lock, Waiter: get, Contentions: 5, Observed: 5, Waited: 160, Blamed: 150, HandOff: 10}},
		Pairs: []Wait{
			{
				Kind: MutexKind, Lock: lock, Waiter: get, Owner: fill, Contentions: 4, Blamed: 100, Longest: 90,
				Running: 20, Blocked: map[string]time.Duration{ChanReceiveKind: 62, MutexKind: 15},
				Roots: []Wait{
					{Owner: disk, Kind: ChanReceiveKind, Links: 2, Contentions: 3, Blamed: 60},
					{Owner: fill, Contentions: 4, Blamed: 25},
					{Kind: MutexKind, Links: 1, Contentions: 1, Blamed: 15},
				},
			},
			{Kind: MutexKind, Lock: lock, Waiter: get, Owner: disk, Contentions: 2, Blamed: 50, Longest: 50, Running: 50},
		},
	}
}

func TestAggregateRoots(t *testing.T) {
	p := rooted()
	checkConservation(t, p)
	tree, err := p.Aggregate(ByWaiterFunc, ByRootFunc, ByOwnerFunc)
	if err != nil {
		t.Fatal(err)
	}
	checkTree(t, tree, []string{ByWaiterFunc, ByRootFunc, ByOwnerFunc})
	get := tree.Children[0]
	got := toldTree(get, "")
	const want = `
		|app.Get 160 in 5: running 70 chan-receive 62 mutex 15 unknown 3
		|  app.Read 110 in 5: running 50 chan-receive 60
		|    app.Fill 60 in 3: chan-receive 60
		|    app.Read 50 in 2: running 50
		|  app.Fill 25 in 4: running 20 chan-receive 2 unknown 3
		|    app.Fill 25 in 4: running 20 chan-receive 2 unknown 3
		|  [unknown] 15 in 1: mutex 15
		|    app.Fill 15 in 1: mutex 15
		|  [hand-off] 10 in 0:
		|    [hand-off] 10 in 0:`
	if got != lines(want) {
		t.Errorf("\n%s", got)
	}
	// Without the root, contentions are those of the pairs.
	tree, err = p.Aggregate(ByOwnerFunc, ByRootGroup)
	if err != nil {
		t.Fatal(err)
	}
	if c := tree.Children[0]; c.Key != "app.Fill" || c.Contentions != 4 || len(c.Children) != 3 || c.Children[0].Key != "app.disk" || c.Running != 20 {
		t.Errorf("%+v", c)
	}
	rows := p.LockTable()
	if a := rows[0]; a.Running != 70 || a.Blamed != 150 || a.Unknown() != 3 {
		t.Errorf("%+v", a)
	}
}

func toldTree(t *Tree, indent string) string {
	var scaled Wait // toldActivity has microseconds
	scaled.add(&t.Wait, 1000)
	s := indent + t.Key + " " + strconv.Itoa(int(t.Waited)) + " in " + strconv.Itoa(int(t.Contentions)) + ":" + toldActivity(&scaled) + "\n"
	for _, c := range t.Children {
		s += toldTree(c, indent+"  ")
	}
	return s
}

func TestFilterRoots(t *testing.T) {
	p := rooted()
	f := p.Filter(nil, regexp.MustCompile("disk|Read"), 0)
	checkConservation(t, f)
	if len(f.Pairs) != 2 || f.Waits[0].Waited != 110 || f.Waits[0].Contentions != 5 {
		t.Fatalf("%+v", f.Waits[0])
	}
	q := f.Pairs[0]
	if q.Blamed != 60 || q.Contentions != 3 || len(q.Roots) != 1 || q.Blocked[ChanReceiveKind] != 60 || q.Unknown() != 0 || q.Longest != 60 {
		t.Errorf("%+v", q)
	}
	if p.Pairs[0].Blamed != 100 || len(p.Pairs[0].Roots) != 3 {
		t.Errorf("the profile has changed: %+v", p.Pairs[0])
	}
	if f := p.Filter(nil, regexp.MustCompile("Fill"), 0); f.Waits[0].Waited != 100 || len(f.Pairs[0].Roots) != 3 {
		t.Errorf("%+v", f.Pairs[0])
	}
}

func TestMergeRoots(t *testing.T) {
	a, b := rooted(), rooted() // the call chains are equal, not identical
	b.Pairs[0].Roots[0].Kind = MutexKind
	b.Pairs[0].Blocked = map[string]time.Duration{MutexKind: 77}
	m := Merge(a, b)
	checkConservation(t, m)
	q := m.Pairs[0]
	if q.Blamed != 200 || len(q.Roots) != 4 || q.Running != 40 || q.Blocked[MutexKind] != 92 {
		t.Errorf("%+v", q)
	}
	if m := Merge(a, rooted()); len(m.Pairs[0].Roots) != 3 || m.Pairs[0].Roots[0].Blamed != 120 || m.Pairs[0].Roots[0].Contentions != 6 {
		t.Errorf("%+v", m.Pairs[0])
	}
}
