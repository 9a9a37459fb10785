package contention

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRates: numbers per second and per contention, from known sums.
func TestRates(t *testing.T) {
	l := &Lock{}
	p := &Profile{Duration: 2 * time.Second, Locks: []*Lock{l}, Waits: []Wait{{Lock: l, Contentions: 3000, Parks: 4000}, {Lock: l, Contentions: 1000, Parks: 1000}}, Events: 40_000, Bytes: 800_000}
	if got := p.Rates(); got != "Rates: 2,000 contentions a second, in which goroutines blocked 2,500 times a second. The trace has 40,000 events, 20,000 a second, in 800 kB: 10 events and 200 B for each contention." {
		t.Error(got)
	}
	if got := Merge(p, p).Rates(); got != p.Rates()[:strings.Index(p.Rates(), "The trace")]+"The trace has 80,000 events, 20,000 a second, in 1.6 MB: 10 events and 200 B for each contention." {
		t.Error(got)
	}
	if got := (&Profile{Duration: time.Second, Waits: []Wait{{Contentions: 7}}}).Rates() + (&Profile{}).Rates(); got != "Rates: 7 contentions a second." {
		t.Error(got)
	}
}

// handProfile is a profile of two locks of one class and one with a name.
func handProfile() *Profile {
	chain := &Stack{Frames: []Frame{{Func: "main.worker", File: "main.go", Line: 7, PC: 1}}}
	owner := &Stack{Frames: []Frame{{Func: "main.owner", File: "main.go", Line: 9, PC: 2}}}
	p := &Profile{Source: FromWrappers, Accuracy: Exact, Duration: time.Second, InFlight: 1, Warnings: []string{"Careful."}}
	for i, name := range []string{"", "", "cache"} {
		l := &Lock{ID: uint64(i + 1), Name: name, Class: "main.Shard", Waiters: i + 1, Longest: time.Duration(i + 1), Contended: 10}
		p.Locks = append(p.Locks, l)
		d := time.Duration(100 * (i + 1))
		p.Waits = append(p.Waits, Wait{Kind: MutexKind, Lock: l, Waiter: Party{Goroutine: 5, Group: "main.worker", Stack: chain}, Contentions: 2, Observed: 2, Waited: d, Blamed: d, Longest: d})
		p.Pairs = append(p.Pairs, Wait{Kind: MutexKind, Lock: l, Waiter: Party{Goroutine: 5, Group: "main.worker", Stack: chain}, Owner: Party{Stack: owner}, Contentions: 2, Blamed: d, Longest: d})
	}
	return p
}

func TestMergeInstances(t *testing.T) {
	a, b := handProfile(), handProfile()
	for _, l := range b.Locks {
		l.ID += 7 // the IDs of another process differ
	}
	b.Accuracy = Sampled
	m := Merge(a, nil, b)
	checkConservation(t, m)
	if m.Instances != 2 || m.Duration != 2*time.Second || m.InFlight != 2 || m.Accuracy != Sampled {
		t.Errorf("instances %d, duration %v, in flight %d, accuracy %s", m.Instances, m.Duration, m.InFlight, m.Accuracy)
	}
	if len(m.Locks) != 3 || len(m.Waits) != 3 || len(m.Pairs) != 3 {
		t.Fatalf("%d locks, %d waits, %d pairs; want 3 of each, the locks of a class one by one", len(m.Locks), len(m.Waits), len(m.Pairs))
	}
	top := m.Waits[0]
	if top.Lock.Name != "cache" || top.Contentions != 4 || top.Waited != 600 || top.Longest != 300 || top.Lock.Contended != 20 || top.Lock.Waiters != 3 {
		t.Errorf("longest row: %+v of lock %+v", top, top.Lock)
	}
	if top.Waiter.Goroutine != 0 {
		t.Error("a goroutine's id in a profile of several instances")
	}
	if got := strings.Join(m.Warnings, "|"); got != "Careful." {
		t.Errorf("warnings: %q", got)
	}
	if again := Merge(m, handProfile()); again.Instances != 3 {
		t.Errorf("%d instances, want 3", again.Instances)
	}
	if one := Merge(handProfile()); one.Instances != 0 || len(one.Locks) != 3 || one.Waits[0].Waiter.Goroutine != 5 {
		t.Errorf("a profile by itself changes: %+v", one)
	}
	if none := Merge(); none == nil || len(none.Waits) != 0 {
		t.Error("nothing merged is not an empty profile")
	}
}

