package contention

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// consumer waits in a loop, as one must, and unlocks in a line of its own.
//
//go:noinline
func consumer(c *Cond, ready *atomic.Int32, rounds int32) {
	c.L.Lock()
	for ready.Load() < rounds {
		c.Wait()
	}
	c.L.Unlock()
}

//go:noinline
func producer(c *Cond, ready *atomic.Int32) {
	c.L.Lock()
	ready.Add(1)
	c.L.Unlock()
	c.Signal()
}

func (c *Cond) queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

func leaf(s *Stack) string {
	f := s.Frames[0].Func
	return f[strings.LastIndexByte(f, '.')+1:]
}

func TestCondWait(t *testing.T) {
	for name, l := range map[string]sync.Locker{
		"Mutex": new(Mutex), "RWMutex": new(RWMutex), "RLocker": new(RWMutex).RLocker(), "sync.Mutex": new(sync.Mutex),
	} {
		t.Run(name, func(t *testing.T) {
			collecting(t, Options{Exact: true})
			c := NewCond(l)
			c.SetName("ready")
			var ready atomic.Int32
			done := make(chan bool)
			go func() { consumer(c, &ready, 3); close(done) }()
			for range 3 {
				waitFor(t, "the consumer", func() bool { return c.queued() == 1 })
				time.Sleep(5 * time.Millisecond)
				producer(c, &ready)
			}
			<-done
			p := Snapshot()
			checkConservation(t, p)
			var found bool
			for _, q := range p.Pairs {
				if q.Kind != CondKind {
					continue
				}
				found = true
				if q.Lock.Name != "ready" || !strings.Contains(q.Lock.Class, "TestCondWait") ||
					leaf(q.Waiter.Stack) != "consumer" || leaf(q.Owner.Stack) != "producer" ||
					q.Flags != Signaler || q.Contentions != 3 || q.Blamed < 15*time.Millisecond {
					t.Errorf("pair %+v of %+v", q, q.Lock)
				}
			}
			if !found {
				t.Errorf("no wait on the Cond in %+v", p)
			}
			if c.recorded.Load() != 0 || c.queued() != 0 || p.InFlight != 0 {
				t.Error("something is left")
			}
		})
	}
}

// comingConsumer starts a consumer that waits for m, and is done after the given number of items.
func comingConsumer(t *testing.T, m *Mutex, c *Cond, ready *atomic.Int32, n int32) (done chan bool) {
	t.Helper()
	done = make(chan bool)
	go func() { consumer(c, ready, n); close(done) }()
	waitFor(t, "the consumer", func() bool { return m.registered() == 1 })
	return done
}

// The exits inside Wait, in a loop, are blamed on the Unlock at the end.
func TestForwardReference(t *testing.T) {
	for _, early := range []bool{false, true} {
		collecting(t, Options{Exact: true})
		var m Mutex
		c := NewCond(&m)
		var ready atomic.Int32
		var wg sync.WaitGroup
		m.Lock()
		done := comingConsumer(t, &m, c, &ready, 2)
		time.Sleep(2 * time.Millisecond)
		for i := range 2 {
			if i > 0 {
				m.Lock()
				ready.Add(1)
				c.Signal()
				waitFor(t, "the consumer", func() bool { return m.registered() >= 1 })
				time.Sleep(2 * time.Millisecond)
			}
			// A victim queues behind the consumer, which releases the lock in Wait.
			before := m.registered()
			wg.Go(func() { victim(&m) })
			waitFor(t, "the victim", func() bool { return m.registered() == before+1 })
			time.Sleep(2 * time.Millisecond)
			m.Unlock()
			wg.Wait()
			waitFor(t, "the consumer to wait", func() bool { return c.queued() == 1 })
		}
		if early {
			p := Snapshot()
			checkConservation(t, p)
			if p.InFlight != 1 { // the consumer's own Wait
				t.Errorf("%d in flight after a snapshot", p.InFlight)
			}
		}
		m.Lock()
		ready.Add(1)
		m.Unlock()
		c.Signal()
		<-done
		p := Snapshot()
		checkConservation(t, p)
		lines := map[int]uint32{}
		for _, q := range p.Pairs {
			if q.Kind == MutexKind && leaf(q.Waiter.Stack) == "victim" && leaf(q.Owner.Stack) == "consumer" {
				lines[q.Owner.Stack.Frames[0].Line] |= q.Flags
			}
		}
		if len(lines) != 1 {
			t.Fatalf("early=%v: the consumer is blamed at lines %v, want one", early, lines)
		}
		for line, flags := range lines {
			if (flags&InWait != 0) != early {
				t.Errorf("early=%v: line %d, flags %v", early, line, flags)
			}
		}
		var reacquired bool
		for _, w := range p.Waits {
			reacquired = reacquired || w.Flags&Reacquire != 0 && leaf(w.Waiter.Stack) == "consumer"
		}
		if !reacquired {
			t.Error("the wait for the lock at the end of Wait is not flagged")
		}
		if m.registered() != 0 || p.InFlight != 0 {
			t.Errorf("%d registered, %d in flight", m.registered(), p.InFlight)
		}
		Stop()
	}
}

