// Package sync has locks that replace those of package sync: each operation is one or two steps.
package sync

import "model/sched"

// Mutex is a lock without order: any waiter may get it.
type Mutex struct {
	locked  bool
	waiting int
}

func (m *Mutex) Lock() {
	m.waiting++
	sched.Step("Mutex.Lock", func() bool { return !m.locked })
	m.waiting--
	m.locked = true
}

// TryLock may fail while the lock is free and has waiters: the next owner may already be chosen.
func (m *Mutex) TryLock() bool {
	sched.Step("Mutex.TryLock", nil)
	if m.locked || m.waiting > 0 && sched.Choose(2) == 1 {
		return false
	}
	m.locked = true
	return true
}

func (m *Mutex) Unlock() {
	sched.Step("Mutex.Unlock", nil)
	if !m.locked {
		sched.Fail("unlock of an unlocked Mutex")
	}
	m.locked = false
}

// Free reports whether the lock has neither an owner nor waiters.
func (m *Mutex) Free() bool { return !m.locked && m.waiting == 0 }

// RWMutex excludes new readers from the time when a writer waits.
type RWMutex struct {
	readers int
	writer  bool // one holds it, or waits
	held    bool
}

func (rw *RWMutex) RLock() {
	sched.Step("RWMutex.RLock", func() bool { return !rw.writer })
	rw.readers++
}

func (rw *RWMutex) RUnlock() {
	sched.Step("RWMutex.RUnlock", nil)
	if rw.readers--; rw.readers < 0 {
		sched.Fail("RUnlock of an unlocked RWMutex")
	}
}

func (rw *RWMutex) Lock() {
	sched.Step("RWMutex.Lock", func() bool { return !rw.writer })
	rw.writer = true
	sched.Step("RWMutex.Lock waits for readers", func() bool { return rw.readers == 0 })
	rw.held = true
}

func (rw *RWMutex) Unlock() {
	sched.Step("RWMutex.Unlock", nil)
	if !rw.held {
		sched.Fail("unlock of an unlocked RWMutex")
	}
	rw.held, rw.writer = false, false
}

// Busy reports whether the lock has an owner or waiters.
func (rw *RWMutex) Busy() bool { return rw.readers != 0 || rw.writer }

// Pool returns what was put last.
type Pool struct {
	New  func() any
	free []any
}

func (p *Pool) Get() any {
	if n := len(p.free); n > 0 {
		x := p.free[n-1]
		p.free = p.free[:n-1]
		return x
	}
	return p.New()
}

func (p *Pool) Put(x any) {
	for _, y := range p.free {
		if x == y {
			sched.Fail("put twice")
		}
	}
	p.free = append(p.free, x)
}

// Empty drops everything.
func (p *Pool) Empty() { p.free = nil }
