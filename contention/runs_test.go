package contention

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// runOf has the caller take a lock n times while a waiter sleeps, by the clock of a bubble. hold
// returns for the i-th time the length of the hold and which of two call chains has it; free
// returns the time until the next hold. runOf returns the profile, the time for which the two
// blocked the waiter, the time for which the lock was free, and the number of holds that were seen.
func runOf(o Options, n int, hold func(i int) (d time.Duration, second bool), free func(i int) time.Duration) (p *Profile, held [2]time.Duration, idle time.Duration, seen uint64) {
	Start(o)
	var m Mutex
	var w wait
	m.arrive(&w, always, kindMutex, 0)
	for i := range n {
		d, second := hold(i)
		if second {
			holdSecond(&m, d)
			held[1] += d
		} else {
			holdFirst(&m, d)
			held[0] += d
		}
		f := free(i)
		time.Sleep(f)
		idle += f
	}
	m.mu.Lock() // as the waiter does
	m.acquired(&w)
	m.Unlock()
	Stop()
	st := m.st.Load()
	return Snapshot(), held, idle, st.seq.Load() + st.extended.Load()
}

//go:noinline
func holdFirst(m *Mutex, d time.Duration) {
	m.Lock()
	time.Sleep(d)
	m.Unlock()
}

//go:noinline
func holdSecond(m *Mutex, d time.Duration) {
	m.Lock()
	time.Sleep(d)
	m.Unlock()
}

// blamedOn returns the estimates for holdFirst and holdSecond.
func blamedOn(p *Profile) (blamed, stdErr [2]time.Duration) {
	for _, q := range p.Pairs {
		i := 0
		if q.Owner.Stack.Frames[0].Func == "github.com/bottleneck-go/bottleneck/contention.holdSecond" {
			i = 1
		}
		blamed[i] += q.Blamed
		stdErr[i] = bothErrors(stdErr[i], q.StdErr)
	}
	return blamed, stdErr
}

// In a run of short holds, few are seen. The blame of their owner is the time for which it held
// the lock: in the mean of many runs, and within the stated interval in 90 %.
func TestRunsOfShortHolds(t *testing.T) {
	if callstack.Goid() == 0 {
		t.Skip("no goroutine ids: all holds are seen")
	}
	const n = 2000
	runs := 40
	if race.Enabled { // everything is 20 times slower
		runs = 10
	}
	rng := rand.New(rand.NewPCG(3, 4))
	about := func(ns float64) time.Duration { return 1 + time.Duration(ns*rng.ExpFloat64()) }
	for _, c := range []struct {
		name   string
		hold   func(i int) (time.Duration, bool)
		free   func(i int) time.Duration
		mostly float64 // minimum part of the holds that is not seen
	}{
		{"all alike", func(int) (time.Duration, bool) { return 50, false }, func(int) time.Duration { return 30 }, 0.9},
		{"random", func(int) (time.Duration, bool) { return about(50), false }, func(int) time.Duration { return about(100) }, 0.9},
		{"one in 1000 is of 40 µs", func(i int) (time.Duration, bool) {
			if rng.IntN(1000) == 0 {
				return 40_000, false
			}
			return about(50), false
		}, func(int) time.Duration { return about(20) }, 0.8},
		{"one in 1000 goes on for 40 µs without the lock", func(i int) (time.Duration, bool) { return about(50), false }, func(int) time.Duration {
			if rng.IntN(1000) == 0 {
				return 40_000
			}
			return about(20)
		}, 0.8},
		{"two alternating call chains", func(i int) (time.Duration, bool) { return about(50 + 500*float64(i%2)), i%2 == 1 }, func(int) time.Duration { return about(20) }, 0},
		{"of 2 µs", func(int) (time.Duration, bool) { return about(2000), false }, func(int) time.Duration { return about(100) }, 0.7},
		{"of 3 µs", func(int) (time.Duration, bool) { return 3000, false }, func(int) time.Duration { return about(100) }, 0.5},
		{"long holds", func(i int) (time.Duration, bool) { return 4500, false }, func(int) time.Duration { return about(20) }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			within, stated := 0, 0
			var sum, square, truth, all, unknown float64
			var seen uint64
			for range runs {
				p, held, idle, k := runOf(Options{}, n, c.hold, c.free)
				checkConservation(t, p)
				seen += k
				waited, blamed, handOff, unattributed := totals(p)
				off := waited - held[0] - held[1] - idle
				if off.Abs() > 2 || blamed+handOff+unattributed != waited {
					t.Fatalf("%s: waited %v for holds of %v and %v and %v without; unattributed %v", c.name, waited, held[0], held[1], idle, unattributed)
				}
				b, e := blamedOn(p)
				for i := range b {
					if held[i] == 0 {
						continue
					}
					stated++
					if off := b[i] - held[i]; off.Abs() <= time.Duration(1.96*float64(e[i]))+time.Duration(k) { // each reading of our clock is odd
						within++
					}
				}
				z := float64(b[0] - held[0])
				sum += z
				square += z * z
				truth += float64(held[0])
				all += float64(waited)
				unknown += float64(unattributed)
			}
			t.Logf("%s: %d of %d intervals hold the truth, the mean is %+.2f %% off, each by %.2f %%; %.2f %% of the time is unattributed; %.1f %% of the holds were seen",
				c.name, within, stated, 100*sum/truth, 100*math.Sqrt(square*float64(runs))/truth, 100*unknown/all, 100*float64(seen)/float64(runs*n))
			if float64(within) < 0.9*float64(stated) {
				t.Errorf("%s: %d of %d intervals hold the truth", c.name, within, stated)
			}
			if noise := 3*math.Sqrt(square) + 0.005*truth; sum > noise || sum < -noise-unknown {
				t.Errorf("%s: the mean is %+.2f %% off", c.name, 100*sum/truth)
			}
			if part := 1 - float64(seen)/float64(runs*n); part < c.mostly || c.mostly == 0 && part > 0.01 {
				t.Errorf("%s: %.1f %% of the holds were not seen", c.name, 100*part)
			}
		})
	}
}

