//go:build amd64 && !race && !purego && go1.26 && !go1.27

package contention

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The methods here do what sync.Mutex and sync.RWMutex do when nothing is in the
// way, on the very words that those do it on, with as many atomic operations, and
// small enough for the compiler to inline:
//
//   - Lock and Unlock of a Mutex compare and swap the state of the sync.Mutex together with the guard beside
//     it, which is up while there are registered waiters. So that is not even a load.
//   - The writers of a RWMutex look at waitedRW, whether there are waiters at any, which costs no look at their own.
//   - The readers of a RWMutex look at waitedRW. They may do so afterwards: the exit of a
//     reader that leaves before a writer has announced itself need not be there before
//     the lock is free, and one that leaves after that has made the count of readers
//     negative, which it can take back, as the writer cannot go on without it.
//
// A lock that is contended but not recorded has no registered waiters, and takes the
// same path as sync's.
//
// A writer's Unlock and a reader's Lock end in the runtime's semaphores, as there is no
// other way to complete what has been begun. All else is left to package sync.
//
// It rests on the layout of the locks in the Go releases named in the build constraint,
// which TestLayout checks, and on what their words mean. Every other release, and the race
// detector, get the methods in fastpath_portable.go.

const (
	mutexLocked = 1

	// locked is mutexLocked in guard and state taken together.
	locked = mutexLocked << 32

	// maxReaders is what a writer takes off the count of readers.
	maxReaders = 1 << 30

	// Where a RWMutex has the words of its sync.RWMutex.
	writersOffset     = 4 // the state of the sync.Mutex among writers
	readerSemOffset   = 4 + 12
	readerCountOffset = 4 + 16
)

//go:linkname semrelease sync.runtime_Semrelease
func semrelease(s *uint32, handoff bool, skipframes int)

//go:linkname semacquireReader sync.runtime_SemacquireRWMutexR
func semacquireReader(s *uint32, lifo bool, skipframes int)

// Lock locks m. If the lock is already in use, the calling goroutine blocks until
// it is available, and the wait is recorded if collection is on.
func (m *Mutex) Lock() {
	if !atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(m)), 0, locked) {
		m.lockMore()
	}
}

// lockMore is Lock when the lock is in use, or somebody has waited. From here on, all
// hurry is about getting to sleep: see draw.passed.
//
// There is one call of wait, as there is one way from each method to whatever takes its call chain: which
// way was taken would tell chains apart that are the same to the user.
func (m *Mutex) lockMore() {
	if !m.mu.TryLock() {
		if current.Load() != nil {
			m.wait(m.draw(), 0)
			return
		}
		m.mu.Lock()
	}
	if m.waiters.Load() != 0 {
		m.bargedIn()
	}
}

// Unlock unlocks m. It is a fatal error if m is not locked. As with sync.Mutex, a
// goroutine may unlock what another has locked; the blame goes to the call chain
// of the Unlock.
func (m *Mutex) Unlock() {
	if !atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(m)), locked, 0) {
		m.unlockMore()
	}
}

// unlockMore is Unlock when goroutines wait, registered or not, or m is not locked.
func (m *Mutex) unlockMore() {
	if m.waiters.Load() == 0 {
		m.mu.Unlock()
		return
	}
	m.unlockSlow()
}

// waitedRW tells the readers of all locks whether there are registered waiters at any
// RWMutex. It has a cache line of its own, which is hardly ever
// written to. So readers that run in parallel need not touch the memory of their lock
// but once, which is what they spend their time on.
var waitedRW struct {
	_ [64]byte
	n uint32 // how many
	// above is more than any lock's count of readers if n is not 0, and else 0. One comparison with that
	// tells a reader that there are neither waiters nor, as its count is then negative, a writer.
	above int32
	_     [56]byte
}

