//go:build !race && !purego && go1.26 && !go1.27

package contention

import (
	"sync/atomic"
	"unsafe"
)

// The methods here do what sync.Mutex and sync.RWMutex do when nothing is in the
// way, on the very words that those do it on, so that the compiler can inline them:
// TryLock must look before it compares and swaps, and with a call on top of that an
// uncontended Lock and Unlock would take 1.33 times as long as sync's, not 1.05.
//
// It rests on the layout of the lock in the Go releases named in the build
// constraint, which TestLayout checks; every other release, and the race detector,
// get the methods in fastpath_portable.go. Whatever is not the plain case is left to
// package sync here, too.

// readerCountOffset is where a sync.RWMutex counts its readers; the count is negative
// while a writer is pending.
const readerCountOffset = 16

// Lock locks m. If the lock is already in use, the calling goroutine blocks until
// it is available, and the wait is recorded if collection is on.
func (m *Mutex) Lock() {
	if m.waiters.Load() != 0 || !atomic.CompareAndSwapInt32((*int32)(unsafe.Pointer(m)), 0, 1) {
		m.lockMore()
	}
}

// lockMore is Lock when the lock is in use, or somebody has waited.
func (m *Mutex) lockMore() {
	got := m.mu.TryLock()
	if got && m.waiters.Load() == 0 {
		return
	}
	m.lockSlow(got, 0)
}

// Unlock unlocks m. It is a fatal error if m is not locked. As with sync.Mutex, a
// goroutine may unlock what another has locked; the blame goes to the call chain
// of the Unlock.
func (m *Mutex) Unlock() {
	if m.waiters.Load() != 0 || !atomic.CompareAndSwapInt32((*int32)(unsafe.Pointer(m)), 1, 0) {
		m.unlockSlow()
	}
}

// RLock locks rw for reading. If a writer holds the lock or waits for it, RLock
// blocks, and the wait is recorded if collection is on. As with sync.RWMutex, it
// must not be used for recursive read locking.
func (rw *RWMutex) RLock() {
	if rw.waiters.Load() != 0 || !atomic.CompareAndSwapInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), 0, 1) {
		rw.rlockMore()
	}
}

// rlockMore is RLock when there are other readers, a writer, or waiters.
func (rw *RWMutex) rlockMore() {
	got := rw.mu.TryRLock()
	if got && rw.waiters.Load() == 0 {
		return
	}
	rw.rlockSlow(got, 0)
}
