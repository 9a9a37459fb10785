//go:build unix

package contention

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// TryLock only reads a lock in use, as in package sync. Here the lock is in read-only memory.
func TestTryLockOfALockInUseWritesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("a fault within the race detector cannot be recovered from")
	}
	type locks struct {
		free, locked, queued Mutex
		writing              RWMutex
	}
	page, err := syscall.Mmap(-1, 0, syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	l := (*locks)(unsafe.Pointer(&page[0]))
	l.locked.Lock()
	l.queued.Lock()
	l.queued.mu.raiseOwn()
	l.writing.Lock()
	if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	wrote := func(f func() bool) (did bool) {
		defer func() { did = did || recover() != nil }()
		if f() {
			t.Error("a lock in use was locked")
		}
		return false
	}
	for name, f := range map[string]func() bool{
		"TryLock, locked": l.locked.TryLock, "TryLock, goroutines wait": l.queued.TryLock,
		"RWMutex.TryLock, a writer": l.writing.TryLock, "RWMutex.TryRLock, a writer": l.writing.TryRLock,
	} {
		if wrote(f) {
			t.Errorf("%s: wrote", name)
		}
	}
	if !wrote(l.free.TryLock) { // otherwise the test shows nothing
		t.Error("a free lock was locked without writing")
	}
}
