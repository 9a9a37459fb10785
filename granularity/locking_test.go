package granularity

import (
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A first task that takes long by chance, while locks are cheap, causes all tasks of its site to
// be locked. This ends when the others show that locks cost more than allowed.
func TestLocksThatWereCheapByChanceEnd(t *testing.T) {
	r := NewRecorder()
	s := r.site(&siteKey{name: "blocks"})
	long, short := r.base.FromNS(int64(20*time.Millisecond)), r.base.FromNS(int64(200*time.Microsecond))
	f := &frame{site: s, lock: lockFirst}
	r.locked.Add(1)
	if f.lockEnds(r, long, 3); s.mode.Load() != allLocked {
		t.Fatalf("after one that took 20 ms and let others run three times, the mode is %d", s.mode.Load())
	}
	n := 0
	for ; s.mode.Load() == allLocked && n < 100; n++ {
		f.lock = lockCheap
		r.locked.Add(1)
		f.lockEnds(r, short, 3)
	}
	if s.mode.Load() != sampleLocked || n > 20 {
		t.Errorf("after %d of 0.2 ms that let others run three times, the mode is %d", n, s.mode.Load())
	}
	if r.locked.Load() != 0 {
		t.Errorf("%d tasks are locked", r.locked.Load())
	}
}

// A site whose first tasks compute for long, and are preempted, keeps its locks.
func TestLongTasksStayLocked(t *testing.T) {
	r := NewRecorder()
	s := r.site(&siteKey{name: "computes"})
	wall := r.base.FromNS(int64(2 * time.Second))
	for i := range 50 {
		f := &frame{site: s, lock: lockCheap}
		if i < firstOnes {
			f.lock = lockFirst
		}
		r.locked.Add(1)
		if f.lockEnds(r, wall, 200); s.mode.Load() != allLocked {
			t.Fatalf("after %d of 2 s that were preempted 200 times, the mode is %d", i+1, s.mode.Load())
		}
	}
}

// Where a long task was preempted, short ones are not locked for long: locking them costs too much.
func TestShortTasksDoNotStayLocked(t *testing.T) {
	r := NewRecorder()
	s := r.site(&siteKey{name: "computes"})
	s.decide(r.base.FromNS(int64(10*time.Millisecond)), 1, true, true)
	for range 5 {
		f := &frame{site: s, lock: lockCheap}
		r.locked.Add(1)
		f.lockEnds(r, r.base.FromNS(int64(time.Microsecond)), 0)
	}
	if s.mode.Load() != sampleLocked {
		t.Errorf("after tasks of 1 µs, the mode is %d", s.mode.Load())
	}
}

// Where a task was preempted once, those that do not block are locked at most every 10 µs, not all.
func TestTasksThatDoNotBlockAreRarelySampled(t *testing.T) {
	if cycles.Default(); !cycles.TurnsKnown() || cycles.Coroutines() {
		t.Skip("all tasks are locked here, or none")
	}
	r := NewRecorder()
	r.began.tick -= r.base.FromNS(int64(time.Hour)) // so that samples are affordable
	s := r.site(&siteKey{name: "computes"})
	s.decide(1, 1, false, false)
	from, samples := cycles.Ticks(), int64(0)
	for range 10_000 {
		var x execution
		x.begin(s, nil)
		if sh := x.shadow; sh.root.lock == lockSample {
			samples++
		}
		x.end()
	}
	each := lockBudget * r.base.FromNS(int64(lockCost))
	if most := (cycles.Ticks()-from)/each + 1; samples == 0 || samples > most {
		t.Errorf("%d of 10,000 were locked, want 1 to %d", samples, most)
	}
}
