package contention

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"
)

// everything causes waits of all kinds.
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

// holdSome holds for a while, and sometimes so long that others must wait.
func holdSome(n int) {
	if n%10 == 0 {
		time.Sleep(50 * time.Microsecond)
	} else {
		work(1000)
	}
}

// A row is identified by what the user sees of it, whichever path its calls took through the
// wrappers.
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

// A wait is in the profile of each Collector that was on when it began, whichever of them stops
// first.
func TestWaitIsInEveryCollectorOnAtItsBeginning(t *testing.T) {
	collecting(t, Options{Exact: true})
	m := NewMutex("shared")
	var second Collector
	if p := second.Snapshot(); len(p.Warnings) == 0 || second.Stop() != ErrNotStarted {
		t.Errorf("before its Start: %+v", p)
	}
	contend(t, m, nil)
	if err := second.Start(Options{Goroutines: true}); err != nil {
		t.Fatal(err)
	}
	if err := second.Start(Options{}); err != ErrStarted {
		t.Errorf("Start twice: %v", err)
	}
	contend(t, m, nil)
	contend(t, m, nil)
	m.Lock()
	done := make(chan bool)
	go func() { victim(m); close(done) }()
	waitFor(t, "the wait that goes on", func() bool { return second.Snapshot().InFlight == 1 })
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	if p := Snapshot(); p.InFlight != 1 || waitsOf(p) != 3 {
		t.Errorf("during the wait: %d in flight, %d waits", p.InFlight, waitsOf(p))
	}
	m.Unlock()
	<-done
	contend(t, m, nil)
	waitFor(t, "the waits to be settled", func() bool { return Snapshot().InFlight == 0 })
	ours, its := Snapshot(), second.Snapshot()
	for name, c := range map[string]struct {
		p    *Profile
		want int64
	}{"the default one": {ours, 5}, "the second": {its, 3}} {
		checkConservation(t, c.p)
		if err := c.p.CheckValid(); err != nil || waitsOf(c.p) != c.want || c.p.InFlight != 0 || c.p.Instances != 0 {
			t.Errorf("%s has %d waits, want %d; error %v, %d in flight, %d instances", name, waitsOf(c.p), c.want, err, c.p.InFlight, c.p.Instances)
		}
		if len(c.p.Locks) != 1 || c.p.Locks[0].ID != m.st.Load().info.id {
			t.Errorf("%s has the locks %+v", name, c.p.Locks)
		}
	}
	all, _, _, _ := totals(ours)
	if part, _, _, _ := totals(its); all <= part || ours.Duration <= its.Duration || ours.Locks[0].Longest < its.Locks[0].Longest {
		t.Errorf("%v waited in %v, of which %v in %v", all, ours.Duration, part, its.Duration)
	}
	Stop()
	collecting(t, Options{})
	if waitsOf(Snapshot()) != 0 || waitsOf(second.Snapshot()) != 3 {
		t.Error("Start forgets what another Collector has found, or not what its own has")
	}
}

func waitsOf(p *Profile) (n int64) {
	for i := range p.Waits {
		n += p.Waits[i].Contentions
	}
	return n
}

// However often another Collector starts and stops, no wait is lost or counted twice, and memory
// does not grow with the number of starts.
func TestCollectorsUnderLoad(t *testing.T) {
	for name, o := range map[string]Options{"exact": {Exact: true}, "sampled": {}} {
		t.Run(name, func(t *testing.T) {
			wl := workload{workers: 8, locks: 2, hold: 10 * time.Microsecond, think: 5 * time.Microsecond}
			collecting(t, o)
			locks, states := wl.probedLocks()
			if !o.Exact {
				for _, st := range states {
					st.drawn(8)
				}
			}
			stop, stopped := make(chan bool), make(chan bool)
			var theirs int64
			var profiles []*Profile
			go func() {
				defer close(stopped)
				for end := false; !end; {
					var second Collector
					if err := second.Start(o); err != nil {
						t.Error(err)
					}
					select {
					case <-time.After(2 * time.Millisecond):
					case <-stop:
						end = true
					}
					err := second.Stop()
					profiles = append(profiles, second.Snapshot())
					if err != nil {
						t.Error(err)
					}
				}
			}()
			ops := wl.runOn(locks, 100*time.Millisecond)
			stop <- true
			<-stopped
			var want int64
			for _, o := range ops {
				if o.waited {
					want++
				}
			}
			for _, p := range profiles {
				checkConservation(t, p)
				theirs += waitsOf(p)
			}
			p := Snapshot()
			checkConservation(t, p)
			if err := p.CheckValid(); err != nil || waitsOf(p) != want || p.InFlight != 0 || theirs > want {
				t.Errorf("%d waits, and %d in %d profiles of others, want %d; error %v, %d in flight", waitsOf(p), theirs, len(profiles), want, err, p.InFlight)
			}
			for range 2 {
				var other Collector
				if err := errors.Join(other.Start(o), other.Stop()); err != nil {
					t.Error(err)
				}
			}
			if q := Snapshot(); waitsOf(q) != want {
				t.Errorf("%d waits after two more collections, want %d", waitsOf(q), want)
			}
		})
	}
}

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

// A lock without waiters does not keep the data of an earlier collection.
func TestStartDropsTheStateOfIdleLocks(t *testing.T) {
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

// Waits of two sessions that are deferred behind one owner pin no memory at the end.
func TestDeferredWaitsAreReleased(t *testing.T) {
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
	time.Sleep(5 * time.Millisecond) // until they sleep, the consumer first
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