func TestBroadcastAndUnrelatedWaiters(t *testing.T) {
	var m Mutex
	c := &Cond{L: &m}
	var wg sync.WaitGroup
	sleepers := 0
	sleep := func() {
		wg.Go(func() {
			m.Lock()
			sleepers++
			c.Wait()
			m.Unlock()
		})
	}
	asleep := func(n int) {
		t.Helper()
		waitFor(t, "sleepers", func() bool {
			m.Lock()
			defer m.Unlock()
			return sleepers == n
		})
	}
	sleep() // before collection: not recorded
	asleep(1)
	collecting(t, Options{})
	for n := range 3 {
		sleep()
		asleep(n + 2)
	}
	c.Signal()
	waitFor(t, "the stranger", func() bool { return c.unseen.Load() == 0 })
	if n := c.queued(); n != 3 {
		t.Errorf("%d in the queue after the Signal for one that is not in it, want 3", n)
	}
	c.Broadcast()
	wg.Wait()
	p := Snapshot()
	checkConservation(t, p)
	var n int64
	for _, q := range p.Pairs {
		if q.Kind == CondKind && q.Flags&Signaler != 0 && leaf(q.Owner.Stack) == "TestBroadcastAndUnrelatedWaiters" {
			n += q.Contentions
		}
	}
	if n != 3 {
		t.Errorf("%d waits put down to the Broadcast, want 3", n)
	}
	c.Broadcast()
	c.Signal()
}

func TestCondCopyPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "sync.Cond is copied" {
			t.Errorf("got %v", r)
		}
	}()
	a := Cond{L: new(Mutex)}
	a.Signal()
	b := struct{ c *Cond }{new(Cond)}
	copyOver(b.c, &a)
	b.c.Signal()
}

// copyOver makes a copy that go vet would report.
func copyOver(dst, src *Cond) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(dst)), unsafe.Sizeof(*dst)), unsafe.Slice((*byte)(unsafe.Pointer(src)), unsafe.Sizeof(*src)))
}

// Each Signal is attributed to the waiter that it wakes: first in, first out.
func TestSignalsInOrder(t *testing.T) {
	collecting(t, Options{})
	var m Mutex
	c := NewCond(&m)
	done := make(chan bool)
	wait := func(f func()) {
		n := c.queued()
		go func() { f(); done <- true }()
		waitFor(t, "a waiter", func() bool { return c.queued() == n+1 })
	}
	wait(func() { firstWaiter(c) })
	wait(func() { secondWaiter(c) })
	time.Sleep(time.Millisecond)
	firstSignal(c)
	<-done
	secondSignal(c)
	<-done
	pairs := map[string]string{}
	for _, q := range Snapshot().Pairs {
		if q.Kind == CondKind {
			pairs[leaf(q.Waiter.Stack)] = leaf(q.Owner.Stack)
		}
	}
	if len(pairs) != 2 || pairs["firstWaiter"] != "firstSignal" || pairs["secondWaiter"] != "secondSignal" {
		t.Errorf("who woke whom: %v", pairs)
	}
}

