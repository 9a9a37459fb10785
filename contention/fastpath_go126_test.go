//go:build !race && !purego && go1.26 && !go1.27

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
	if !ok || f.Offset != readerCountOffset {
		t.Fatalf("readerCount of sync.RWMutex is at %d", f.Offset)
	}
	var rw sync.RWMutex
	readers := (*int32)(unsafe.Add(unsafe.Pointer(&rw), readerCountOffset))
	rw.RLock()
	rw.RLock()
	if *readers != 2 {
		t.Errorf("%d readers, want 2", *readers)
	}
	if unsafe.Offsetof(Mutex{}.mu) != 0 || unsafe.Offsetof(RWMutex{}.mu) != 0 {
		t.Error("the lock is not the first field")
	}
}
