package contention

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

//go:noinline
func flightHolds(m *Mutex, locked chan<- bool, release <-chan bool) {
	m.Lock()
	locked <- true
	<-release
	m.Unlock()
}

//go:noinline
func flightWaits(m *Mutex, done chan<- bool) {
	m.Lock()
	m.Unlock() //lint:ignore SA2001 the test is about the wait
	done <- true
}

// Long waits in progress have rows of their own, with the current owner if that goroutine waited
// for the lock, too. Once the goroutines have the lock, the waits are in the sums instead.
func TestWaitsInProgressHaveRows(t *testing.T) {
	collecting(t, Options{})
	m := NewMutex("stuck")
	const stuck = 5
	locked, release, done := make(chan bool), make(chan bool), make(chan bool, stuck)
	m.Lock()
	go flightHolds(m, locked, release)
	waitFor(t, "the owner to wait", func() bool { return m.registered() == 1 })
	long := func() { time.Sleep(time.Duration(leastFlight) + 5*time.Millisecond) }
	long()
	if u := Snapshot().Unfinished; len(u) != 1 || u[0].Contentions != 1 || u[0].Owner.Stack != nil || u[0].Held != 0 || !strings.HasPrefix(u[0].Lock.String(), "stuck") {
		t.Errorf("behind an owner that did not wait: %+v", u)
	}
	before := time.Now()
	m.Unlock()
	<-locked
	after := time.Now()
	for range stuck {
		go flightWaits(m, done)
	}
	waitFor(t, "all to wait", func() bool { return m.registered() == 1+stuck })
	long()
	least := time.Since(after)
	p := Snapshot()
	most := time.Since(before)
	checkConservation(t, p)
	if len(p.Unfinished) != 1 {
		t.Fatalf("%+v", p.Unfinished)
	}
	u := p.Unfinished[0]
	at := func(p Party) string {
		if p.Stack == nil {
			return "nowhere"
		}
		return p.Stack.Frames[0].Func
	}
	if !strings.HasSuffix(at(u.Waiter), ".flightWaits") || !strings.HasSuffix(at(u.Owner), ".flightHolds") || u.Kind != MutexKind {
		t.Errorf("%s waits for %s: %+v", at(u.Waiter), at(u.Owner), u)
	}
	if u.Held < least || u.Held > most {
		t.Errorf("held for %v, want %v to %v", u.Held, least, most)
	}
	// Where goroutines have no IDs, some may find their places taken.
	if u.Contentions < 1 || u.Contentions > stuck || u.Contentions < stuck && callstack.Goid() != 0 || p.InFlight < stuck || u.Longest < time.Duration(leastFlight) || u.Waited < time.Duration(u.Contentions)*time.Duration(leastFlight) {
		t.Errorf("%+v, %d in flight", u, p.InFlight)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	if q, err := ReadJSON(&b); err != nil || len(q.Unfinished) != 1 || at(q.Unfinished[0].Owner) != at(u.Owner) || q.Unfinished[0].Held != u.Held {
		t.Errorf("read back: %v", err)
	}
	release <- true
	for range stuck {
		<-done
	}
	// The goroutine that settles may be preempted before it is done.
	waitFor(t, "all that had it to be settled", func() bool {
		p := Snapshot()
		return len(p.Unfinished) == 0 && p.InFlight == 0
	})
	m.Lock()
	go flightWaits(m, done)
	waitFor(t, "one to wait", func() bool { return m.registered() == 1 })
	long()
	if u := Snapshot().Unfinished; len(u) != 1 || u[0].Owner.Stack != nil || u[0].Held != 0 {
		t.Errorf("a former owner holds it: %+v", u)
	}
	m.Unlock()
	<-done
}

// Waits in progress of readers, writers and Cond.Wait are included.
func TestWaitsInProgressOfAllKinds(t *testing.T) {
	collecting(t, Options{})
	var rw RWMutex
	var m Mutex
	c := NewCond(&m)
	done := make(chan bool)
	rw.Lock()
	go func() { defer func() { done <- true }(); rw.Lock(); defer rw.Unlock() }()
	go func() { defer func() { done <- true }(); rw.RLock(); defer rw.RUnlock() }()
	go func() { m.Lock(); c.Wait(); m.Unlock(); done <- true }()
	waitFor(t, "all to wait", func() bool { return rw.registered() == 2 && c.recorded.Load() == 1 })
	time.Sleep(time.Duration(leastFlight) + 5*time.Millisecond)
	kinds := map[string]int64{}
	for _, u := range Snapshot().Unfinished {
		kinds[u.Kind] += u.Contentions
	}
	for _, k := range []string{RWMutexWriterKind, RWMutexReaderKind, CondKind} {
		if kinds[k] != 1 {
			t.Errorf("%d of kind %s go on", kinds[k], k)
		}
	}
	rw.Unlock()
	m.Lock()
	c.Signal()
	m.Unlock()
	for range 3 {
		<-done
	}
	if p := Snapshot(); len(p.Unfinished) != 0 {
		t.Errorf("%+v", p.Unfinished)
	}
}
