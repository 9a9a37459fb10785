//lint:file-ignore SA2001 empty critical sections are what is tested

//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
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
	if unsafe.Offsetof(w.guard) != 0 || unsafe.Offsetof(w.mu) != 4 {
		t.Errorf("guard at %d, lock at %d", unsafe.Offsetof(w.guard), unsafe.Offsetof(w.mu))
	}
	both := (*uint64)(unsafe.Pointer(&w))
	w.mu.Lock()
	if *both != locked {
		t.Errorf("locked: %#x", *both)
	}
	w.Unlock()
	w.register(w.state())
	if *both == 0 {
		t.Error("a waiter does not show")
	}
	w.deregister(w.state())
	if *both != 0 {
		t.Error("a waiter shows that is not there")
	}
}

// Unlock releases the lock although the guard is still or already up, and there is nobody.
func TestUnlockInBetween(t *testing.T) {
	var m Mutex
	m.Lock()
	m.guard = guardUp
	m.Unlock()
	if m.guard = 0; !m.TryLock() {
		t.Error("still locked")
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