// TestMergeKeepsLocksOfOnePassApart: locks that the pieces of a pass distinguish by ID are not
// mixed with similar ones.
func TestMergeKeepsLocksOfOnePassApart(t *testing.T) {
	source, chain := new(int), &Stack{Frames: []Frame{{Func: "main.worker", File: "main.go", Line: 7}}}
	piece := func(n int, sameIDs bool, ids ...uint64) *Profile {
		p := &Profile{Source: FromTrace, Accuracy: Inferred, piece: piece{source, n, n, sameIDs}}
		for _, id := range ids {
			l := &Lock{ID: id, Class: "main.Shard"}
			p.Locks = append(p.Locks, l)
			p.Waits = append(p.Waits, Wait{Kind: MutexKind, Lock: l, Waiter: Party{Group: "main.worker", Stack: chain}, Contentions: 1, Observed: 1, Waited: time.Duration(id), HandOff: time.Duration(id)})
		}
		return p
	}
	for _, tt := range []struct {
		what   string
		merged *Profile
		want   string
	}{
		{"two come after one of them", Merge(piece(0, false, 9), piece(1, false, 5, 9)), "9:18 5:5"},
		{"one got another ID", Merge(piece(0, false, 9), piece(1, false, 5)), "9:14"},
		{"IDs stay", Merge(piece(0, true, 9), piece(1, true, 5), piece(2, true, 5, 7)), "5:10 9:9 7:7"},
		{"another pass", Merge(piece(0, true, 9, 5), piece(1, true, 5), handProfile()), "3:300 2:210 1:109"},
	} {
		checkConservation(t, tt.merged)
		var got []string
		for _, w := range tt.merged.Waits {
			got = append(got, fmt.Sprintf("%d:%d", w.Lock.ID, w.Waited))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, s, tt.want)
		}
	}
}

// TestTopKeepsTheSums: all sums stay correct however many rows are combined, also when repeated,
// in bounded memory.
func TestTopKeepsTheSums(t *testing.T) {
	total := &Profile{}
	for i := range 50 {
		p := handProfile()
		for j := range p.Waits {
			w := &p.Waits[j]
			w.Waiter.Stack = &Stack{Frames: []Frame{{Func: "main.f", Line: 10*i + j}}}
			p.Pairs[j].Waiter = w.Waiter
		}
		total = Merge(total, p).Top(4)
		checkConservation(t, total)
	}
	var waited time.Duration
	var n int64
	for i := range total.Waits {
		waited += total.Waits[i].Waited
		n += total.Waits[i].Contentions
	}
	if waited != 50*600 || n != 50*6 {
		t.Errorf("%v waited in %d contentions, want 30µs in 300", waited, n)
	}
	if len(total.Waits) > 5 || len(total.Pairs) > 10 || len(total.Locks) > 6 {
		t.Errorf("%d waits, %d pairs, %d locks of 4 at most and the others", len(total.Waits), len(total.Pairs), len(total.Locks))
	}
}

// TestTopCountsAWaitOnce: combined owners had the same waiters, whose waits count once.
func TestTopCountsAWaitOnce(t *testing.T) {
	lock := &Lock{ID: 1}
	waiter := Party{Stack: &Stack{Frames: []Frame{{Func: "main.waiter"}}}}
	p := &Profile{Locks: []*Lock{lock}, Waits: []Wait{{Kind: MutexKind, Lock: lock, Waiter: waiter, Flags: Estimated, Contentions: 8, Observed: 2, Waited: 60, Blamed: 60, StdErr: 12}}}
	for i, name := range []string{"main.a", "main.b", "main.c"} {
		p.Pairs = append(p.Pairs, Wait{Kind: MutexKind, Lock: lock, Waiter: waiter, Owner: Party{Stack: &Stack{Frames: []Frame{{Func: name}}}},
			Flags: Estimated, Contentions: 8 - int64(i), Blamed: time.Duration(30 - 10*i), StdErr: time.Duration(5 + i)})
	}
	top := p.Top(1)
	if len(top.Pairs) != 2 {
		t.Fatalf("%d pairs", len(top.Pairs))
	}
	if q := top.Pairs[1]; q.Blamed != 30 || q.Contentions != 8 || q.StdErr != 12 {
		t.Errorf("together: %v ± %v in %d waits, want 30ns ± 12ns in 8", q.Blamed, q.StdErr, q.Contentions)
	}
}
