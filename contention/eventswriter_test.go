package contention

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// lockingWriter has a lock of this package, which somebody else holds whenever Write is called.
type lockingWriter struct {
	mu     Mutex
	buf    bytes.Buffer
	writes atomic.Int32
}

func (w *lockingWriter) Write(p []byte) (int, error) {
	held := make(chan bool)
	go func() {
		w.mu.Lock()
		close(held)
		for w.mu.registered() == 0 && current.Load() != nil {
			time.Sleep(100 * time.Microsecond)
		}
		w.mu.Unlock()
	}()
	<-held
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes.Add(1)
	return w.buf.Write(p)
}

// manyEvents makes waits for n locks, with names that take as much as the writer gets at once.
func manyEvents(t *testing.T, n int) {
	for range n {
		var m Mutex
		m.SetName(fmt.Sprintf("%0*d", eventBuffer, m.state().info.id))
		contend(t, &m, nil)
	}
}

// inTime fails if f hangs. Collection is then still on, as Stop would hang, too.
func inTime(t *testing.T, what string, f func()) {
	t.Helper()
	var done atomic.Bool
	go func() { f(); done.Store(true) }()
	waitFor(t, what, done.Load)
}

// Options.Events may use a lock that is waited for.
func TestEventsToWriterWithLock(t *testing.T) {
	w := new(lockingWriter)
	w.mu.SetName("writer")
	if err := Start(Options{Exact: true, Events: w}); err != nil {
		t.Fatal(err)
	}
	began := w.writes.Load() // with the head of the file
	inTime(t, "waits", func() { manyEvents(t, 3) })
	waitFor(t, "a write", func() bool { return w.writes.Load() > began })
	inTime(t, "Stop", func() {
		if err := Stop(); err != nil {
			t.Error(err)
		}
	})
	p, err := ReadEvents(&w.buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if len(p.Locks) < 4 { // the three, and the writer's
		t.Errorf("%d locks in the file", len(p.Locks))
	}
}

// stuckWriter writes nothing until it is told to.
type stuckWriter struct {
	bytes.Buffer
	waits atomic.Bool
	stuck chan bool
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	if current.Load() != nil { // not the head
		w.waits.Store(true)
		<-w.stuck
	}
	return w.Buffer.Write(p)
}

// startStuck starts to collect, with the first waits, whose writer is stuck.
func startStuck(t *testing.T) *stuckWriter {
	t.Helper()
	w := &stuckWriter{stuck: make(chan bool)}
	if err := Start(Options{Exact: true, Events: w}); err != nil {
		t.Fatal(err)
	}
	inTime(t, "the first waits", func() { manyEvents(t, 2) })
	waitFor(t, "the writer", w.waits.Load)
	return w
}

// Nobody waits for a slow writer: what it cannot take is left out.
func TestEventsToStuckWriter(t *testing.T) {
	w := startStuck(t)
	const locks = eventBacklog/eventBuffer + 10
	inTime(t, "waits", func() { manyEvents(t, locks-2) })
	close(w.stuck)
	inTime(t, "Stop", func() {
		if err := Stop(); err != nil {
			t.Error(err)
		}
	})
	live := Snapshot()
	p, err := ReadEvents(&w.Buffer, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if n := p.Dropped.Events; n == 0 || n != live.Dropped.Events || len(p.Locks)+int(n) != locks || len(live.Locks) != locks {
		t.Errorf("%d of %d locks in the file, %d records left out", len(p.Locks), len(live.Locks), n)
	}
}

// Stop may wait for a slow writer. Waits that end meanwhile are in the file, and not in flight.
func TestStopDuringWrite(t *testing.T) {
	w := startStuck(t)
	var m Mutex
	m.Lock()
	done := make(chan bool)
	go func() { victim(&m); close(done) }()
	waitFor(t, "the victim", func() bool { return m.registered() == 1 })
	stopped := make(chan error)
	go func() { stopped <- Stop() }()
	waitFor(t, "Stop", func() bool { return current.Load() == nil })
	time.Sleep(20 * time.Millisecond) // it gets as far as it can
	m.Unlock()
	<-done
	close(w.stuck)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	p, err := ReadEvents(&w.Buffer, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if len(p.Locks) != 3 || p.InFlight != 0 {
		t.Errorf("%d locks in the file, %d waits in flight", len(p.Locks), p.InFlight)
	}
}
