package tracewaits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestTraceRandom: the sums are exact for random events in any order. The total waiting time is
// summed independently.
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
	shared := 0 // readers seen beside the last one
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newScript(t, Options{Goroutines: seed%2 == 0, MaxPairs: 1 + int(seed%40)})
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

// TestRecycledGoroutinesChangeNothing: goroutines that reuse the memory of exited ones give the
// same result as goroutines with memory of their own, whatever locks and windows keep of the
// exited ones.
func TestRecycledGoroutinesChangeNothing(t *testing.T) {
	play := func(seed uint64, opt Options) string {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := newScript(t, opt)
		stacks := []string{mLock + "f:10", mLock + "f:10 < main.h:1", "sync.(*RWMutex).Lock < main.w:10", "sync.(*RWMutex).RLock < main.r:20",
			"runtime.chanrecv1 < main.c:5", "runtime.chanrecv1 < main.f:11", "time.Sleep < main.r:21"}
		waits := []timeline.Wait{timeline.WaitMutex, timeline.WaitMutex, timeline.WaitRWMutexWriter, timeline.WaitRWMutexReader,
			timeline.WaitChanReceive, timeline.WaitChanReceive, timeline.WaitSleep}
		ends := []string{mUnlock + "f:12", mUnlock + "f:12", "sync.(*RWMutex).Unlock < main.w:12", "sync.(*RWMutex).RUnlock < main.r:22",
			"runtime.chansend1 < main.c:7", "runtime.chansend1 < main.f:13"}
		at, next := timeline.Time(1000), int64(100)
		ids := []int64{1, 2, 3, 4, 5, 6}
		for range 500 {
			at += timeline.Time(rng.IntN(20_000))
			k := rng.IntN(len(ids))
			id := ids[k]
			s.g(id)
			switch cur := s.now[id]; {
			case cur.State == timeline.Waiting:
				if by := ids[rng.IntN(len(ids))]; by != id {
					s.g(by)
					cur.Waker, cur.WakerStack = s.gs[by], s.stack(ends[rng.IntN(len(ends))])
				}
				s.to(at, id, timeline.Runnable, cur.Wait, nil)
			case cur.State == timeline.Runnable:
				s.to(at, id, timeline.Running, timeline.WaitNone, nil)
			case rng.IntN(4) == 0: // another one starts in its place
				index := s.gs[id].Index
				s.to(at, id, timeline.NotExist, timeline.WaitNone, nil)
				delete(s.now, id)
				next++
				ids[k] = next
				s.begin(at, next)
				s.gs[next].Index = index
			default:
				i := rng.IntN(len(waits))
				s.to(at, id, timeline.Waiting, waits[i], s.stack(stacks[i]))
			}
		}
		for _, id := range ids { // in order: see script.end
			if s.now[id] != nil {
				s.to(at, id, timeline.Unknown, timeline.WaitNone, nil)
				delete(s.now, id)
			}
		}
		s.end(at)
		var b strings.Builder
		for _, p := range append(s.o.Windows(), s.o.Profile()) {
			b.WriteString(profileText(p))
			for i := range p.Pairs {
				fmt.Fprintln(&b, p.Pairs[i].Running, p.Pairs[i].Runnable, p.Pairs[i].Blocked, len(p.Pairs[i].Roots))
				for _, r := range p.Pairs[i].Roots {
					fmt.Fprintln(&b, party(r.Owner), r.Kind, r.Links, r.Blamed)
				}
			}
		}
		return b.String()
	}
	spare := maxSpare
	defer func() { maxSpare = spare }()
	for seed := range uint64(150 / race.Slowdown) {
		opt := Options{Goroutines: seed%2 == 0, Quick: seed%5 == 4}
		if seed%3 == 0 {
			opt.Window = 300 * time.Microsecond
		}
		maxSpare = 0
		want := play(seed, opt)
		maxSpare = spare
		if got := play(seed, opt); got != want {
			t.Fatalf("seed %d: with the memory of others:\n%.1500s\nwith memory of their own:\n%.1500s", seed, got, want)
		}
	}
}
