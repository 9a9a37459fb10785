// Package granularity measures how much work the tasks of a program do, reports
// whether they are too small (overheads eat the gain of running them in
// parallel), too large (processors idle) or mostly blocked, and names the lines that create them.
//
// The granularity of a task is the number of reference cycles that it
// executes, after A. Rosà, E. Rosales, W. Binder, "Analysis and Optimization of
// Task Granularity on the Java Virtual Machine" (TOPLAS 2019). Reference cycles elapse
// at the processor's nominal frequency, whatever its clock does during that time.
//
// Use [Pool] for a worker pool, [Group] instead of an errgroup.Group, and [Do]
// around the work in a pool of your own:
//
//	package main
//
//	import (
//		"fmt"
//		"sync/atomic"
//
//		"github.com/bottleneck-go/bottleneck/granularity"
//	)
//
//	func main() {
//		rec := granularity.Default()
//		rec.Start() // sample the machine every 100 ms
//		pool := granularity.NewPool(granularity.PoolOptions{Name: "sums"})
//		var sum atomic.Int64
//		for i := range 100_000 {
//			pool.Submit(func() { sum.Add(int64(i)) })
//		}
//		pool.Close()
//		rec.Stop()
//		for _, class := range rec.Profile().Classes {
//			fmt.Println(class.Name, class.Tasks, "tasks:", class.Diagnosis)
//			for _, line := range append(class.Reasons, class.Advice...) {
//				fmt.Println("\t" + line)
//			}
//		}
//	}
//
// It prints, for example:
//
//	main.main.func1 100000 tasks: fine
//		100,000 tasks on 2 processors, three quarters of them execute 35ns or less (p25 21ns)
//		the overhead of a task, 69ns (the cost of an empty task, measured when the recorder was made), is 71 % of the cost of an average task of 28ns
//		merge ~1019 tasks into one: overhead falls from 71 % to 0.24 % of the cost, and 98 tasks remain for 2 processors
//		created at main.main (main.go:16)
//
// # What is measured
//
// The class of a task is the name of its function, or a name given to it. Of
// each class, and of each place that creates or submits its tasks, a [Profile] has
// the distribution of cycles, wall time and time off the processor. Tasks nested in a task are
// measured on their own and taken off it. [Pause] leaves out an operation that
// blocks. [Sweep] compares a workload at different numbers of tasks. While a
// runtime/trace is recorded, tasks are regions in it (type: the class), of a trace task
// named after the pool.
//
// Counters count threads. A task that stays on its thread is measured exactly; the runtime's own
// count of how often its goroutine let others run tells which tasks do. Of a task that blocks, or
// is preempted, the wall time is known, and its cycles are estimated from a sample of such
// tasks of the same place, which are locked to their threads ([runtime.LockOSThread]) at a cost of
// at most 1 % of the time ([Class].Estimated). Without a sample, as for the first
// ones, or in a program that contains coroutines ([iter.Pull]), where a lock could end the
// program, they count as unmeasured. A task that has a place in the log is always locked if it can
// be. A block costs a locked task some 10 µs (3 to 25 µs on the virtual machine below), and that
// part of it which its own thread executes is in its cycles.
//
// One thing escapes: a task that blocks exactly 256 times, or a multiple of that, and ends on the
// thread where it began, is charged with what other goroutines executed there.
//
// Package tracetasks finds the tasks of any program in an execution trace, by its regions.
// [WriteJSON] and [ReadJSON] keep a profile in a file, which "bottleneck tasks FILE" shows.
//
// # What counts, and how well
//
// The best source that the machine grants is taken, and named in [Profile].Source:
//
//	source             accuracy       what it is
//	ref-cycles/rdpmc   counted        hardware reference cycles (counted-user: in user mode only)
//	ref-cycles/read    counted        the same by a system call, some 0.5 µs a reading
//	cpu-cycles/read    core-cycles    hardware cycles at the core's varying clock; blocked times are not known
//	rseq-clock         thread-time    the thread's CPU time, kept current by the TSC (Linux 4.18 to 6.18; with a C library glibc 2.35, amd64)
//	msr/tsc            thread-time    TSC ticks while the thread is on a processor; needs privileges
//	thread-clock       thread-time    the thread's CPU clock × TSC frequency; elsewhere than Linux 1 µs and coarser
//	trace-running      upper-bound    from a trace (tracetasks): running time of the goroutine
//	wall-tsc           upper-bound    elapsed time × TSC frequency
//
// On Linux the first task on a thread gives the kernel two addresses, by the system calls rseq and
// set_tid_address. [RecorderOptions].NoThreadState, or BOTTLENECK_NO_THREAD_STATE=1 in the
// environment, keeps the process from both; the rseq clock is then not among the sources.
//
// Against spinning of known length, with interrupts bracketed, the rseq clock is within the bracket
// for 199 or 200 of 200 tasks of 100 µs (median distance from it at most 0.05 %), for 176 to 200 of
// 200 that 8 workers on 2 processors preempt, and for 200 of 200 that change threads in a pause
// (TestTasksAreTrue). In internal/cycles the same holds for msr/tsc and the thread clock, also
// while other processes compute and tasks sleep, wait for channels and mutexes or yield
// (TestTruth); readings of goroutines that are not locked to their threads are within it in less
// than a quarter of the cases (TestTruthHasTeeth). Time that a hypervisor steals counts as
// executed.
//
// Profiles of several instances of a program, or of windows of one (tracetasks.Observer.Cut),
// become one by [Merge].
//
// # What it costs
//
// Go 1.26, 2 virtual cores of an AMD EPYC at 2.6 GHz, rseq clock, tasks that do not block and so
// are not locked to their threads. The same tasks bare and measured, in turns in one process, 25
// rounds each (BenchmarkOverhead, run three times while other programs used both processors): what
// measuring adds to the processor time of a task, over all threads, by the least of all rounds, and
// by the medians. Bare is a channel with workers for Pool, errgroup for Group, and the plain call
// for Do.
//
//	task    bare                    Pool                  Group                 Do
//	empty   53 ns, 300 ns, 1.4 ns   +85–96 (89–118) ns    +134–147 (150–176)    +94–95 (96–101)
//	1 µs                            +114–129 (119–133)    +174–185 (179–195)    +110–127 (127–145)
//	10 µs                           +75–166 (179–218)     +93–193 (198–288)     +72–129 (131–170)
//
// So a task of 1 µs costs 1.1 times as much in a Pool and with Do, and nearly 1.2 times in a Group.
// With 100 µs, what is added is lost in how much the rounds differ. Wall times say nothing on a
// busy machine, and are left out.
//
// The cycles of a whole run, over all threads, grow by this much (BenchmarkPerturbation, 120 rounds
// in turns; the median, and its interval of 95 %):
//
//	task      Pool                  Group                 Do                    an errgroup against itself
//	10 µs     1.015 (1.012–1.017)   1.020 (1.018–1.022)   1.013 (1.012–1.015)   0.999 (0.995–1.002)
//	100 µs    1.004 (1.003–1.005)   1.006 (1.005–1.007)   1.004 (1.002–1.005)   0.999 (0.994–1.001)
//
// Tasks that block take 1.0 times as long as in an errgroup for http.Get, and 1.3 times for a lock
// and a channel round trip of 0.5 µs (BenchmarkBlocking, the least of 25 rounds). It depends on the
// machine: on older ones a task of 10 µs in a Group came to 1.03 and 1.05.
//
// Measuring allocates nothing: +0.000 allocations a task for Pool, Group and Do. A task in the log
// needs one. A pause costs 0.15 µs. While a trace
// is recorded each task costs a region in addition, 0.2 to 0.4 µs.
//
// With other sources than rdpmc and the rseq clock a task costs two system calls more, 0.6 to 0.9
// µs.
package granularity
