// Package contention finds out who waited for a lock, which owner is to blame, and
// for how long.
//
// Go's mutex profile shows the Unlock that happened to end a wait, and its block
// profile shows who waited; neither tells which goroutine held the lock all the time.
// Here, [Mutex], [RWMutex] and [Cond] take the place of the types of package sync, and
// a [Profile] joins the call chain of each waiter with that of each owner it waited for:
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
//	func slow() {
//		mu.Lock()
//		time.Sleep(10 * time.Millisecond)
//		mu.Unlock()
//	}
//
//	func main() {
//		contention.Start(contention.Options{})
//		go slow()
//		time.Sleep(time.Millisecond)
//		mu.Lock() // waits for slow
//		mu.Unlock()
//		contention.Stop()
//		for _, p := range contention.Snapshot().Pairs {
//			fmt.Printf("%s lost %v to %s\n", p.Waiter.Stack.Frames[0].Func, p.Blamed, p.Owner.Stack.Frames[0].Func)
//		}
//		// main.main lost 9.1ms to main.slow
//	}
//
// Programs that use the locks of package sync have execution traces: [ReadTrace] makes the same Profile
// from the trace of any program, for channels, WaitGroups, the network and all other waits as well.
// Its Accuracy is [Inferred]: what a trace cannot tell is unattributed.
//
// Profiles of several instances of a program, or of windows of one ([TraceObserver.Cut]), become one by [Merge].
//
// # What is exact
//
// A wait during which several owners held the lock is split among them by the time for
// which each held it; readers that hold it together share. Time in which nobody held
// the lock, because the scheduler had not yet run the next owner, is hand-off; time for
// which the owner is not known is unattributed. The three sum to the time waited, to
// the nanosecond. Locks that are contended so often that recording would slow them down
// are sampled in random windows of time; their rows are flagged [Estimated], and the
// profile's Accuracy is [Sampled]. With few samples, or when single waits are very
// long, such an estimate can be far off for a pair: see Wait.Observed.
//
// # Why the owner held it
//
// An owner may be blocked itself while others wait for it. [Pair.Activity] is what it did meanwhile, and
// [Pair.Roots] who was at the end of the chain of blame: whoever blocked the owner, or blocked that one, and so on.
// [Profile.Aggregate] tells waits apart by it, as in Aggregate(ByRootFunc, ByOwnerFunc). Traces show every state of
// every goroutine; wrappers know of their own waits only.
//
// While collection is on and runtime/trace runs, wrapped locks write into the trace what it lacks, after they
// have been released ([LogCategory]); [ReadTrace] then knows their waits exactly. A contention takes 2 to 4
// µs more meanwhile.
//
// The method is that of P. Hofer, D. Gnedt, A. Schörgenhumer, H. Mössenböck,
// "Efficient Tracing and Versatile Analysis of Lock Contention in Java Applications
// on the Virtual Machine Level", ICPE 2016; blame.go tells it step by step.
//
// # Cost
//
// Collection is off until [Start], and then costs what the table says for locks that
// nobody waits for. Nothing allocates in the long run but new rows and call chains.
// Ratios to the lock of package sync in the same run, linux/amd64, Go 1.26, two cores
// shared with other work, so the throughputs are give or take 0.1:
//
//	                                            plain      wrapped/plain
//	Lock+Unlock, uncontended                    15.0 ns    1.02  time
//	RWMutex Lock+Unlock, uncontended            30.7 ns    1.12  time
//	RLock+RUnlock, uncontended                  14.5 ns    1.05  time
//	RLock+RUnlock, by 2 or 8 goroutines                    0.75  throughput
//	Lock+Unlock, 1 µs hold, 2, 8, 64 goroutines            1.05, 1.00, 1.00  throughput
//	Lock+Unlock, 50 ns hold, 2, 8, 64 goroutines           0.95, 0.72, 0.75  throughput
//
// The last line is nearly the same with collection off: there it is the failed
// compare-and-swap of the inlined Unlock that costs, which the uncontended case gains.
// With the tag purego, on other processors than amd64, on other releases of Go, and
// under the race detector, uncontended operations take 1.3 times as long as sync's,
// and a call chain takes 1 µs rather than 20 ns. To reproduce:
//
//	go test -run - -bench 'Uncontended|Contended' -benchtime 1x ./contention
//
// Error of the blame for pairs of call chains against an oracle that logs every
// operation, one run of 0.8 s a workload on two cores shared with other work: 0.0 to
// 1 % for holds of 10 µs and more in most runs, up to 6 % in some; 0.4 to 7 % below, and
// once 53 %, in a run in which half of the waits were sampled and other processes held
// up some owners for long. Blaming whoever ended the wait is 7 to 260 % off:
//
//	go test -run - -bench Oracle -benchtime 1x ./contention
package contention
