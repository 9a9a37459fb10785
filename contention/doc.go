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
// which each held it; readers that hold it together share. Time in which the lock was
// free, because the scheduler had not yet run the next owner, is hand-off; time for
// which the owner is not known is unattributed. The three sum to the time waited, to
// the nanosecond. A lock that recording would slow down by more than 1 %, as measured, is sampled: all of
// its waits are timed, so their number and total are exact, and some, drawn at random before they begin, are recorded
// whole. These represent the others of about the same length. Their rows are flagged [Estimated] and have a
// standard error ([Wait.StdErr], [Pair.StdErr]), the profile's Accuracy is [Sampled], and a
// warning says how well the division among callers is known, or that too few waits were drawn to know it.
// What no recorded wait represents is a row of its own, "[not sampled]", and unattributed.
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
// An uncontended Lock, Unlock, TryLock, RLock or RUnlock is one atomic instruction, inlined, as in package sync, and takes as long: 0.99 to
// 1.01 times, under Go 1.26 and 1.27. A lock that is held for 1 µs has 0.97 to 1.01 of the throughput of sync's with 2, 8 and 64
// goroutines. One that is held for 50 ns has 0.98 with 2, 0.96 with 8 and 0.81 with 64: how it
// changes hands is a matter of some nanoseconds, and of where it is in memory. All
// waits of a lock are recorded as long as that takes less than 1 % of throughput, or else as many as take 0.5 %.
// With the tag purego, and on other processors than amd64 and arm64, a call chain takes 1 µs rather than 20 ns,
// and goroutines are not told apart by their ids: only while runtime/trace runs, when the id of a waiter takes some 10 µs more.
// To reproduce, for locks and for public libraries with their locks replaced:
//
//	go test -run - -bench 'Uncontended|Contended|ParallelReaders' -benchtime 1x ./contention
//	go run ./benchmarks/locks -v
//
// Error of the blame for pairs of call chains, Σ|blamed − true| / Σ true, against an oracle that logs every
// operation from outside: a lock is asked for when Lock is called, and held from when Lock returns until Unlock is called.
// The median and the worst of 20 runs of 0.1 s a workload with Options.Exact, on the machine above.
// Naive: the error of blaming whoever ended the wait.
//
//	                             error   worst   aim   naive    steps   beyond
//	holds of 4 ms, 3 goroutines   0.01     0.05  ≤ 1    16 %     0.1    0, worst 0
//	500 µs, 4                     0.03     0.07  ≤ 1    27       0.2    0, worst 0
//	50 µs, 4                      0.15     0.2   ≤ 1   126       0.9    0, worst 0
//	50 µs, 16                     0.25     0.6   ≤ 1    59       0.8    0, worst 0
//	50 µs, 64                     0.26     0.9   ≤ 1    59       0.9    0, worst 0.1
//	50 µs, 8, 4 shards            0.05     0.1   ≤ 1    38       1.2    0, worst 0
//	1 ms and 20 µs, 6             0.05     0.1   ≤ 1   108       0.3    0, worst 0
//	nested locks, 60 µs, 4        0.10     0.1   ≤ 1   180       0.4    0, worst 0
//	10 % writes, 60 µs, 6         0.18     0.6   ≤ 1   173       3.1    0, worst 0.02
//	50 % writes, 60 µs, 6         0.17     0.2   ≤ 1    45       2.3    0, worst 0
//	10 µs, 4                      0.45     0.5   ≤ 3   103       3.6    0, worst 0
//	2 µs, 4                       0.96     2.3   ≤ 3    96      18      0, worst 0
//	20 % writes, 5 µs, 6          1.3      2.1   ≤ 3   381      21      0, worst 0
//
// Another measurement gave the same within 0.4. On an older machine, whose cores others took away for a while now and then, the long holds had up to
// 0.5 %, and the last two rows 1.2 to 2.2 and 2.0 to 3.8 % in the median of 20 to 80 runs, single runs up to 24 %.
// Nearly all of the error of short holds is too much blame, for all owners alike: the clock is read some
// 100 ns before Lock returns and after Unlock is called, together, and that counts as held. So does what a thread loses its processor
// for in between, milliseconds at worst, and rightly, as the lock is held; but the log cannot tell.
// Steps is how much of the blame goes by while a wrapper does its own work around a hold or a wait, so that one may count
// it either way, and beyond is how far the profile is outside of that: it is in nearly all runs within.
// It is not where a goroutine loses its processor in the 50 ns between finding the lock in
// use and being counted as a waiter.
//
// Without Options.Exact, busy locks with short holds are sampled. The number and the total of their waits stay exact; of what waiters lost
// to owners, 95 % intervals hold the truth in at least 90 of 100 runs (TestSampledIntervalsHoldTheTruth).
//
// To reproduce, with the kernel's account of how long threads waited for a processor meanwhile:
//
//	go test -run - -bench '^BenchmarkOracle' -benchtime 1x ./contention
package contention
