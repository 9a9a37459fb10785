package main

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// waitPrograms are goroutines that only hold a lock, one after another.
var waitPrograms = []struct {
	hold       time.Duration
	goroutines int
}{
	{10 * time.Microsecond, 64},
	{2 * time.Microsecond, 64},
	{2 * time.Microsecond, 8},
	{time.Millisecond, 64},
	{50 * time.Nanosecond, 64},
	{50 * time.Nanosecond, 8},
}

// measureWaits compares the waiting for the lock in the profile with the log of the goroutines.
func measureWaits(runs int, length time.Duration) error {
	fmt.Println("waiting in the profile as a share of what the goroutines logged: least, median and most; runs in which the stated 95 % interval has it;")
	fmt.Println("waits; the part that was drawn; and of the waiting, that without a waiter's call chain, and what else is unattributed")
	for _, w := range waitPrograms {
		var ratios, counts, recorded, unknown, unattributed []float64
		within := 0
		for range runs {
			var mu contention.Mutex
			if err := contention.Start(contention.Options{}); err != nil {
				return err
			}
			logged := logWaits(&mu, w.goroutines, w.hold, length)
			if err := contention.Stop(); err != nil {
				return err
			}
			var waited, none, unattributedTime time.Duration
			var count, observed int64
			var square float64
			for _, r := range contention.Snapshot().Waits {
				waited += r.Waited
				square += float64(r.StdErr) * float64(r.StdErr)
				count += r.Contentions
				observed += r.Observed
				if r.Waiter.Stack.Frames[0].Func == "[not sampled]" {
					none += r.Waited
				} else {
					unattributedTime += r.Unattributed
				}
			}
			ratios = append(ratios, float64(waited)/float64(max(1, logged)))
			counts = append(counts, float64(count))
			recorded = append(recorded, 100*float64(observed)/float64(max(1, count)))
			unattributed = append(unattributed, 100*float64(unattributedTime)/float64(max(1, waited)))
			unknown = append(unknown, 100*float64(none)/float64(max(1, waited)))
			if off := math.Abs(float64(waited - logged)); off <= 1.96*math.Sqrt(square)+0.01*float64(logged) {
				within++
			}
		}
		for _, x := range [][]float64{ratios, counts, recorded, unknown, unattributed} {
			slices.Sort(x)
		}
		fmt.Printf("%6v by %-3d  %.3f  %.3f  %.3f   %2d of %d   %8.0f  %5.1f %%  %5.1f %%  %5.1f %%\n", w.hold, w.goroutines,
			ratios[0], ratios[runs/2], ratios[runs-1], within, runs, counts[runs/2], recorded[runs/2], unknown[runs/2], unattributed[runs/2])
	}
	return nil
}

// logWaits returns the total time for which the goroutines waited for the lock, by their own
// clocks. Less than a microsecond does not count as a wait, but as the time for reading the clock.
func logWaits(mu *contention.Mutex, goroutines int, hold, length time.Duration) time.Duration {
	var wg sync.WaitGroup
	logged := make([]time.Duration, goroutines)
	end := time.Now().Add(length)
	for i := range goroutines {
		wg.Go(func() {
			var mine time.Duration
			for got := time.Now(); got.Before(end); {
				if mu.TryLock() { // otherwise a goroutine preempted on its way to a free lock would seem to wait
					got = time.Now()
				} else {
					asked := time.Now()
					mu.Lock()
					got = time.Now()
					if d := got.Sub(asked); d > time.Microsecond {
						mine += d
					}
				}
				for time.Since(got) < hold {
				}
				mu.Unlock()
			}
			logged[i] = mine
		})
	}
	wg.Wait()
	var all time.Duration
	for _, d := range logged {
		all += d
	}
	return all
}
