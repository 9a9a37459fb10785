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
// are sampled: each of their waits is drawn at random with the same probability, and those
// that are not drawn cost nothing but the draw. Their rows are flagged [Estimated] and have a
// standard error ([Wait.StdErr], [Pair.StdErr]), the profile's Accuracy is [Sampled], and a
// warning tells how well the whole is known, or that too few waits were drawn to tell.
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
// Ratios to the lock of package sync in the same run, on linux/amd64, Go 1.26, two virtual cores with little
// else to do: of times the median of rounds by turns, of throughputs the ratio of the means and its 95 % confidence
// interval:
//
//	                                            plain      wrapped/plain
//	Lock+Unlock, uncontended, nothing between   13.1 ns    1.00  time
//	Lock, count++, Unlock, uncontended          14.3 ns    0.89 to 0.99
//	RWMutex Lock+Unlock, uncontended            21.6 ns    0.98
//	RLock+RUnlock, uncontended                  12.2 ns    0.94 to 1.03
//	RLock+RUnlock, by 2 goroutines                         0.97 ± 0.03  throughput
//	RLock+RUnlock, by 8                                    1.03 ± 0.07
//	Lock+Unlock, 1 µs hold, by 2 goroutines                0.99 ± 0.01
//	Lock+Unlock, 1 µs hold, by 8                           0.99 ± 0.01
//	Lock+Unlock, 1 µs hold, by 64                          0.98 ± 0.01
//	Lock+Unlock, 50 ns hold, by 2 goroutines               0.94 ± 0.01
//	Lock+Unlock, 50 ns hold, by 8                          0.90 ± 0.05, 0.92 ± 0.06 in another run
//	Lock+Unlock, 50 ns hold, by 64                         0.93 ± 0.07, 1.04 ± 0.08
//	RWMutex Lock+Unlock, 1 µs hold, by 2, 8, 64            0.98, 0.97, 0.98 ± 0.01 (the lower of two runs)
//	RWMutex Lock+Unlock, 50 ns hold, by 2, 8, 64           0.97 ± 0.01, 0.94 ± 0.06, 0.90 ± 0.07 (the lowest of three)
//
// An uncontended Unlock has to load a word after the atomic operation of Lock and before its
// own, which on some machines takes 2 ns. All waits of a lock are recorded as long as that is estimated to
// take less than 2 % of throughput, or else as many as take 1 %.
// With the tag purego, on other processors than amd64, on other releases of Go, and
// under the race detector, uncontended operations take 1.3 times as long as sync's,
// and a call chain takes 1 µs rather than 20 ns. To reproduce:
//
//	go test -run - -bench 'Uncontended|Contended|ParallelReaders' -benchtime 1x ./contention
//
// Real programs, with collection on: benchmarks/locks replaces the locks of public libraries in a copy and
// runs their own benchmarks by turns, and those of two examples for half a second a round. As a share of the original's throughput,
// the medians of several runs of 21 to 41 rounds, and the outer ends of their 95 % confidence intervals; the original against itself is
// 0.97 to 1.01:
//
//	examples/sharedmap                     0.994              (0.968–1.019)
//	examples/sharedmap, repaired           0.986              (0.976–0.998)
//	examples/printlock                     0.989 and 0.999    (0.976–1.021)
//	github.com/hashicorp/golang-lru/v2     0.978, 0.998, 0.988 (0.958–1.017)
//	github.com/patrickmn/go-cache          0.977, 1.006       (0.843–1.066)
//
// The aim is 0.98, which the medians are above but for one run of each library; the intervals reach below it. A lock that becomes hot
// costs more in its first 0.1 s, until it is sampled as rarely as it should be: printlock, run for 0.1 s at a time, is at 0.974 to 0.985
// in five runs. Readers of go-cache do nothing else than RLock, one look into a map and RUnlock, in 18 ns: they take 2 to
// 4 % longer, writers 5 % less. To measure it:
//
//	go run ./benchmarks/locks -rounds 31 -n 60000 -v
//
// Error of the blame for pairs of call chains, Σ|blamed − true| / Σ true, against an oracle that logs every
// operation from outside: the median of 20 runs of 0.1 s a workload with Options.Exact, two virtual cores with
// little else to do. Log: by how much the log of such a run may be wrong itself. Beyond: how far the profile is outside of
// what the log leaves open, in the median and in the worst run. Naive: the error of blaming whoever ended the wait.
//
//	                             error    aim    log    beyond          naive
//	holds of 4 ms, 3 goroutines   0.01    ≤ 1    0.1    0, worst 0         9 %
//	500 µs, 4                     0.05    ≤ 1    0.3    0, worst 2.4      30
//	50 µs, 4                      0.38    ≤ 1    1.9    0, worst 1.9     140
//	50 µs, 16                     0.43    ≤ 1    1.3    0, worst 0.5      68
//	50 µs, 64                     0.52    ≤ 1    1.7    0, worst 0        69
//	50 µs, 8, 4 shards            0.31    ≤ 1    2.7    0, worst 0        45
//	1 ms and 20 µs, 6             0.08    ≤ 1    0.3    0, worst 0       108
//	nested locks, 60 µs, 4        0.20    ≤ 1    1.0    0, worst 0.2     180
//	10 % writes, 60 µs, 6         0.32    ≤ 1    5.7    0, worst 0.6     190
//	50 % writes, 60 µs, 6         0.36    ≤ 1    3.8    0, worst 0        53
//	10 µs, 4                      1.4     ≤ 3    7.3    0, worst 0       143
//	2 µs, 4                       3.2     ≤ 3   32      0, worst 0       133
//	20 % writes, 5 µs, 6          4.4     ≤ 3   30      0, worst 0       409
//
// The last two miss the aim, by what the log cannot tell: its lines are some 100 ns apart from the moments that they are about, as
// the words of a lock have to come from another processor in between, and that is 2 to 4 % of a hold of 5 or 2 µs; or
// milliseconds, if the thread loses its processor just then, so that single runs are up to 100 % off. Looking at the
// clock between the steps of the wrappers as well tells how much each pair is blamed at least and at most, and
// the profile was within that in nearly all runs.
// It is not where a goroutine loses its processor in the 50 ns between finding the lock in
// use and being counted as a waiter.
//
// Without Options.Exact, locks with holds of 10 µs and less are sampled if they are always waited for, and so are those that 64 goroutines
// wait for. That is too little to tell pairs apart in a short time. Most of the waiting is in a few long waits, so that the
// error of all pairs falls slowly at first. Each row tells its own (StdErr): of rows of which the truth is known, 70 % are within one
// standard error of it and 95 % within two, and so are pairs and totals (TestEstimatesAreAsGoodAsTheySay).
// The columns of 0.5 s and 2 s, and part of that of 0.1 s, are of a version in which recording all waits could take 4 % of throughput.
//
//	                          after 0.1 s   0.5 s      2 s
//	holds of 2 µs              13 to 78 %      14       11 %
//	10 µs                      12 to 15         5        5
//	20 % writes, 5 µs          19 to 29        10        –
//	50 µs, 64 goroutines       0.4 to 22        2        4
//
// To reproduce, with the kernel's account of how long threads waited for a processor meanwhile:
//
//	go test -run - -bench '^BenchmarkOracle' -benchtime 1x ./contention
package contention
