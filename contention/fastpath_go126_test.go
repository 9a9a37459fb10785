//lint:file-ignore SA2001 empty critical sections are what is tested

//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// The fast paths work on words inside of sync's locks; this is what they assume.
func TestLayout(t *testing.T) {
	var m sync.Mutex
	state := (*int32)(unsafe.Pointer(&m))
	if unsafe.Sizeof(m) != 8 || *state != 0 {
		t.Errorf("sync.Mutex: %d bytes, state %d", unsafe.Sizeof(m), *state)
	}
	m.Lock()
	if *state != 1 {
		t.Errorf("state of a locked sync.Mutex is %d", *state)
	}
	m.Unlock()
	if *state != 0 {
		t.Errorf("state of an unlocked sync.Mutex is %d", *state)
	}

	f, ok := reflect.TypeFor[sync.RWMutex]().FieldByName("readerCount")
	var rw RWMutex
	if !ok || unsafe.Offsetof(rw.mu)+f.Offset != readerCountOffset {
		t.Fatalf("readerCount of sync.RWMutex is at %d", f.Offset)
	}
	readers := (*int32)(unsafe.Add(unsafe.Pointer(&rw), readerCountOffset))
	rw.mu.RLock()
	rw.mu.RLock()
	if *readers != 2 {
		t.Errorf("%d readers, want 2", *readers)
	}

	rw.mu.RUnlock()
	rw.mu.RUnlock()
	rw.mu.Lock()
	if *readers != -maxReaders {
		t.Errorf("%d readers beside a writer, want %d", *readers, -maxReaders)
	}
	rw.mu.Unlock()
	f, ok = reflect.TypeFor[sync.RWMutex]().FieldByName("w")
	if !ok || unsafe.Offsetof(rw.mu)+f.Offset != writersOffset || f.Type != reflect.TypeFor[sync.Mutex]() {
		t.Fatalf("the mutex of the writers of sync.RWMutex is at %d", f.Offset)
	}

	f, ok = reflect.TypeFor[sync.RWMutex]().FieldByName("readerSem")
	if !ok || unsafe.Offsetof(rw.mu)+f.Offset != readerSemOffset {
		t.Fatalf("readerSem of sync.RWMutex is at %d", f.Offset)
	}

	var w Mutex
	words := (*mutexWords)(unsafe.Pointer(&w))
	if unsafe.Offsetof(w.mu) != unsafe.Offsetof(words.state) || unsafe.Offsetof(w.waiters) != unsafe.Offsetof(words.queue)+4 ||
		unsafe.Offsetof(w.guard) != unsafe.Offsetof(words.guard) || unsafe.Offsetof(w.st) != unsafe.Offsetof(words.st) {
		t.Errorf("guard at %d, lock at %d, waiters at %d, state at %d", unsafe.Offsetof(w.guard), unsafe.Offsetof(w.mu), unsafe.Offsetof(w.waiters), unsafe.Offsetof(w.st))
	}
	inner, _ := reflect.TypeFor[sync.Mutex]().FieldByName("mu")
	sema, ok := inner.Type.FieldByName("sema")
	if !ok || unsafe.Offsetof(w.mu)+inner.Offset+sema.Offset != unsafe.Offsetof(words.queue) {
		t.Errorf("semaphore of sync.Mutex is at %d", sema.Offset)
	}
	w.mu.Lock()
	if both := *(*uint64)(unsafe.Pointer(&w)); both != locked {
		t.Errorf("locked: %#x", both)
	}
	w.Unlock()
	w.register(w.state())
	if *(*uint64)(unsafe.Pointer(&w)) == 0 || words.queue>>32 > waiterStep {
		t.Error("a waiter does not show")
	}
	w.deregister(w.state())
	if *(*uint64)(unsafe.Pointer(&w)) != 0 || words.queue != 0 {
		t.Error("a waiter shows that is not there")
	}
}

// Unlock while a waiter registers, or the semaphore is up, releases the lock once.
func TestUnlockInBetween(t *testing.T) {
	var m Mutex
	words := (*mutexWords)(unsafe.Pointer(&m))
	m.Lock()
	words.guard = guardUp // a waiter saw no need to wait for its own number to show
	m.Unlock()
	if words.state != 0 {
		t.Errorf("state %d with the guard up", words.state)
	}
	words.guard = 0
	m.Lock()
	words.queue = 1
	m.Unlock()
	if words.state != 0 {
		t.Errorf("state %d with the semaphore up", words.state)
	}
}

// What the state of a sync.Mutex means, for wake.
func TestMutexState(t *testing.T) {
	var m Mutex
	state := &(*mutexWords)(unsafe.Pointer(&m)).state
	look := func() int32 { return atomic.LoadInt32(state) }
	m.Lock()
	var wg sync.WaitGroup
	for i := range int32(3) {
		wg.Go(func() { m.Lock(); m.Unlock() })
		// A sleeper that was woken and sleeps again, after a millisecond, makes it starving.
		waitFor(t, "a sleeper", func() bool { return look() == mutexLocked+(i+1)*mutexSleeper })
	}
	time.Sleep(2 * time.Millisecond)
	for look()&mutexStarving == 0 {
		// The one that is woken finds the lock taken again.
		m.Unlock()
		m.Lock()
		time.Sleep(time.Millisecond)
	}
	if n := look(); n&mutexLocked == 0 || n < mutexSleeper {
		t.Errorf("state %#x", n)
	}
	m.Unlock()
	wg.Wait()
	if n := look(); n != 0 {
		t.Errorf("state %#x when all is over", n)
	}
}

// While somebody is registered at any RWMutex, no reader's count is enough for the fast path, and afterwards every one is.
func TestWaitersRWAreCounted(t *testing.T) {
	if offset := unsafe.Offsetof(waitedRW.n); offset%8 != 0 || unsafe.Offsetof(waitedRW.above) != offset+4 {
		t.Fatalf("n is at %d, above at %d", offset, unsafe.Offsetof(waitedRW.above))
	}
	before := atomic.LoadUint32(&waitedRW.n)
	if before != 0 || waitedRW.above != 0 {
		t.Fatalf("%d waiters and %#x before the test", before, waitedRW.above)
	}
	const goroutines, rounds = 8, 10_000
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				countWaitersRW(1)
				if above := atomic.LoadInt32(&waitedRW.above); above < maxReaders {
					t.Errorf("above is %#x while somebody waits", above)
					return
				}
				countWaitersRW(-1)
			}
		})
	}
	wg.Wait()
	if waitedRW.n != 0 || waitedRW.above != 0 {
		t.Errorf("%d waiters and %#x when all have gone", waitedRW.n, waitedRW.above)
	}
}
