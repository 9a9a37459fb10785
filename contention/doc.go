// Package contention finds out who waited for a lock, which owners are to blame, and for how long.
//
// [Mutex], [RWMutex] and [Cond] take the place of the types of package sync. A [Profile] has the
// call chain of each waiter together with those of the owners that held the lock during the wait:
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
// Package tracewaits makes a Profile of an execution trace of any program, for all kinds of waits.
//
// The method is that of P. Hofer et al., ICPE 2016; see blame.go. A wait behind several owners is
// split by the time for which each held the lock; time in which the lock was free is hand-off. The
// number and the total of waits are exact. So is the blame, unless recording all waits of a lock
// takes more than 2 % of the time: then waits are drawn at random, long ones as well, their rows
// are flagged [Estimated] with a standard error ([Pair.StdErr]), and what no drawn wait represents
// is "[not sampled]". Of an owner that took a [Mutex] again and again for less than 4 µs, some
// holds are seen, and the blame is Estimated, too.
//
// Lock, Unlock, RLock and RUnlock of a lock that is not in use take 0.9 to 1.0 of the time that
// they take in package sync (BenchmarkUncontended). A wait that is recorded takes 1 to 3 µs, mostly
// after the lock was released. docs/measurements.md has the throughput under contention, and the
// errors of the blame.
package contention
