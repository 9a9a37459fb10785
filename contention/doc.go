// Package contention records who waited for a lock, because of whom, and for how long.
//
// [Mutex], [RWMutex] and [Cond] replace the types of package sync. A [Profile] has the call chain
// of each waiter together with those of the owners that held the lock during the wait:
//
//	package main
//
//	import (
//		"fmt"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/contention"
//	)
//
//	var mu contention.Mutex // was: sync.Mutex
//
//	func main() {
//		contention.Start(contention.Options{})
//		mu.Lock()
//		go func() {
//			time.Sleep(10 * time.Millisecond)
//			mu.Unlock()
//		}()
//		mu.Lock() // waits for the Unlock
//		mu.Unlock()
//		for _, p := range contention.Snapshot().Pairs {
//			fmt.Println(p.Waiter.Stack.Frames[0].Func, "lost", p.Blamed, "to", p.Owner.Stack)
//		}
//	}
//
// The method is that of P. Hofer et al., ICPE 2016; see blame.go. The number and the total of a
// lock's waits are exact. The blame is exact, too, unless recording all waits would take more than
// 2 % of the time: then waits are sampled at random, and rows are flagged [Estimated] with a
// standard error. Waits of 1 ms or more are always in the row of their waiter, unless that takes
// more than 1 %: then those of 4 ms, 16 ms, … are. Package tracewaits makes a Profile from an
// execution trace of any program.
//
// Cost: an uncontended Lock and Unlock takes 0.9 to 1.0 of the time of package sync
// (BenchmarkUncontended); docs/measurements.md has contended locks and the errors of the blame.
package contention
