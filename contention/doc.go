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
// Ratios to the lock of package sync in the same run, on linux/amd64, Go 1.26, two virtual cores of an AMD EPYC of the Zen 4 kind with little
// else to do: of times the median of rounds by turns, of throughputs the ratio of the means and its 95 % confidence
// interval:
//
//	                                            plain     wrapped/plain
//	Lock+Unlock, uncontended, nothing between   3.8 ns    1.05  time
//	Lock, count++, Unlock, uncontended          3.8 ns    1.07
//	RWMutex Lock+Unlock, uncontended            8.7 ns    0.99
//	RLock+RUnlock, uncontended                  3.8 ns    1.01
//	RLock+RUnlock, by 2 goroutines                        1.01 ± 0.04  throughput
//	RLock+RUnlock, by 8                                   1.00 ± 0.05
//	Lock+Unlock, 1 µs hold, by 2, 8, 64                   0.99, 1.00, 1.00 ± 0.01
//	Lock+Unlock, 50 ns hold, by 2                         0.96 (0.96 to 0.97 in four runs)
//	Lock+Unlock, 50 ns hold, by 8                         0.90 (0.84 to 1.00 in 18)
//	Lock+Unlock, 50 ns hold, by 64                        0.95 (0.87 to 1.12 in ten)
//	RWMutex Lock+Unlock, 1 µs hold, by 2, 8, 64           1.01, 1.00, 1.00 ± 0.01
//	RWMutex Lock+Unlock, 50 ns hold, by 2, 8, 64          1.03, 1.01, 1.03 ± 0.01
//
// How a lock of 50 ns changes hands is a matter of some nanoseconds, and of where it is in memory: of two locks of package sync, one has 0.94 to
// 1.02 of the other's throughput by that alone (BenchmarkContendedItself).
// All waits of a lock are recorded as long as that takes less than 1 % of throughput, or else as many as take 0.5 %.
// With the tag purego, on other processors than amd64, on other releases of Go, and
// under the race detector, uncontended operations take 1.3 times as long as sync's.
// With the tag purego, and on other processors than amd64 and arm64, a call chain takes 1 µs rather than 20 ns,
// and goroutines are not told apart by their ids: only while runtime/trace runs, when the id of a waiter takes some 10 µs more.
// To reproduce:
//
//	go test -run - -bench 'Uncontended|Contended|ParallelReaders' -benchtime 1x ./contention
//
// Real programs, with collection on: benchmarks/locks replaces the locks of public libraries in a copy and
// runs their own benchmarks by turns, and the workloads of two examples in slices of 50 ms. As a share of the original's throughput,
// the median of the rounds and its 95 % confidence interval, and the same of the original against itself:
//
//	                                      wrapped                  the original again      rounds
//	examples/sharedmap                    0.997  (0.981–1.009)     1.007  (0.996–1.022)    192
//	examples/sharedmap, 64 shards         0.993  (0.990–0.995)     0.998  (0.996–1.000)    192
//	examples/printlock                    1.000  (0.998–1.001)     1.001  (1.000–1.002)    192
//	github.com/hashicorp/golang-lru/v2    0.986  (0.973–0.998)     0.997  (0.987–1.013)    576
//	github.com/patrickmn/go-cache         1.046  (1.041–1.053)     0.992  (0.988–0.998)    192
//
// The aim is 0.98. One of go-cache's benchmarks does nothing but look into a small map under RLock, in 9 ns: it is at 0.943, as two
// comparisons are 0.5 ns. What recording may take is limited for each lock, not for all together: with 64 shards, each of 64 records
// all of its few waits. An older machine, where memory that another processor has written to takes longer to come, is at 0.981 there
// (0.975–0.984). A lock that becomes hot
// costs more in its first 0.1 s, which is in the first rounds only: printlock, run for 0.1 s at a time, is at 0.974 to 0.985. To measure it:
//
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