// A waiter that arrives during an unseen hold and an owner that overtakes it are seen. Their hold
// and wait times are exact.
func TestRunsEndWithAnotherGoroutine(t *testing.T) {
	if callstack.Goid() == 0 {
		t.Skip("no goroutine ids: all holds are seen")
	}
	for _, another := range []string{"waiter", "owner"} {
		synctest.Test(t, func(t *testing.T) {
			Start(Options{})
			var m Mutex
			var first, second wait
			m.arrive(&first, always, kindMutex, 0)
			for i := range 1000 {
				m.Lock()
				time.Sleep(50 * time.Nanosecond)
				if i < 500 || m.st.Load().since != unseen {
					m.Unlock()
					continue
				}
				if another == "waiter" {
					m.arrive(&second, always, kindMutex, 0)
					time.Sleep(time.Millisecond)
					m.Unlock()
				} else {
					m.Unlock()
					done := make(chan bool)
					go func() {
						holdSecond(&m, time.Millisecond)
						close(done)
					}()
					<-done
				}
				break
			}
			st := m.st.Load()
			if st.run.passing || st.run.left != 0 {
				t.Errorf("%s: the run continues: %+v", another, st.run)
			}
			for _, w := range []*wait{&second, &first} {
				if w.account != nil {
					m.mu.Lock()
					m.acquired(w)
					m.Unlock()
				}
			}
			Stop()
			p := Snapshot()
			checkConservation(t, p)
			blamed, _ := blamedOn(p)
			// The second waiter lost only that millisecond, and the first one also the
			// short holds.
			if another == "waiter" && (blamed[0]-p.Waits[0].Waited-time.Millisecond).Abs() > 50 {
				t.Errorf("blamed %v, waited %v", blamed[0], p.Waits[0].Waited)
			}
			if another == "owner" && (blamed[1]-time.Millisecond).Abs() > 2 {
				t.Errorf("blamed %v", blamed[1])
			}
		})
	}
}
