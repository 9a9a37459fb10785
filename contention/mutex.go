package contention

// Mutex is a [sync.Mutex] that records, while collection is on, who waited for it and which owners
// held it during the wait. The zero value is an unlocked mutex. It must not be copied after first
// use, which go vet checks. It has the methods, the fatal errors and the memory model of
// sync.Mutex.
//
// A Mutex is 24 bytes on 64-bit machines. An uncontended Lock, Unlock or TryLock costs as much as
// that of sync.Mutex, whether collection is on or off.
type Mutex struct {
	tracker[wordMutex]
}

// NewMutex returns a mutex with the given name, which may be empty. Its class in a [Profile] is the
// place where it was made. NewMutex takes about 1 µs and 2 kB.
func NewMutex(name string) *Mutex {
	m := new(Mutex)
	m.created(name)
	return m
}

// SetName gives the lock a name for profiles. It may be called at any time.
func (m *Mutex) SetName(name string) { m.setName(name) }

// Lock locks m. If the lock is already in use, the calling goroutine blocks until
// it is available, and the wait is recorded if collection is on.
func (m *Mutex) Lock() {
	if !m.mu.Word.CompareAndSwap(0, wordLocked) {
		m.lockMore()
	}
}

// lockMore continues Lock if the lock is in use or goroutines wait.
func (m *Mutex) lockMore() { m.lockSlow(m.mu.tryQueued(), 0) }

// Unlock unlocks m. It is a fatal error if m is not locked. As with sync.Mutex, a goroutine may
// unlock a mutex that another one has locked. The blame goes to the call chain of the Unlock.
func (m *Mutex) Unlock() {
	if w := m.mu.Word.Add(-wordLocked); w != 0 {
		m.unlockMore(w)
	}
}

// unlockMore continues Unlock after the word was lowered to w, because goroutines wait, registered
// or not, or m was not locked.
func (m *Mutex) unlockMore(w int32) {
	// While goroutines wait, the lock is held until unlockQueued.
	if m.waiters.Load() == 0 || w < -wordLocked && m.st.Load().passed() {
		m.mu.unlockQueued(w)
		return
	}
	m.mu.Word.Add(wordLocked) // what unlockSlow subtracts
	m.unlockSlow()
}

// TryLock tries to lock m and reports whether it succeeded. A failure is not a wait and is not
// recorded.
func (m *Mutex) TryLock() bool {
	// A failure only reads the word, as in package sync: a write takes nine times as long.
	return m.mu.Word.Load() != wordLocked && m.tryMore()
}

// tryMore continues TryLock if the lock is free or goroutines wait.
func (m *Mutex) tryMore() bool {
	if m.mu.Word.Load() >= 0 {
		return m.mu.Word.CompareAndSwap(0, wordLocked)
	}
	if !m.mu.tryQueued() {
		return false
	}
	if m.waiters.Load() != 0 {
		m.bargedIn()
	}
	return true
}

// lockSlow locks m if it is not free or there are waiters. If got is set, the caller has the lock
// already.
func (m *Mutex) lockSlow(got bool, flags uint32) {
	if !got {
		if current.Load() != nil {
			m.wait(m.draw(), flags)
			return
		}
		m.mu.Lock()
	}
	if m.waiters.Load() != 0 {
		m.bargedIn()
	}
}

// wait locks m, which is not free, and records the wait.
func (m *Mutex) wait(d draw, flags uint32) {
	var w wait
	seen := m.arrive(&w, d, kindMutex, flags)
	m.mu.Lock()
	if seen {
		m.acquired(&w)
	} else {
		m.acquiredUnseen(&w)
	}
}

// unlockSlow unlocks m if there are registered waiters.
func (m *Mutex) unlockSlow() {
	var r release
	m.leave(&r)
	m.mu.Unlock()
	r.finish()
}
