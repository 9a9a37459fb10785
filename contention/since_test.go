package contention

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// everything makes waits of all kinds.
func everything() {
	var m Mutex
	var rw RWMutex
	c := NewCond(&m)
	c.SetName("cond")
	rw.SetName("rw")
	var ready atomic.Int32
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 100 {
				m.Lock()
				holdSome(n)
				m.Unlock()
				if i%2 == 0 {
					rw.Lock()
					holdSome(n)
					rw.Unlock()
				} else {
					rw.RLock()
					holdSome(n)
					rw.RUnlock()
				}
			}
		})
	}
	wg.Go(func() { consumer(c, &ready, 20) })
	wg.Go(func() {
		for range 20 {
			time.Sleep(100 * time.Microsecond)
			producer(c, &ready)
		}
	})
	wg.Wait()
	m.SetName("named late")
}

// holdSome takes a while, and now and then so long that others must wait.
func holdSome(n int) {
	if n%10 == 0 {
		time.Sleep(50 * time.Microsecond)
	} else {
		work(1000)
	}
}

// A row is told by what the user sees of it, whichever way its calls took through the wrappers.
func TestRowsAreDistinct(t *testing.T) {
	collecting(t, Options{Exact: true})
	for range 5 {
		everything()
	}
	p := Snapshot()
	seen := map[string]bool{}
	distinct := func(row string) {
		if seen[row] {
			t.Errorf("twice: %s", row)
		}
		seen[row] = true
	}
	for _, w := range p.Waits {
		distinct(fmt.Sprintf("%v %p %v %v", w.Kind, w.Lock, w.Waiter, w.Flags))
	}
	for _, q := range p.Pairs {
		distinct(fmt.Sprintf("%v %p %v %v, %v", q.Kind, q.Lock, q.Waiter, q.Owner, q.Flags))
	}
}

func TestSince(t *testing.T) {
	collecting(t, Options{Exact: true})
	everything()
	a := Snapshot()
	if a.Since(nil) != a {
		t.Error("Since(nil)")
	}
	if d := Snapshot().Since(a); len(d.Waits) != 0 || len(d.Pairs) != 0 || len(d.Locks) != 0 {
		t.Errorf("nothing happened, but: %+v", d)
	}
	everything()
	b := Snapshot()
	d := b.Since(a)
	checkConservation(t, d)
	wa, ba, ha, ua := totals(a)
	wb, bb, hb, ub := totals(b)
	wd, bd, hd, ud := totals(d)
	if wd != wb-wa || bd != bb-ba || hd != hb-ha || ud != ub-ua || wd == 0 {
		t.Errorf("waited %v, want %v − %v", wd, wb, wa)
	}
	if d.Duration != b.Duration-a.Duration || !d.Start.Equal(a.Start.Add(a.Duration)) {
		t.Errorf("from %v for %v", d.Start, d.Duration)
	}
}
