//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"sync/atomic"
	"unsafe"
)

// The methods here do what sync.Mutex and sync.RWMutex do when nothing is in the
// way, on the very words that those do it on, so that the compiler can inline them:
// TryLock must look before it compares and swaps, and with a call on top of that an
// uncontended Lock and Unlock would take 1.33 times as long as sync's instead of 1.02.
//
// The number of waiters and the state of the sync.Mutex share 8 aligned bytes. So one
// compare-and-swap takes or releases the lock and makes sure that nobody waits.
//
// It rests on the layout of the lock in the Go releases named in the build
// constraint, which TestLayout checks; every other release, and the race detector,
// get the methods in fastpath_portable.go. Whatever is not the plain case is left to
// package sync here, too.

const (
	// lockWord is where waiters and then the state of the sync.Mutex are in a Mutex.
	// The state is 0 if it is unlocked and nobody waits, 1 if it is locked and nobody waits.
	lockWord = 8
	unlocked = 0
	locked   = 1 << 32
	// readerCountOffset is where a RWMutex counts its readers; the count is negative
	// while a writer is pending.
	readerCountOffset = 12 + 16
)

// Lock locks m. If the lock is already in use, the calling goroutine blocks until
// it is available, and the wait is recorded if collection is on.
func (m *Mutex) Lock() {
	if !atomic.CompareAndSwapUint64((*uint64)(unsafe.Add(unsafe.Pointer(m), lockWord)), unlocked, locked) {
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
	if !atomic.CompareAndSwapUint64((*uint64)(unsafe.Add(unsafe.Pointer(m), lockWord)), locked, unlocked) {
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

// RUnlock undoes a single RLock call; it does not affect other readers. It is a
// fatal error if rw is not locked for reading. The blame goes to the call chain of
// the RUnlock.
func (rw *RWMutex) RUnlock() {
	// If this succeeds, no writer had come so far that it waited for this reader.
	if !atomic.CompareAndSwapInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), 1, 0) {
		rw.runlockSlow()
	}
}
