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
// costs it and the others 15 µs. So a task is locked only if
//
//   - it is in the log, or the runtime does not show which tasks have left their threads; or
//   - it is one of the first of its site: a program may have few tasks, which are preempted. The
//     cost of these locks decides about the others; or
//   - tasks of its site leave their threads, and locks cost at most 1 % of their time; or
//   - tasks of its site leave their threads, and such samples, one at a time, have cost at most 1 %
//     of the time since the recorder was created.
//
// A site whose tasks may take longer than longestLocked gets no locks, unless its first tasks have
// shown what a lock costs.

// lockKind is the reason why a goroutine is locked.
type lockKind uint8

const (
	lockLogged lockKind = iota + 1
	lockFirst
	lockCheap
	lockSample
)

// lockMode determines which tasks of a site are locked.
type lockMode = uint32

const (
	firstLocked lockMode = iota + 1
	sampleLocked
	allLocked
	noneLocked
)

const (
	blockCost     = 15 * time.Microsecond // cost of a block in a locked task
	lockBudget    = 100                   // inverse of the part of the time that locks may cost: 1 %
	longestLocked = 250 * time.Millisecond

	firstOnes = 4                     // number of tasks of each site that are locked at first
	lockCost  = 100 * time.Nanosecond // least cost of a locked task, even if it does not block
)

// lockFor locks the goroutine to its thread if the task should be locked, other than as a sample.
//
//go:norace
func (f *frame) lockFor(r *Recorder) {
	switch s := f.site; {
	case f.log != nil || !cycles.TurnsKnown():
		f.lockAs(lockLogged)
	case s.mode.Load() == firstLocked:
		if s.begun.Add(1) > firstOnes {
			s.mode.CompareAndSwap(firstLocked, 0)
			return
		}
		if !r.mayLock() {
			return
		}
		f.lockAs(lockFirst)
		f.switches = cycles.Switches()
	case s.mode.Load() == allLocked && r.mayLock():
		f.lockAs(lockCheap)
	}
}

// lockAs locks the goroutine to its thread.
//
//go:norace
func (f *frame) lockAs(kind lockKind) {
	f.lock, f.more = kind, true
	runtime.LockOSThread()
}

// mayLock reports whether one more task may be locked to its thread, and counts the task.
//
//go:norace
func (r *Recorder) mayLock() bool {
	if r.locked.Add(1) <= 4*int64(runtime.GOMAXPROCS(0)) {
		return true
	}
	r.locked.Add(-1)
	return false
}

// gaveWay returns how often a locked task that is about to end let others run: the bits of the
// runtime's count, or the system's count, which does not wrap.
//
//go:norace
func (f *frame) gaveWay(turns uint8) int64 {
	if f.lock == lockFirst && turns > 0 {
		return max(int64(turns), cycles.Switches()-f.switches)
	}
	return int64(turns)
}

// lockEnds records the end of a lock on a task that took wall ticks and let others run turns times.
// The sums decide again whether locks are cheap.
//
//go:norace
func (f *frame) lockEnds(r *Recorder, wall, turns int64) {
	cost := max(r.base.FromNS(int64(blockCost))*turns, r.base.FromNS(int64(lockCost)))
	switch s := f.site; f.lock {
	case lockFirst, lockCheap:
		r.locked.Add(-1)
		if turns > 0 || f.lock == lockCheap {
			costs, walls := lockBudget*s.costs.Add(cost), s.walls.Add(wall)
			if f.lock == lockFirst || costs > 2*walls {
				s.decide(wall, cost, costs <= walls, true)
			}
		}
	case lockSample:
		cost = max(cost, wall-4*s.usual())
		r.spent.Add(cost)
		s.nextSample.Store(cycles.Ticks() + lockBudget*cost*r.blocking.Load())
		r.nextSample.Store(0)
	}
}

// usual returns the mean time of the tasks that have left their threads, in ticks.
func (s *site) usual() int64 {
	s.cell.mu.Lock()
	defer s.cell.mu.Unlock()
	if s.cell.left == nil {
		return s.longest.Load()
	}
	return s.rec.base.FromNS(int64(s.cell.left.wall.Mean()))
}

// sample reports whether a task of the site that begins now should be locked to its thread.
//
//go:norace
func (r *Recorder) sample(s *site, now int64) bool {
	if now < s.nextSample.Load() {
		return false
	}
	if affordable := r.began.tick + lockBudget*(r.spent.Load()+s.cost.Load()); now < affordable {
		s.nextSample.Store(affordable)
		return false
	}
	next := r.nextSample.Load()
	return now >= next && r.nextSample.CompareAndSwap(next, math.MaxInt64)
}

// learn records tasks of the site that have left their threads: the longest took wall ticks, and
// one let others run turns times. The caller holds the lock of the site's cell.
func (s *site) learn(wall int64, turns uint8) {
	r := s.rec
	cost := max(s.cost.Load(), r.base.FromNS(int64(blockCost))*int64(max(turns, 1)))
	s.decide(wall, cost, lockBudget*cost <= r.base.FromNS(int64(s.cell.left.wall.Mean())), false)
}

// decide chooses which tasks of the site are locked, after a task that took wall ticks and whose
// lock costs cost ticks. cheap: that is little. sure: it was counted in a locked task.
//
//go:norace
func (s *site) decide(wall, cost int64, cheap, sure bool) {
	r := s.rec
	was := s.mode.Load()
	if was == 0 || was == firstLocked {
		r.blocking.Add(1)
	}
	longest := s.longest.Load()
	if wall > longest { // storing is not cheap
		longest = wall
		s.longest.Store(wall)
	}
	if cost > s.cost.Load() {
		s.cost.Store(cost)
	}
	mode, long := sampleLocked, longest > r.base.FromNS(int64(longestLocked))
	switch {
	case cheap && (sure || was == allLocked || !long):
		mode = allLocked
	case long:
		mode = noneLocked
	}
	if mode != was {
		s.mode.Store(mode)
	}
}
