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
// runs their own benchmarks by turns, and the workloads of two examples in slices of 50 ms. As a share of the original's throughput,
// the median of the rounds and its 95 % confidence interval, and the same of the original against itself:
//
//	                                      wrapped                  the original again      rounds
//	examples/sharedmap                    1.003  (0.971–1.035)     1.009  (0.985–1.042)    192
//	examples/sharedmap, 64 shards         0.981  (0.975–0.984)     0.998  (0.996–1.003)    192
//	examples/printlock                    0.995  (0.986–1.002)     1.003  (0.994–1.009)    192
//	github.com/hashicorp/golang-lru/v2    0.989  (0.976–1.012)     0.995  (0.985–1.017)    480
//	github.com/patrickmn/go-cache         1.005  (0.989–1.028)     1.005  (0.986–1.023)     96
//
// The aim is 0.98. Printlock and go-cache are above it with their whole intervals, all others with their medians; the machine
// does not allow to tell more of sharedmap and golang-lru. With 64 shards, a loss of 1.6 to 2.5 % is real: what recording may take
// is limited for each lock, not for all together, and there each of 64 records all of its few waits. A lock that becomes hot
// costs more in its first 0.1 s, which is in the first rounds only: printlock, run for 0.1 s at a time, is at 0.974 to 0.985. To measure it:
//
//	go run ./benchmarks/locks -v
//
// Error of the blame for pairs of call chains, Σ|blamed − true| / Σ true, against an oracle that logs every
// operation from outside: a lock is asked for when Lock is called, and held from when Lock returns until Unlock is called.
// The median and the worst of 20 runs of 0.1 s a workload with Options.Exact, on two virtual cores that other machines take away
// for a while now and then. Naive: the error of blaming whoever ended the wait.
//
//	                             error   worst   aim   naive    steps   beyond
//	holds of 4 ms, 3 goroutines   0.02     0.03  ≤ 1    18 %     0.2    0, worst 0
//	500 µs, 4                     0.06     0.1   ≤ 1    34       0.3    0, worst 0
//	50 µs, 4                      0.29     0.9   ≤ 1   139       2.0    0, worst 0
//	50 µs, 16                     0.51     3.8   ≤ 1    71       1.8    0, worst 0.1
//	50 µs, 64                     0.38     0.6   ≤ 1    49       1.6    0, worst 0
//	50 µs, 8, 4 shards            0.25     2.7   ≤ 1    42       2.1    0, worst 0.1
//	1 ms and 20 µs, 6             0.10     0.2   ≤ 1   112       0.5    0, worst 0
//	nested locks, 60 µs, 4        0.15     0.4   ≤ 1   124       0.6    0, worst 0
//	10 % writes, 60 µs, 6         0.31     0.9   ≤ 1   192       4.7    0, worst 0
//	50 % writes, 60 µs, 6         0.39     0.8   ≤ 1    62       6.0    0, worst 0
//	10 µs, 4                      0.97     2.1   ≤ 3   109       5.7    0, worst 0
//	2 µs, 4                       1.7     17     ≤ 3   117      35      0, worst 0
//	20 % writes, 5 µs, 6          3.8      9.6   ≤ 3   415      42      0, worst 0.02
//
// Measured again, over 20, 80 and 80 runs, the one before the last is at 2.2, 1.6 and 1.2 % (worst 24, 8, 6), and the last
// one, over 20, 80 and 40, at 2.5, 2.6 and 2.0 % (worst 23, 16, 5): the aim is reached by the median of many runs, not by
// every run. Nearly all of the error of short holds is too much blame, for all owners alike: the clock is read some
// 100 ns before Lock returns and after Unlock is called, together, and that counts as held. So does what a thread loses its processor
// for in between, milliseconds at worst, and rightly, as the lock is held; but the log cannot tell, and single runs are that far off.
// Steps is how much of the blame goes by while a wrapper does its own work around a hold or a wait, so that one may count
// it either way, and beyond is how far the profile is outside of that: it is in nearly all runs within.
// It is not where a goroutine loses its processor in the 50 ns between finding the lock in
// use and being counted as a waiter.
//
// Without Options.Exact, locks with holds of 10 µs and less are sampled if they are always waited for, and so are those that 64 goroutines
// wait for. That is too little to tell pairs apart in a short time. Most of the waiting is in a few long waits, so that the
// error of all pairs falls slowly at first. Each row tells its own (StdErr): of rows of which the truth is known, 70 % are within one
// standard error of it and 95 % within two, and so are pairs and totals (TestEstimatesAreAsGoodAsTheySay).
// Of runs on the machine above, the medians, of several measurements for 0.1 s, and of 10 and 5 runs for 0.5 s and 2 s:
//
//	                          after 0.1 s   0.5 s       2 s
//	holds of 2 µs              20 to 38 %   18 to 24    17 %
//	10 µs                      13 to 17         19       7
//	20 % writes, 5 µs          18 to 30         11      10
//	50 µs, 64 goroutines       20 to 28          7       4
//
// To reproduce, with the kernel's account of how long threads waited for a processor meanwhile:
//
//	go test -run - -bench '^BenchmarkOracle' -benchtime 1x ./contention
package contention
