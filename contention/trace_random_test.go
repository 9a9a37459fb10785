package contention

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestTraceRandom: whatever happens, in whatever order, the sums are exact. The total of what was waited is
// added up independently.
func TestTraceRandom(t *testing.T) {
	stacks := []string{
		"", mLock + "f:10", mLock + "g:20", mLock + "f:10 < main.h:1", "sync.(*Mutex).Lock < sync.(*RWMutex).Lock < main.w:10",
		"sync.(*RWMutex).Lock < main.w:10", "sync.(*RWMutex).RLock < main.r:20", "sync.(*Cond).Wait < main.c:5",
		mUnlock + "f:12", mUnlock + "g:22", "sync.(*RWMutex).Unlock < main.w:12", "sync.(*RWMutex).RUnlock < main.r:22", "time.Sleep < main.r:21",
		"sync.(*Mutex).Unlock < sync.(*RWMutex).Unlock < main.w:12", "sync.(*Mutex).Unlock < sync.(*Cond).Wait < main.c:5",
	}
	waits := []timeline.Wait{timeline.WaitMutex, timeline.WaitMutex, timeline.WaitRWMutexWriter, timeline.WaitRWMutexReader,
		timeline.WaitOnce, timeline.WaitCond, timeline.WaitChanSend, timeline.WaitSleep, timeline.WaitOther}
	states := []timeline.State{timeline.Running, timeline.Running, timeline.Runnable, timeline.Runnable, timeline.Waiting, timeline.Syscall}
	shared := 0 // readers that were seen beside the last one
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newScript(t, TraceOptions{Goroutines: seed%2 == 0, MaxPairs: 1 + int(seed%40)})
		var sum timeline.Time
		pending := map[int64]timeline.Time{} // by goroutine: its wait, until it runs
		at := timeline.Time(0)
		for range 400 {
			at += timeline.Time(rng.IntN(30_000))
			id := 1 + rng.Int64N(6)
			s.g(id)
			cur, to := s.now[id], states[rng.IntN(len(states))]
			switch {
			case cur.State == timeline.Waiting:
				pending[id] = at - cur.Start
				if by := rng.Int64N(7); by != 0 && by != id {
					s.g(by)
					cur.Waker, cur.WakerStack = s.gs[by], s.stack(stacks[rng.IntN(len(stacks))])
				}
				if to == timeline.Waiting {
					to = timeline.Runnable
				}
				if active(to) {
					sum += pending[id]
					delete(pending, id)
				}
			case cur.State == timeline.Runnable:
				if to = timeline.Running; pending[id] != 0 {
					sum += pending[id] + at - cur.Start
					delete(pending, id)
				}
			}
			s.to(at, id, to, waits[rng.IntN(len(waits))], s.stack(stacks[rng.IntN(len(stacks))]))
		}
		s.end(at)
		for k := range s.o.rows.rows {
			for _, h := range k.lock.root().history {
				shared += len(h.with)
			}
		}
		p := s.o.Profile()
		checkConservation(t, p)
		waited, _, _, _ := totals(p)
		for i := range p.Waits {
			waited += p.Waits[i].Ready
		}
		if waited != time.Duration(sum) {
			t.Fatalf("seed %d: waited %v, want %v", seed, waited, time.Duration(sum))
		}
	}
	if shared == 0 {
		t.Error("no readers share a hold: nothing is tested of that")
	}
}