// countWaitersRW adds to the number of registered waiters at all RWMutexes.
func countWaitersRW(n int32) {
	both := (*uint64)(unsafe.Pointer(&waitedRW.n))
	for {
		old := atomic.LoadUint64(both)
		changed := uint64(uint32(old) + uint32(n))
		if changed != 0 {
			changed |= math.MaxInt32 << 32
		}
		if atomic.CompareAndSwapUint64(both, old, changed) {
			return
		}
	}
}

// Lock locks rw for writing. If the lock is already locked for reading or writing,
// Lock blocks until it is available, and the wait is recorded if collection is on.
func (rw *RWMutex) Lock() {
	ahead := atomic.CompareAndSwapInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), writersOffset)), 0, mutexLocked)
	if ahead && atomic.CompareAndSwapInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), 0, -maxReaders) {
		if waitedRW.n != 0 && rw.waiters.Load() != 0 {
			rw.bargedIn()
		}
		return
	}
	if ahead {
		rw.writers().Unlock()
	}
	rw.lockMore()
}

// lockMore is Lock when there are readers or other writers.
func (rw *RWMutex) lockMore() {
	got := rw.mu.TryLock()
	if got && rw.waiters.Load() == 0 {
		return
	}
	rw.lockSlow(got, 0)
}

// writers is the mutex among the writers.
func (rw *RWMutex) writers() *sync.Mutex {
	return (*sync.Mutex)(unsafe.Add(unsafe.Pointer(rw), writersOffset))
}

// Unlock unlocks rw for writing. It is a fatal error if rw is not locked for
// writing. The blame goes to the call chain of the Unlock.
func (rw *RWMutex) Unlock() {
	if waitedRW.n != 0 && rw.waiters.Load() != 0 {
		rw.unlockSlow()
		return
	}
	if r := atomic.AddInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), maxReaders); r != 0 {
		rw.admit(r)
	}
	rw.writers().Unlock()
}

// admit lets in the readers that have waited for a writer, which has told so by raising the count of readers to r.
func (rw *RWMutex) admit(r int32) {
	if r >= maxReaders {
		new(sync.RWMutex).Unlock() // sync's fatal error
	}
	for range r {
		semrelease((*uint32)(unsafe.Add(unsafe.Pointer(rw), readerSemOffset)), false, 1)
	}
}

// RLock locks rw for reading. If a writer holds the lock or waits for it, RLock
// blocks, and the wait is recorded if collection is on. As with sync.RWMutex, it
// must not be used for recursive read locking.
func (rw *RWMutex) RLock() {
	if c := atomic.AddInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), 1); c < waitedRW.above {
		rw.rlockMore(c)
	}
}

// rlockMore is RLock when there are waiters at some RWMutex, or a writer at this one:
// then c, the count of readers, is negative.
func (rw *RWMutex) rlockMore(c int32) {
	if c >= 0 {
		if rw.waiters.Load() != 0 {
			rw.readerIn()
		}
		return
	}
	sema := (*uint32)(unsafe.Add(unsafe.Pointer(rw), readerSemOffset))
	var w wait
	seen := rw.arrive(&w, rw.draw(), kindReader, 0)
	semacquireReader(sema, false, 1)
	if seen {
		rw.readerAcquired(&w)
	} else {
		rw.readerAcquiredUnseen(&w)
	}
}

// RUnlock undoes a single RLock call; it does not affect other readers. It is a
// fatal error if rw is not locked for reading. The blame goes to the call chain of
// the RUnlock.
func (rw *RWMutex) RUnlock() {
	if c := atomic.AddInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), -1); c < waitedRW.above {
		rw.runlockMore(c)
	}
}

// runlockMore goes on with RUnlock after the count of readers was lowered to c.
//
//go:noinline
func (rw *RWMutex) runlockMore(c int32) {
	if c < 0 {
		// A writer waits, among others for this reader. Only the sign of the count matters until
		// that has told the writer that it leaves, which the following does.
		atomic.AddInt32((*int32)(unsafe.Add(unsafe.Pointer(rw), readerCountOffset)), 1)
	}
	// Else no writer has announced itself, but one that waits may have been about to.
	rw.runlockSlow(c >= 0)
}
