package tracewaits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// TestTraceHistory: 2 waits while the lock is handed on 5000 times. The lock keeps the latest
// releases. The time before is unattributed, which is counted.
func TestTraceHistory(t *testing.T) {
	s := newScript(t, Options{})
	s.play(short.Replace("1 2 blocks mutex in L:f:10"))
	const n = 5000
	for i := range n {
		// 3 and 4 hand the lock to each other. As a late arrival, each takes the other's
		// token.
		a, b := 3+i%2, 4-i%2
		s.play(short.Replace(fmt.Sprintf(`
			%d %d blocks mutex in L:f:10
			%d %d wakes %d in U:f:12
			%d %d runs`, 10*i+10, a, 10*i+15, b, a, 10*i+17, a)))
	}
	for k := range s.o.rows.rows {
		l, linked := k.lock.root(), 0
		for h := l.last(); h != nil; h = h.prev {
			linked++
		}
		if len(l.history) > 2*maxHistory || linked > 2*maxHistory+1 || linked < maxHistory {
			t.Errorf("%d releases are remembered, %d linked", len(l.history), linked)
		}
	}
	s.play(short.Replace(fmt.Sprintf("%d 1 wakes 2 in U:f:12\n%d 2 runs\n%d ends", 10*n+20, 10*n+21, 10*n+30)))
	p := s.o.Profile()
	checkConservation(t, p)
	var w contention.Wait
	for _, x := range p.Waits {
		if x.Longest > w.Longest {
			w = x
		}
	}
	if p.Dropped.Exits != 1 || w.Unattributed < 10*(n-2*maxHistory-10)*time.Microsecond || !strings.Contains(strings.Join(p.Warnings, " "), "releases during long waits were dropped") {
		t.Errorf("dropped %+v; unattributed %v; %q", p.Dropped, w.Unattributed, p.Warnings)
	}
}

// TestTraceManyChains: there is no room for 300 call chains. The sums stay exact.
func TestTraceManyChains(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `
			%d 2 blocks chan-receive in runtime.chanrecv1 < main.f:%d
			%d 1 wakes 2 in runtime.chansend1 < main.g:%d
			%d 2 runs`, 100*i+10, i/10+1, 100*i+50, i+1, 100*i+60)
	}
	b.WriteString("\n40000 ends")
	p := play(t, Options{MaxPairs: 20}, b.String())
	waited, blamed, handOff, _ := totals(p)
	if waited != 300*40*time.Microsecond || blamed != 300*40*time.Microsecond || handOff != 0 {
		t.Errorf("waited %v, blamed %v, hand-off %v", waited, blamed, handOff)
	}
	if n := len(p.Waits) + len(p.Pairs); n > 40 || p.Dropped.Pairs == 0 {
		t.Errorf("%d rows, %+v", n, p.Dropped)
	}
	if !strings.Contains(profileText(p), callstack.Dropped) {
		t.Errorf("no row is named %s:\n%s", callstack.Dropped, profileText(p))
	}
}

// TestTraceManyGoroutines: the data of a goroutine is released when it exits.
func TestTraceManyGoroutines(t *testing.T) {
	s := newScript(t, Options{})
	for i := range 10_000 {
		id := int64(i + 10)
		s.g(id)
		s.gs[id].Index = 2
		s.play(short.Replace(fmt.Sprintf(`
			%d %d blocks mutex in L:f:10
			%d 1 wakes %d in U:f:12
			%d %d runs
			%d %d exits`, 100*i+10, id, 100*i+50, id, 100*i+60, id, 100*i+70, id)))
		delete(s.gs, id)
	}
	s.play("2000000 ends")
	if n := len(slices.Collect(s.o.goroutines.All())); n > 64 || s.o.room.live > 4 {
		t.Errorf("%d goroutines are remembered, %d of them live", n, s.o.room.live)
	}
	p := s.o.Profile()
	checkConservation(t, p)
	if len(p.Waits) != 1 || p.Waits[0].Contentions != 10_000 || p.Dropped != (contention.Profile{}).Dropped {
		t.Errorf("%s %+v", profileText(p), p.Dropped)
	}
}

// TestTraceManyOwners: 2 waits behind 20 goroutines that hold the lock twice each. An owner counts
// once per wait.
func TestTraceManyOwners(t *testing.T) {
	s := newScript(t, Options{Goroutines: true})
	s.play(short.Replace("1 2 blocks mutex in L:f:10"))
	for i := range 40 {
		s.play(short.Replace(fmt.Sprintf(`
			%d 3 blocks mutex in L:f:10
			%d %d wakes 3 in U:f:12
			%d 3 runs`, 10*i+9, 10*i+15, 10+i%20, 10*i+16)))
	}
	s.play(short.Replace("500 1 wakes 2 in U:f:12\n501 2 runs\n600 ends"))
	p := s.o.Profile()
	checkConservation(t, p)
	n := 0
	for _, q := range p.Pairs {
		if q.Waiter.Goroutine == 2 {
			n++
			if q.Contentions != 1 || q.Longest != q.Blamed {
				t.Errorf("g%d: %d of %d, at most %v", q.Owner.Goroutine, us(q.Blamed), q.Contentions, q.Longest)
			}
		}
	}
	if n != 20 { // the start of 1's hold is unknown: 3 had been woken, and released it unseen
		t.Errorf("%d owners, want 20", n)
	}
}
