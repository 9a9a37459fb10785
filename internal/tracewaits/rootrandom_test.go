package tracewaits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// rootModel simulates goroutines that block on channels and wake each other at random, and
// computes, microsecond by microsecond, the end of each chain of blame.
type rootModel struct {
	script  strings.Builder
	waits   [][]modelWait // by goroutine, in the order of time
	blocked map[int]int   // start of the wait
	ready   map[int]bool  // woken, but not running yet
}

type modelWait struct{ from, to, waker int }

// root follows the chain of blame from a goroutine at an instant.
func (m *rootModel) root(g, at int) (root, links int) {
	for _, w := range m.waits[g] {
		if w.from <= at && at < w.to && w.waker != 0 {
			root, links = m.root(w.waker, at)
			return root, links + 1
		}
	}
	return g, 0
}

// play generates n events of the goroutines 1 to k.
func (m *rootModel) play(rng *rand.Rand, k, n int) {
	m.waits, m.blocked, m.ready = make([][]modelWait, k+1), map[int]int{}, map[int]bool{}
	at := 10
	for range n {
		at += 1 + rng.IntN(4)
		g, other := 1+rng.IntN(k), 1+rng.IntN(k)
		since, blocked := m.blocked[g]
		_, busy := m.blocked[other]
		switch {
		case m.ready[g]:
			fmt.Fprintf(&m.script, "%d %d runs\n", at, g)
			delete(m.ready, g)
		case !blocked && len(m.blocked)+len(m.ready) < k-1:
			fmt.Fprintf(&m.script, "%d %d blocks chan-receive in runtime.chanrecv1 < main.w%d:1\n", at, g, g)
			m.blocked[g] = at
		case blocked && rng.IntN(8) == 0: // by a timer
			fmt.Fprintf(&m.script, "%d 0 wakes %d\n", at, g)
			m.waits[g] = append(m.waits[g], modelWait{since, at, 0})
			delete(m.blocked, g)
			m.ready[g] = true
		case blocked && !busy && !m.ready[other] && other != g:
			fmt.Fprintf(&m.script, "%d %d wakes %d in runtime.chansend1 < main.k%d:1\n", at, other, g, other)
			m.waits[g] = append(m.waits[g], modelWait{since, at, other})
			delete(m.blocked, g)
			m.ready[g] = true
		}
	}
	for g := range m.ready {
		fmt.Fprintf(&m.script, "%d %d runs\n", at+5, g)
	}
	fmt.Fprintf(&m.script, "%d ends\n", at+10)
}

// truth is the time by waiter, owner and root.
func (m *rootModel) truth() map[[3]string]int64 {
	t := map[[3]string]int64{}
	for g, waits := range m.waits {
		for _, w := range waits {
			for at := w.from; at < w.to && w.waker != 0; at++ {
				root, _ := m.root(w.waker, at)
				t[[3]string{fmt.Sprint("main.w", g), fmt.Sprint("main.k", w.waker), fmt.Sprint("main.k", root)}]++
			}
		}
	}
	return t
}

func TestTraceRandomRoots(t *testing.T) {
	deep := 0
	for seed := range uint64(60) {
		m := &rootModel{}
		k := 3 + int(seed%8)
		m.play(rand.New(rand.NewPCG(seed, 1)), k, 300)
		p := play(t, Options{}, m.script.String())
		want := m.truth()
		for _, q := range p.Pairs {
			for _, r := range q.RootOwners() {
				if r.Owner.Stack == nil {
					t.Fatalf("seed %d: an unknown root of %v", seed, r.Blamed)
				}
				want[[3]string{q.Waiter.Stack.Frames[0].Func, q.Owner.Stack.Frames[0].Func, r.Owner.Stack.Frames[0].Func}] -= us(r.Blamed)
				deep = max(deep, r.Links)
			}
		}
		for key, d := range want {
			if d != 0 {
				t.Errorf("seed %d, %d goroutines: %v is %d µs short", seed, k, key, d)
			}
		}
	}
	if deep < 3 {
		t.Errorf("no chain is longer than %d", deep)
	}
}
