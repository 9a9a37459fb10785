package tracewaits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestPastAgainstEveryNanosecond compares pasts with a list of every nanosecond.
func TestPastAgainstEveryNanosecond(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := &cause{parts: []causePart{{root: owner{g: 7}, links: 1}}}
	other := &cause{parts: []causePart{{root: owner{g: 8}, links: 2}}}
	for round := range testenv.Rounds(60) {
		p := &past{first: 100, end: 100, open: doingRunning, longPast: &noLongPast}
		var did []doing
		var roots []int64 // by nanosecond since 100; 0 means itself
		n := []int{3, 60, 300, 2000}[round%4]
		for range n {
			ns := 1 + rng.Int64N(5)
			d, c := doing(1+rng.IntN(5)), (*cause)(nil)
			if d >= blockedOn {
				c = []*cause{nil, one, other}[rng.IntN(3)]
			}
			p.add(p.end+timeline.Time(ns), d, c)
			for range ns {
				did = append(did, d)
				g := int64(0)
				if c != nil {
					g = c.parts[0].root.g
				}
				roots = append(roots, g)
			}
		}
		if round%3 == 2 {
			p.trim(pastBlock)
			if n == 2000 && (len(p.segs) > 2*pastBlock || p.lost == 0 || len(p.gone) < 8 || p.gone[len(p.gone)-1].end != p.lost) {
				t.Fatalf("%d segments are left", len(p.segs))
			}
		}
		end := timeline.Time(100 + len(did))
		for range 200 {
			from := 90 + timeline.Time(rng.Int64N(int64(end)))
			to := from + timeline.Time(rng.Int64N(int64(end+10)))
			if rng.IntN(4) == 0 {
				from = 100
			}
			to = min(max(from, to), end+10)
			var want [doings]timeline.Time
			causes := map[int64]timeline.Time{}
			for at := from; at < to; at++ {
				d, g := doingUnknown, int64(0)
				if at >= end {
					d = doingRunning
				} else if at >= 100 && (at >= p.lost || whole(p, at, from, to)) {
					d, g = did[at-100], roots[at-100]
				}
				want[d]++
				if g != 0 {
					causes[g]++
				}
			}
			l := p.between(from, to)
			if l.did() != want {
				t.Fatalf("%d segments, %d to %d of 100 to %d: %v, want %v", n, from, to, end, l.did(), want)
			}
			for _, c := range l.causes {
				causes[c.root.g] -= c.ns
			}
			for g, ns := range causes {
				if ns != 0 {
					t.Fatalf("%d segments, %d to %d: root %d is %d off", n, from, to, g, ns)
				}
			}
			half := p.between(from, to)
			half.scale(l.total() / 2)
			if half.total() != l.total()/2 || half.itself() < 0 {
				t.Fatalf("%d of %d, itself %d", half.total(), l.total(), half.itself())
			}
		}
	}
}

// whole reports whether the era around an instant is within a time.
func whole(p *past, at, from, to timeline.Time) bool {
	start := p.first
	for _, e := range p.gone {
		if at < e.end {
			return from <= start && e.end <= to
		}
		start = e.end
	}
	return false
}

// TestTracePastOutgrown: the owner changes its state more often than is stored. A query for its
// whole life still gets everything; a query for a part gets nearly everything.
func TestTracePastOutgrown(t *testing.T) {
	s := newScript(t, Options{})
	s.play(`
		0 1 stops
		0 1 runs
		0 2 blocks chan-receive in runtime.chanrecv1 < main.f:1
		1000 3 blocks chan-receive in runtime.chanrecv1 < main.g:1`) // in the midst of the first era
	const n = 3 * maxPast
	for i := range n {
		s.play(fmt.Sprintf("%d 1 stops\n%d 1 runs", 2001+3*i, 2002+3*i))
	}
	end := 2000 + 3*n
	s.play(fmt.Sprintf(`
		%d 1 wakes 2 in runtime.chansend1 < main.h:2
		%d 2 runs
		%d 1 wakes 3 in runtime.chansend1 < main.h:3
		%d 3 runs
		%d ends`, end, end, end, end, end+1))
	p := s.o.Profile()
	checkConservation(t, p)
	if s.o.room.used > 3*maxPast {
		t.Errorf("%d segments are kept", s.o.room.used)
	}
	seen := ""
	for _, q := range p.Pairs {
		seen += q.Waiter.Stack.Frames[0].Func + " "
		switch q.Waiter.Stack.Frames[0].Func {
		case "main.g":
			if q.Unknown() == 0 || q.Unknown() > 3*n/10*time.Microsecond || q.Runnable < n*9/10*time.Microsecond {
				t.Errorf("a part: %s", toldActivity(&q))
			}
		case "main.f":
			if q.Unknown() != 0 || q.Runnable != n*time.Microsecond {
				t.Errorf("all: %s", toldActivity(&q))
			}
		}
	}
	if seen != "main.f main.g " {
		t.Errorf("pairs of %s", seen)
	}
}