//go:noinline
func firstWaiter(c *Cond) { c.L.Lock(); c.Wait(); c.L.Unlock() }

//go:noinline
func secondWaiter(c *Cond) { c.L.Lock(); c.Wait(); c.L.Unlock() }

//go:noinline
func firstSignal(c *Cond) { c.Signal() }

//go:noinline
func secondSignal(c *Cond) { c.Signal() }

// loud embeds a Mutex and has methods of its own.
type loud struct {
	Mutex
	locked, unlocked int
}

func (l *loud) Lock()   { l.Mutex.Lock(); l.locked++ }
func (l *loud) Unlock() { l.unlocked++; l.Mutex.Unlock() }

// Wait calls the Lock and Unlock of L, not those of a type that L embeds.
func TestCondWithEmbeddedMutex(t *testing.T) {
	for _, on := range []bool{false, true} {
		if on {
			collecting(t, Options{Exact: true})
		}
		l := new(loud)
		c := NewCond(l)
		var ready atomic.Int32
		done := make(chan bool)
		go func() { consumer(c, &ready, 1); close(done) }()
		waitFor(t, "the consumer", func() bool { return c.queued() == 1 || c.unseen.Load() == 1 })
		producer(c, &ready)
		<-done
		if l.locked != l.unlocked || l.locked < 3 {
			t.Errorf("collecting: %v; locked %d times, unlocked %d", on, l.locked, l.unlocked)
		}
	}
}

// The exit of a goroutine that stays in Wait for very long, before the Unlock that it refers to,
// does not keep the lock's history for as long: later exits would be lost.
func TestHistoryDuringLongWait(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	c := NewCond(&m)
	var ready atomic.Int32
	m.Lock()
	done := comingConsumer(t, &m, c, &ready, 1)
	arrive := func(w *wait) {
		if !m.arrive(w, always, kindMutex, 0) {
			t.Fatal("not recorded")
		}
	}
	var w wait
	arrive(&w)
	m.Unlock()
	waitFor(t, "the consumer to wait", func() bool { return c.queued() == 1 })
	m.mu.Lock()
	m.acquired(&w)
	for range chunkExits*maxChunks + 1 { // always with a waiter
		var next wait
		arrive(&next)
		m.Unlock()
		m.mu.Lock()
		m.acquired(&next)
	}
	m.Unlock()
	p := Snapshot()
	checkConservation(t, p)
	if p.Dropped.Exits != 0 {
		t.Errorf("%d exits are lost", p.Dropped.Exits)
	}
	producer(c, &ready)
	<-done
}

// A goroutine that waits repeatedly before it unlocks needs no additional memory for each wait.
func TestManyWaitsBeforeUnlock(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	chain := current.Load().chains().Capture()
	var w wait
	m.Lock()
	if !m.arrive(&w, always, kindMutex, 0) { // always with a waiter
		t.Fatal("not recorded")
	}
	first := m.unlockInWait(chain)
	for range 3 {
		m.Lock()
		m.adopt(first)
		if again := m.unlockInWait(chain); again != first {
			t.Error("another Wait refers to another Unlock")
		}
	}
	m.Lock()
	m.adopt(first)
	m.Unlock()
	m.mu.Lock()
	m.acquired(&w)
	m.Unlock()
	p := Snapshot()
	checkConservation(t, p)
	if p.InFlight != 0 || m.registered() != 0 || len(p.Pairs) != 1 || p.Pairs[0].Flags != 0 {
		t.Errorf("%d in flight, %d registered, %+v", p.InFlight, m.registered(), p.Pairs)
	}
}
