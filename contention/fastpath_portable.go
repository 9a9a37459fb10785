//go:build !amd64 || race || purego || !go1.26 || go1.27

package contention

// countWaitersRW does nothing: the methods here look at the lock itself.
func countWaitersRW(int32) {}

// Lock locks m. If the lock is already in use, the calling goroutine blocks until
// it is available, and the wait is recorded if collection is on.
func (m *Mutex) Lock() {
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
	if m.waiters.Load() == 0 {
		m.mu.Unlock()
		return
	}
	m.unlockSlow()
}

// Lock locks rw for writing. If the lock is already locked for reading or writing,
// Lock blocks until it is available, and the wait is recorded if collection is on.
func (rw *RWMutex) Lock() {
	got := rw.mu.TryLock()
	if got && rw.waiters.Load() == 0 {
		return
	}
	rw.lockSlow(got, 0)
}

// Unlock unlocks rw for writing. It is a fatal error if rw is not locked for
// writing. The blame goes to the call chain of the Unlock.
func (rw *RWMutex) Unlock() {
	if rw.waiters.Load() == 0 {
		rw.mu.Unlock()
		return
	}
	rw.unlockSlow()
}

// RLock locks rw for reading. If a writer holds the lock or waits for it, RLock
// blocks, and the wait is recorded if collection is on. As with sync.RWMutex, it
// must not be used for recursive read locking.
func (rw *RWMutex) RLock() {
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
	if rw.waiters.Load() == 0 {
		rw.mu.RUnlock()
		return
	}
	rw.runlockSlow(false)
}
