//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"sync"
	"testing"
	"time"
)

// A reader may leave before a writer announces itself, and record it in the history only when that
// writer has the lock and leaves as well. Both then append to the history, one after the other.
func TestReaderAndWriterAppendExitsInOrder(t *testing.T) {
	collecting(t, Options{Exact: true})
	var rw RWMutex
	rw.Lock()
	var w wait
	if !rw.arrive(&w, always, kindWriter, 0) { // a waiter
		t.Fatal("not recorded")
	}
	st := rw.st.Load()
	st.mu.Lock() // as a reader does before it records its exit
	before := st.seq.Load()
	left := make(chan bool)
	go func() {
		rw.Unlock()
		close(left)
	}()
	select {
	case <-left:
		t.Error("the writer added to the history while a reader did")
	case <-time.After(50 * time.Millisecond):
	}
	if now := st.seq.Load(); now != before {
		t.Errorf("%d exits were added during that time", now-before)
	}
	st.mu.Unlock()
	<-left
	if now := st.seq.Load(); now != before+1 {
		t.Errorf("%d exits were added, want that of the writer", now-before)
	}
	rw.deregister() // there is no real waiter
}

// A reader settles its wait while it has the lock. A writer that arrives during that time does not
// blame it for that.
func TestSettlingReaderIsNotBlamed(t *testing.T) {
	collecting(t, Options{Exact: true})
	var rw RWMutex
	rw.Lock()
	var reading, writing sync.WaitGroup
	reading.Go(func() {
		rw.RLock()
		rw.RUnlock()
	})
	waitFor(t, "a reader waits", func() bool { return rw.waiters.Load() == 1 })
	a := rw.st.Load().account.Load()
	a.mu.Lock() // prevents the reader from settling its wait
	rw.Unlock()
	waitFor(t, "the reader got the lock", func() bool { return rw.waiters.Load() == 0 })
	writing.Go(func() {
		rw.Lock()
		rw.Unlock()
	})
	waitFor(t, "a writer waits", func() bool { return rw.waiters.Load() == 1 })
	time.Sleep(10 * time.Millisecond)
	from := now()
	a.mu.Unlock()
	reading.Wait()
	most := time.Duration(now() - from)
	writing.Wait()
	found := false
	for _, q := range Snapshot().Pairs {
		if q.Kind == RWMutexWriterKind {
			if found = true; q.Blamed > most {
				t.Errorf("the reader is blamed for %v, but had settled its wait for %v at most", q.Blamed, most)
			}
		}
	}
	if !found {
		t.Error("the writer has no blame")
	}
}

// Readers that other goroutines unlock are not kept for the whole time of a wait.
func TestReadersUnlockedByOthersAreForgotten(t *testing.T) {
	collecting(t, Options{Exact: true})
	var rw RWMutex
	rw.Lock()
	var wg sync.WaitGroup
	wg.Go(func() { rw.Lock() }) // is unlocked below
	waitFor(t, "a writer", func() bool { return rw.registered() == 1 })
	rw.Unlock()
	const rounds = 3 * maxStrays
	for range rounds {
		wg.Wait() // for the writer, which stays registered until it unlocks
		read := make(chan bool)
		go func() { rw.RLock(); close(read) }()
		waitFor(t, "a reader", func() bool { return rw.registered() == 2 })
		wg.Go(func() { rw.Lock() })
		waitFor(t, "the next writer", func() bool { return rw.registered() == 3 })
		rw.Unlock()
		<-read
		rw.RUnlock()
	}
	wg.Wait()
	st := rw.st.Load()
	st.mu.Lock()
	n := len(st.readers)
	st.mu.Unlock()
	if n > maxStrays+1 {
		t.Errorf("%d of %d readers are remembered", n, rounds)
	}
	rw.Unlock()
}

// Readers that waited for a writer are admitted before the next writer, which blames them from
// then on, and the first writer until then.
func TestReadersAreBlamedFromTheirAdmission(t *testing.T) {
	const hold = 3 * time.Millisecond
	collecting(t, Options{})
	var rw RWMutex
	var wg sync.WaitGroup
	rw.Lock()
	wg.Go(func() { nextWriter(&rw) })
	waitFor(t, "the next writer", func() bool { return rw.registered() == 1 })
	wg.Go(func() { readFor(&rw, hold) })
	waitFor(t, "the reader", func() bool { return rw.registered() == 2 })
	time.Sleep(hold)
	rw.Unlock()
	wg.Wait()
	p := Snapshot()
	checkConservation(t, p)
	blamed := map[string]time.Duration{}
	for _, q := range p.Pairs {
		if q.Kind == RWMutexWriterKind {
			blamed[q.Owner.Stack.Frames[0].Func] += q.Blamed
		}
	}
	reader, writer := blamed[pkgPath+"readFor"], blamed[pkgPath+"TestReadersAreBlamedFromTheirAdmission"]
	var waited time.Duration
	for _, w := range p.Waits {
		if w.Kind == RWMutexWriterKind {
			waited = w.Waited
		}
	}
	if reader < hold || writer < hold || reader+writer > waited {
		t.Errorf("of %v, the reader is blamed for %v, and the first writer for %v", waited, reader, writer)
	}
}

//go:noinline
func nextWriter(rw *RWMutex) {
	rw.Lock()
	rw.Unlock() //lint:ignore SA2001 it waits
}

//go:noinline
func readFor(rw *RWMutex, d time.Duration) {
	rw.RLock()
	time.Sleep(d)
	rw.RUnlock()
}