// TestTraceDeepChain: 500 goroutines wait one behind another. The root is the last of them.
func TestTraceDeepChain(t *testing.T) {
	const n = 500
	s := newScript(t, Options{})
	for i := range n { // i+2 waits for i+1
		s.play(short.Replace(fmt.Sprintf("%d %d blocks mutex in L:f%d:1", 10+i, i+2, i)))
	}
	for i := range n {
		s.play(short.Replace(fmt.Sprintf("%d %d wakes %d in U:f%d:3\n%d %d runs", 10000+i, i+1, i+2, i, 10000+i, i+2)))
	}
	s.play("20000 ends")
	p := s.o.Profile()
	checkConservation(t, p)
	found := false
	for _, q := range p.Pairs {
		if f := q.Waiter.Stack.Frames[0].Func; f == fmt.Sprint("main.f", n-1) {
			found = true
			r := q.Roots[0]
			if q.Blamed != 9990*time.Microsecond || r.Links != n-1 || r.Owner.Stack.Frames[0].Func != "main.f0" || r.Blamed != 9491*time.Microsecond {
				t.Errorf("%v: %s", q.Blamed, rootsText(&contention.Profile{Pairs: []contention.Wait{q}}))
			}
		}
	}
	if tree, err := p.Aggregate(contention.ByRootFunc); !found || err != nil || tree.Children[0].Key != "main.f0" {
		t.Errorf("%v %+v", err, tree.Children[0])
	}
}

// TestPiecesOfAWaitAreBounded: a goroutine waits for one that is blocked 300 times. Its past has few
// pieces, and the roots have all of the time. In a pipeline, each stage would otherwise have the
// pieces of all stages before it.
func TestPiecesOfAWaitAreBounded(t *testing.T) {
	const n = 300
	s := newScript(t, Options{})
	s.play(short.Replace("0 2 blocks chan-receive in runtime.chanrecv1 < main.first:1"))
	for i := range n {
		s.play(fmt.Sprintf("%d 1 blocks chan-receive in runtime.chanrecv1 < main.second:1\n%d 3 wakes 1 in runtime.chansend1 < main.third:1\n%d 1 runs", 10*i+5, 10*i+10, 10*i+10))
	}
	s.play(fmt.Sprintf("%d 1 wakes 2 in runtime.chansend1 < main.second:2\n%d 2 runs", 10*n, 10*n))
	if got := len(s.o.goroutines.At(s.gs[2].Index).past.segs); got > 50 {
		t.Errorf("%d pieces", got)
	}
	s.play(fmt.Sprintf("%d ends", 10*n+1))
	p := s.o.Profile()
	for _, q := range p.Pairs {
		if q.Waiter.Stack.Frames[0].Func != "main.first" {
			continue
		}
		r := q.Roots[0]
		if q.Blamed != 10*n*time.Microsecond || len(q.Roots) != 2 || r.Owner.Stack.Frames[0].Func != "main.third" || r.Blamed != 5*n*time.Microsecond {
			t.Errorf("%+v", q)
		}
		return
	}
	t.Error("no pair")
}

// TestTraceManyRoots: the owner waits for 100 others during a wait for it. The shortest are
// combined.
func TestTraceManyRoots(t *testing.T) {
	s := newScript(t, Options{})
	s.play(short.Replace("10 2 blocks mutex in L:f:1\n10 3 blocks chan-receive in runtime.chanrecv1 < main.w:1"))
	at := 20
	for i := range 100 {
		s.play(fmt.Sprintf(`
			%d 1 blocks chan-receive in runtime.chanrecv1 < main.r:1
			%d %d wakes 1 in runtime.chansend1 < main.s:%d
			%d 1 runs`, at, at+5, 10+i, i+1, at+5))
		at += 10
	}
	s.play(short.Replace(fmt.Sprintf(`
		%d 1 wakes 2 in U:f:3
		%d 2 runs
		%d 2 wakes 3 in runtime.chansend1 < main.t:1
		%d 3 runs
		%d ends`, at, at, at+10, at+10, at+20)))
	p := s.o.Profile()
	checkConservation(t, p)
	text := rootsText(p)
	if !strings.Contains(text, "  root ?: ") || strings.Count(text, "\n") > 160 {
		t.Errorf("%s", text)
	}
	for _, q := range p.Pairs {
		if len(q.Roots) > mostRoots+2 {
			t.Errorf("%d roots", len(q.Roots))
		}
		for _, r := range q.Roots {
			// 3 waits for 2, which waited for 1, which waited for many.
			want := map[string]int{"main.t": 2, "main.f": 1}[q.Owner.Stack.Frames[0].Func]
			if r.Owner.Stack != nil && r.Owner.Stack.Frames[0].Func == "main.s" && r.Links != want {
				t.Errorf("%d links from %s to %s, want %d", r.Links, party(q.Owner), party(r.Owner), want)
			}
		}
	}
}

// TestLedgersAreMultiplied: a wait that represents several has each of its times as often, also of
// the things that a goroutine rarely does.
func TestLedgersAreMultiplied(t *testing.T) {
	var one, sum ledger
	for on := range doing(doings) {
		one.spend(on, 1000+timeline.Time(on))
	}
	sum.spend(3, 5)
	sum.spendAs(&one, 7)
	for on, got := range sum.did() {
		want := 7 * (1000 + timeline.Time(on))
		if on == 3 {
			want += 5
		}
		if got != want {
			t.Errorf("%d: %d ns; want %d", on, got, want)
		}
	}
}
