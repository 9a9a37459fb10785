package contention

import (
	"sync"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// RWMutex is a [sync.RWMutex] that records, while collection is on, who waited for it and which
// writers and readers held it during the wait. The zero value is an unlocked mutex. It must not be
// copied after first use, which go vet checks. It has the methods, the fatal errors and the memory
// model of sync.RWMutex.
//
// All readers that a writer waits for share the blame equally while they hold the lock together. If
// a reader waits although only readers hold the lock, these and the pending writer have equal
// shares of the blame. An Unlock admits all waiting readers before the next writer, which blames
// them from then on.
//
// An RWMutex is 40 bytes on 64-bit machines. RLock and RUnlock cost as much as those of
// sync.RWMutex, also with many readers in parallel, whether collection is on or off.
type RWMutex struct {
	tracker[wordRWMutex]
}

// NewRWMutex returns a lock with the given name, which may be empty. Its class in a [Profile] is
// the place where it was made. NewRWMutex takes about 1 µs and 2 kB.
func NewRWMutex(name string) *RWMutex {
	rw := new(RWMutex)
	rw.created(name)
	return rw
}

// SetName gives the lock a name for profiles. It may be called at any time.
func (rw *RWMutex) SetName(name string) { rw.setName(name) }

// Lock locks rw for writing. If the lock is already locked for reading or writing,
// Lock blocks until it is available, and the wait is recorded if collection is on.
func (rw *RWMutex) Lock() {
	if rw.mu.writers.TryLock() {
		if rw.mu.replace(0, -oneWriter) {
			rw.mu.raceWriterIn()
			return
		}
		rw.mu.writers.Unlock()
	}
	rw.lockMore()
}

// lockMore continues Lock if there are readers, other writers or waiters.
func (rw *RWMutex) lockMore() { rw.lockSlow(rw.mu.TryLock(), 0) }

// Unlock unlocks rw for writing. It is a fatal error if rw is not locked for
// writing. The blame goes to the call chain of the Unlock.
func (rw *RWMutex) Unlock() {
	race.Release(unsafe.Pointer(&rw.mu.Word))
	if rw.mu.replace(-oneWriter, 0) {
		rw.mu.writers.Unlock()
		return
	}
	rw.unlockMore()
}

// unlockMore continues Unlock if goroutines wait or rw is not locked.
func (rw *RWMutex) unlockMore() {
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
	// The inliner counts calls that do nothing, so they are guarded by a constant.
	if race.Enabled {
		race.Disable()
	}
	c := rw.mu.Word.Add(1)
	if race.Enabled {
		race.Enable()
	}
	if c < 0 {
		rw.rlockMore(c)
	}
	if race.Enabled {
		race.Acquire(unsafe.Pointer(&rw.mu.Word))
	}
}

// rlockMore continues RLock after the word was raised to c, because there is a writer or a waiter.
func (rw *RWMutex) rlockMore(c int64) {
	if written(c) {
		rw.rlockWait(0, rw.enter)
	} else if rw.waiters.Load() != 0 {
		rw.readerIn()
	}
}

func (rw *RWMutex) enter() { rw.mu.blocking().enter() }

// RUnlock undoes a single RLock call; it does not affect other readers. It is a
// fatal error if rw is not locked for reading. The blame goes to the call chain of
// the RUnlock.
func (rw *RWMutex) RUnlock() {
	if race.Enabled {
		race.ReleaseMerge(unsafe.Pointer(&rw.mu.gates))
		race.Disable()
	}
	c := rw.mu.Word.Add(-1)
	if race.Enabled {
		race.Enable()
	}
	if c < 0 {
		rw.runlockMore(c)
	}
}

// runlockMore continues RUnlock after the word was lowered to c. A writer that waits for this
// reader continues to wait until left is called. If no writer has announced itself, a waiting one
// may have been about to.
//
//go:noinline
func (rw *RWMutex) runlockMore(c int64) {
	var r release
	waiters := rw.waiters.Load() != 0
	if waiters {
		rw.readerLeave(&r)
	}
	rw.mu.left(c)
	if waiters {
		r.finish()
	}
}

// TryLock tries to lock rw for writing and reports whether it succeeded. A failure is not a wait
// and is not recorded.
func (rw *RWMutex) TryLock() bool {
	if !rw.mu.TryLock() {
		return false
	}
	if rw.waiters.Load() != 0 {
		rw.bargedIn()
	}
	return true
}

// TryRLock tries to lock rw for reading and reports whether it succeeded. A failure is not a wait
// and is not recorded.
func (rw *RWMutex) TryRLock() bool {
	if !rw.mu.TryRLock() {
		return false
	}
	if rw.waiters.Load() != 0 {
		rw.readerIn()
	}
	return true
}

// RLocker returns a [sync.Locker] whose Lock and Unlock call rw.RLock and rw.RUnlock.
func (rw *RWMutex) RLocker() sync.Locker { return (*rlocker)(rw) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

func (rw *RWMutex) lockSlow(got bool, flags uint32) {
	if got {
		if rw.waiters.Load() != 0 {
			rw.bargedIn()
		}
		return
	}
	var w wait
	seen := rw.arrive(&w, rw.draw(), kindWriter, flags)
	rw.mu.Lock()
	if seen {
		rw.acquired(&w)
	} else {
		rw.acquiredUnseen(&w)
	}
}

func (rw *RWMutex) unlockSlow() {
	var r release
	rw.leave(&r)
	rw.mu.Unlock()
	r.finish()
}

// rlockWait calls lock, which waits, and records the wait.
func (rw *RWMutex) rlockWait(flags uint32, lock func()) {
	var w wait
	seen := rw.arrive(&w, rw.draw(), kindReader, flags)
	lock()
	if seen {
		rw.readerAcquired(&w)
	} else {
		rw.readerAcquiredUnseen(&w)
	}
}

// reader is a reader that got the lock while a goroutine waited, and the time. Readers that came
// while no goroutine waited are not recorded: like such an owner of a Mutex, they held the lock
// before any present waiter came.
//
// An RUnlock is attributed to a reader of the same goroutine. Without goroutine IDs, readers are
// assumed to leave in the order in which they came. A reader that another goroutine unlocks counts
// as one that came before the wait.
type reader struct {
	g  uint64
	at int64
}

// registerBesideReaders raises the number of waiters. For the first waiter, it clears the readers:
// all came before it, and may have left while no goroutine waited.
func (t *tracker[L]) registerBesideReaders(at int64) {
	st := t.st.Load()
	st.mu.Lock()
	if t.waiters.Load() == 0 {
		st.readers = st.readers[:0]
	}
	t.register(at)
	st.mu.Unlock()
}

// readerIn records that the caller got the lock for reading while a goroutine waits.
func (t *tracker[L]) readerIn() {
	st := t.st.Load()
	g := callstack.Goid()
	st.mu.Lock()
	st.readers = append(st.readers, reader{g, now()})
	st.mu.Unlock()
}

// readerAcquired records that the caller, a registered waiter, got the lock for reading. Readers do
// not delay one another, so the wait is settled at once. The time that this takes does not count as
// held by the reader.
func (t *tracker[L]) readerAcquired(w *wait) {
	st := t.st.Load()
	w.end = now()
	w.over()
	st.mu.Lock()
	w.last = st.seq.Load()
	w.lost = st.lost.Load() - w.lost
	w.waiters = t.waiters.Load()
	if st.granted > w.start {
		w.granted = st.granted
	}
	t.deregister()
	st.mu.Unlock()
	w.record(granted, nil)
	st.sampling.over(w)
	st.sampling.after.Add(min(mostAfter+mostForExit*int64(w.last-w.first), now()-w.end))
	if t.waiters.Load() != 0 { // also if they came while the wait was settled
		t.readerIn()
	}
}

// acquiredUnseen records that the caller got the lock exclusively after a wait that was at most
// timed.
func (t *tracker[L]) acquiredUnseen(w *wait) {
	t.timed(w)
	if t.waiters.Load() != 0 {
		t.bargedIn()
		t.st.Load().pending = w.start
	}
}

// readerAcquiredUnseen is acquiredUnseen for a reader.
func (t *tracker[L]) readerAcquiredUnseen(w *wait) {
	t.timed(w)
	if t.waiters.Load() != 0 {
		t.readerIn()
	}
}

// readerLeave prepares the release by a reader. The reader still holds the lock if a writer is
// pending.
func (t *tracker[L]) readerLeave(r *release) {
	r.released = now()
	st := t.st.Load()
	g := callstack.Goid()
	r.st = st
	st.mu.Lock()
	since := st.forgetReader(g)
	if r.exit, r.chunk = st.next(); r.exit != nil {
		r.exit.shared = true
		r.exit.g = g
		if r.exit.acquired = since; since == 0 {
			r.exit.acquired = st.first.Load()
		}
		r.exit.released = r.released
		r.number = st.publish()
	}
	st.mu.Unlock()
	r.time()
}

// maxStrays is the maximum number of readers kept although a writer holds the lock.
const maxStrays = 64

// forgetStrays clears the readers if there are many while a writer holds the lock: they have left.
// Some may still be about to record that; those that another goroutine unlocked never will.
func (st *state) forgetStrays() {
	if len(st.readers) > maxStrays {
		st.readers = st.readers[:0]
	}
}

// forgetReader removes the reader with goroutine g and returns when it came; 0 if it came before
// any present waiter.
func (st *state) forgetReader(g uint64) int64 {
	found := -1
	for i, r := range st.readers {
		if r.g == g {
			found = i
			if g == 0 {
				break
			}
		}
	}
	if found < 0 {
		return 0
	}
	at := st.readers[found].at
	st.readers = append(st.readers[:found], st.readers[found+1:]...)
	return at
}
