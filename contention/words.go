package contention

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// wordMutex and wordRWMutex are the locks under the wrappers.
//
// An uncontended operation must take as long as that of package sync, and must detect waiters to
// record without another access to memory. So each lock has a word of its own. As in package sync,
// an uncontended operation is one atomic instruction on it, which fails if there is more to do.
// Goroutines wait in locks of package sync, through their public methods only.
//
// Fields are exported, since their names are in those of all methods of tracker, in each binary.
//
// A wordMutex is just a word while no goroutine waits for it. From when a goroutine has to wait
// until none does, it is a sync.Mutex:
//
//	0                               free
//	wordLocked                      locked
//	wordQueued + n·inLine + unlocks the lock is Mu, locked or not; n goroutines need this form
//
// Unlock subtracts wordLocked in each form, which is faster than compare-and-swap. In the last
// form, that decrements unlocks, which is raised again when it gets low.
//
// A goroutine that finds the word locked locks Mu on behalf of the owner (a Mutex does not belong
// to a goroutine), and then changes the word; the owner's Unlock sees that, and unlocks Mu. One in
// changeBack owners that leave while n is 0 changes the word back before it unlocks Mu; a lock that
// always has waiters is faster in the last form. So in the first two forms, Mu is locked only by a
// goroutine that is about to unlock it or to change the form. A goroutine that waits in Mu when the
// word is changed back then counts in n, so it loses its place in line at most once.
type wordMutex struct {
	Word atomic.Int32
	Mu   sync.Mutex
}

const (
	wordLocked = 1
	wordQueued = math.MinInt32 // so the word is negative
	inLine     = 64
	// queued is the last form with n = 0 and the maximum of unlocks.
	queued = wordQueued + inLine - 1
	// One in changeBack owners that leave while n is 0 changes the word back.
	changeBack = 64
)

// TryLock tries to lock m.
func (m *wordMutex) TryLock() bool {
	return m.Word.CompareAndSwap(0, wordLocked) || m.tryQueued()
}

func (m *wordMutex) tryQueued() bool {
	if m.Word.Load() >= 0 || !m.Mu.TryLock() {
		return false
	}
	if m.Word.Load() < 0 {
		return true
	}
	m.Mu.Unlock()
	return m.Word.CompareAndSwap(0, wordLocked)
}

// Lock locks m, which was not free when last checked.
func (m *wordMutex) Lock() {
	if m.Word.Load() < 0 {
		m.Mu.Lock()
		if m.Word.Load() < 0 {
			return
		}
		m.Mu.Unlock()
	}
	m.raise()
	m.Mu.Lock()
	m.lower()
}

// raise makes mu the lock, until lower has been called as often as raise.
func (m *wordMutex) raise() {
	for {
		if w := m.Word.Load(); w < 0 {
			if m.Word.CompareAndSwap(w, w+inLine) {
				return
			}
			continue
		}
		m.Mu.Lock()
		for m.Word.Load() >= 0 {
			if m.Word.CompareAndSwap(wordLocked, queued+inLine) {
				return // mu is the owner's now
			}
			if m.Word.CompareAndSwap(0, queued+inLine) {
				m.Mu.Unlock()
				return
			}
		}
		m.Mu.Unlock()
	}
}

// raiseOwn is raise for the owner of the lock. In raise, the owner would wait for itself if another
// goroutine had locked mu on its behalf.
func (m *wordMutex) raiseOwn() {
	for {
		w := m.Word.Load()
		switch {
		case w < 0:
			if m.Word.CompareAndSwap(w, w+inLine) {
				return
			}
		case m.Mu.TryLock(): // no goroutine has locked it for the owner, so the word is unchanged
			m.Word.Store(queued + inLine)
			return
		default:
			runtime.Gosched() // another goroutine is about to lock mu for the owner, or to unlock it
		}
	}
}

func (m *wordMutex) lower() { m.Word.Add(-inLine) }

// Unlock unlocks m.
func (m *wordMutex) Unlock() {
	if w := m.Word.Add(-wordLocked); w != 0 {
		m.unlockQueued(w)
	}
}

// unlockQueued continues Unlock after the word was lowered to w, which is not 0.
func (m *wordMutex) unlockQueued(w int32) {
	switch {
	case w == -wordLocked:
		new(sync.Mutex).Unlock() // sync's fatal error
	case w&^(inLine-1) == wordQueued && rand.Uint32()%changeBack == 0:
		m.Word.CompareAndSwap(w, 0)
	case w&(inLine-1) < inLine/2:
		m.Word.Add(inLine / 2)
	}
	m.Mu.Unlock()
}

// A wordRWMutex does what sync.RWMutex does, with a word that is negative if there is a writer or a
// registered waiter:
//
//	readers - writers·oneWriter - registered·oneRegistered
//
// where writers is at most 1. Readers that wait for a writer are counted as well. Instead of on
// semaphores, goroutines wait in locks of package sync that are held on behalf of others; see
// gates.
type wordRWMutex struct {
	Word    atomic.Int64
	writers sync.Mutex
	gates   atomic.Pointer[gates] // nil until a goroutine waits
}

const (
	oneWriter     = 1 << 32
	oneRegistered = 1 << 40
)

// written reports whether a word has a writer.
func written(word int64) bool { return word>>32&1 != 0 }

// add adds n to the word, without ordering the goroutines for the race detector.
func (rw *wordRWMutex) add(n int64) int64 {
	race.Disable()
	c := rw.Word.Add(n)
	race.Enable()
	return c
}

