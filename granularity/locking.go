package granularity

import (
	"math"
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// Which tasks are locked to their threads.
//
// A goroutine that is locked to its thread can be measured even if it blocks, but then each block
// costs it and the others 15 µs. Tasks that do not block need no lock. So a task is locked only if
//
//   - it has a place in the log, which asks for the cycles of every task; or
//   - tasks of its site have left their threads, and the cost is at most 1 % of the time that they
//     take anyway, as for tasks that compute for long and are preempted; or
//   - tasks of its site have left their threads, and what all such samples have cost so far, and
//     what this one is expected to, is at most 1 % of the time since the recorder was made. There
//     is one such task at a time. It stands for others of its site; or
//   - the runtime does not tell which tasks have left their threads.
//
// A site whose tasks may take longer than longestLocked gets no locks: if one of them blocks all the
// time, the cost would be known too late.

// lockKind says why a goroutine is locked.
type lockKind uint8

const (
	lockLogged lockKind = iota + 1
	lockCheap
	lockSample
)

// lockMode says which tasks of a site are locked.
type lockMode = uint32

const (
	sampleLocked lockMode = iota + 1
	allLocked
	noneLocked
)

const (
	blockCost     = 15 * time.Microsecond // what a block costs a locked task
	lockBudget    = 100                   // the part of the time that locks may cost: 1 %
	longestLocked = 250 * time.Millisecond
)

// lockFor locks the goroutine to its thread if the task is to be.
//
//go:norace
func (f *frame) lockFor(r *Recorder) {
	switch s := f.site; {
	case f.log != nil || !cycles.TurnsKnown():
		f.lock = lockLogged
	case s.mode.Load() == allLocked && r.locked.Add(1) <= 4*int64(runtime.GOMAXPROCS(0)):
		f.lock = lockCheap
	case s.mode.Load() == allLocked:
		r.locked.Add(-1)
		return
	case s.mode.Load() == sampleLocked && r.sample(s):
		f.lock = lockSample
	default:
		return
	}
	f.more = true
	runtime.LockOSThread()
}

// lockEnds takes account of a lock, for a task that took so many ticks and let others run so often.
//
//go:norace
func (f *frame) lockEnds(r *Recorder, wall int64, turns uint8) {
	switch s := f.site; f.lock {
	case lockCheap:
		r.locked.Add(-1)
	case lockSample:
		cost := r.base.FromNS(int64(blockCost))*int64(turns) + max(0, wall-4*s.longest.Load())
		r.spent.Add(cost)
		s.nextSample.Store(cycles.Ticks() + lockBudget*cost*r.blocking.Load())
		r.nextSample.Store(0)
	}
}

// sample reports whether a task of the site that is about to begin is to be locked to its thread.
func (r *Recorder) sample(s *site) bool {
	now, next := cycles.Ticks(), r.nextSample.Load()
	return now >= next && now >= s.nextSample.Load() &&
		lockBudget*(r.spent.Load()+s.cost.Load()) <= now-r.began.tick && r.nextSample.CompareAndSwap(next, math.MaxInt64)
}

// learn takes account of a task of the site that has left its thread. The caller holds the lock of
// the site's cell.
func (s *site) learn(n *note) {
	r := s.rec
	if s.mode.Load() == 0 {
		r.blocking.Add(1)
	}
	wall := max(s.longest.Load(), n.wall)
	cost := max(s.cost.Load(), r.base.FromNS(int64(blockCost))*int64(max(n.turns, 1)))
	s.longest.Store(wall)
	s.cost.Store(cost)
	typical := r.base.FromNS(int64(s.cell.left.wall.Mean()))
	switch {
	case wall > r.base.FromNS(int64(longestLocked)):
		s.mode.Store(noneLocked)
	case lockBudget*cost <= typical:
		s.mode.Store(allLocked)
	default:
		s.mode.Store(sampleLocked)
	}
}
