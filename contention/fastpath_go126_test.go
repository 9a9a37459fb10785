//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"reflect"
	"sync"
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

	var w Mutex
	if unsafe.Offsetof(w.waiters) != lockWord || unsafe.Offsetof(w.mu) != lockWord+4 || uintptr(unsafe.Pointer(&w))%8 != 0 {
		t.Errorf("waiters at %d, lock at %d", unsafe.Offsetof(w.waiters), unsafe.Offsetof(w.mu))
	}
	word := (*uint64)(unsafe.Add(unsafe.Pointer(&w), lockWord))
	w.mu.Lock()
	if *word != locked {
		t.Errorf("locked: %#x", *word)
	}
	w.mu.Unlock()
	w.waiters.Add(1)
	if *word == unlocked || *word == locked {
		t.Error("a waiter does not show")
	}
}