// replace replaces the word c by by, like add, and reports whether the word was still c.
func (rw *wordRWMutex) replace(c, by int64) bool {
	race.Disable()
	ok := rw.Word.CompareAndSwap(c, by)
	race.Enable()
	return ok
}

// TryLock tries to lock rw for writing.
func (rw *wordRWMutex) TryLock() bool {
	if !rw.writers.TryLock() {
		return false
	}
	for {
		c := rw.Word.Load()
		if uint32(c) != 0 {
			rw.writers.Unlock()
			return false
		}
		if rw.replace(c, c-oneWriter) {
			rw.raceWriterIn()
			return true
		}
	}
}

// Lock locks rw for writing.
func (rw *wordRWMutex) Lock() {
	rw.writers.Lock()
	if n := int32(rw.add(-oneWriter)); n != 0 {
		rw.blocking().outwait(n)
	}
	rw.raceWriterIn()
}

// Unlock unlocks rw for writing.
func (rw *wordRWMutex) Unlock() {
	race.Release(unsafe.Pointer(&rw.Word))
	c := rw.add(oneWriter)
	if !written(c - oneWriter) {
		new(sync.RWMutex).Unlock() // sync's fatal error
	}
	if n := int32(c); n != 0 {
		rw.blocking().admit(int(n))
	}
	rw.writers.Unlock()
}

// TryRLock tries to lock rw for reading.
func (rw *wordRWMutex) TryRLock() bool {
	for {
		c := rw.Word.Load()
		if written(c) {
			return false
		}
		if rw.replace(c, c+1) {
			race.Acquire(unsafe.Pointer(&rw.Word))
			return true
		}
	}
}

// RLock locks rw for reading.
func (rw *wordRWMutex) RLock() {
	if written(rw.add(1)) {
		rw.blocking().enter()
	}
	race.Acquire(unsafe.Pointer(&rw.Word))
}

// RUnlock undoes a single RLock.
func (rw *wordRWMutex) RUnlock() {
	race.ReleaseMerge(unsafe.Pointer(&rw.gates))
	if c := rw.add(-1); c < 0 {
		rw.left(c)
	}
}

// left continues RUnlock after the word was lowered to c, which is negative.
func (rw *wordRWMutex) left(c int64) {
	if uint32(c) == math.MaxUint32 {
		new(sync.RWMutex).RUnlock() // sync's fatal error
	}
	if written(c) {
		rw.blocking().leave()
	}
}

func (rw *wordRWMutex) raise()    { rw.Word.Add(-oneRegistered) }
func (rw *wordRWMutex) raiseOwn() { rw.raise() }
func (rw *wordRWMutex) lower()    { rw.Word.Add(oneRegistered) }

func (rw *wordRWMutex) raceWriterIn() {
	race.Acquire(unsafe.Pointer(&rw.Word))
	race.Acquire(unsafe.Pointer(&rw.gates))
}

// blocking returns the gates of rw, which are made at first use.
func (rw *wordRWMutex) blocking() *gates {
	if g := rw.gates.Load(); g != nil {
		return g
	}
	rw.gates.CompareAndSwap(nil, new(gates))
	return rw.gates.Load()
}

// gates has the locks in which the readers and the writer of a wordRWMutex wait.
type gates struct {
	// leaving is the number of readers that the pending writer waits for, and turn is locked for
	// reading on their behalf. Until the writer has added their number, leaving is negative.
	leaving atomic.Int32
	turn    sync.RWMutex

	mu       sync.Mutex
	gate     *gate // what readers wait for; nil if no reader waits
	waiting  int32 // number of readers that wait for it
	admitted int32 // readers that were admitted before they came to wait
}

// gate is locked for writing, on behalf of a writer, while readers wait for it.
type gate struct {
	sync.RWMutex
	inside atomic.Int32 // readers that have not passed yet
}

// unusedGates has the gates that all readers have passed, for reuse.
var unusedGates = sync.Pool{New: func() any { return new(gate) }}

// enter waits until a writer admits the caller.
func (g *gates) enter() {
	g.mu.Lock()
	if g.admitted > 0 {
		g.admitted--
		g.mu.Unlock()
		return
	}
	if g.gate == nil {
		g.gate = unusedGates.Get().(*gate)
		g.gate.Lock()
	}
	mine := g.gate
	g.waiting++
	g.mu.Unlock()
	mine.RLock()
	mine.RUnlock() //lint:ignore SA2001 it waits for the gate
	if mine.inside.Add(-1) == 0 {
		unusedGates.Put(mine)
	}
}

// admit admits n readers.
func (g *gates) admit(n int) {
	g.mu.Lock()
	open := g.gate
	g.admitted += int32(n) - g.waiting
	if open != nil {
		open.inside.Store(g.waiting)
	}
	g.gate, g.waiting = nil, 0
	g.mu.Unlock()
	if open != nil {
		open.Unlock()
	}
}

// outwait waits until n readers have left.
func (g *gates) outwait(n int32) {
	g.turn.RLock()
	if g.leaving.Add(n) == 0 {
		g.turn.RUnlock()
		return
	}
	g.turn.Lock()
	g.turn.Unlock() //lint:ignore SA2001 it waits for the last reader
}

// leave notes that a reader has left that a writer waits for.
func (g *gates) leave() {
	if g.leaving.Add(-1) == 0 {
		g.turn.RUnlock()
	}
}
