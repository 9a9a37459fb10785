package contention

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"
)

// found returns something that only the session and its profiles have.
//
//go:noinline
func found(t *testing.T) weak.Pointer[Stack] {
	p := Snapshot()
	if len(p.Waits) != 1 {
		t.Fatalf("waits %+v", p.Waits)
	}
	return weak.Make(p.Waits[0].Waiter.Stack)
}

// A lock that no goroutine waits for any more does not keep all that an earlier collection has
// found.
func TestStartForgets(t *testing.T) {
	collecting(t, Options{Exact: true})
	m := new(Mutex)
	contend(t, m, nil)
	stack := found(t)
	Stop()
	if runtime.GC(); stack.Value() == nil {
		t.Fatal("Stop has forgotten")
	}
	collecting(t, Options{Exact: true})
	waitFor(t, "the collector", func() bool {
		runtime.GC()
		return stack.Value() == nil
	})
	runtime.KeepAlive(m)
}

// Waits of two sessions that are put aside behind one owner pin nothing in the end.
func TestForgottenWaitPinsNothing(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	c := NewCond(&m)
	var ready atomic.Int32
	var victims sync.WaitGroup
	done := make(chan bool)
	m.Lock()
	go func() { consumer(c, &ready, 1); close(done) }()
	waitFor(t, "the consumer", func() bool { return m.registered() == 1 })
	victims.Go(func() { victim(&m) })
	waitFor(t, "a victim", func() bool { return m.registered() == 2 })
	Stop()
	collecting(t, Options{Exact: true})
	victims.Go(func() { victim(&m) })
	waitFor(t, "another one", func() bool { return m.registered() == 3 })
	time.Sleep(5 * time.Millisecond) // they go to sleep: the consumer is the first
	m.Unlock()
	victims.Wait()
	waitFor(t, "the consumer to wait", func() bool { return c.recorded.Load() == 1 || c.unseen.Load() == 1 })
	producer(c, &ready)
	<-done
	p := Snapshot()
	checkConservation(t, p)
	if p.InFlight != 0 {
		t.Errorf("%d in flight", p.InFlight)
	}
	st := m.st.Load()
	for k := st.tail.Load(); k != nil; k = k.next.Load() {
		if n := k.pins.Load(); n != 0 {
			t.Errorf("%d pins", n)
		}
	}
}
