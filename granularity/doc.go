// Package granularity measures how much work the tasks of a program do, tells
// whether they are too small (overheads eat the gain of running them in
// parallel) or too large (processors idle), and names the lines that create them.
//
// The granularity of a task is the number of reference cycles that it
// executes, after A. Rosà, E. Rosales, W. Binder, "Analysis and Optimization of
// Task Granularity on the Java Virtual Machine" (TOPLAS 2019). Reference cycles elapse
// at the processor's nominal frequency, whatever its clock does meanwhile.
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
//		100000 tasks on 2 processors, three quarters of them execute 35ns or less (p25 21ns): similar and small
//		the overhead of a task, 288ns (what the process used besides its tasks), is 91 % of the cost of an average task of 28ns
//		merge ~1019 tasks into one: overhead falls from 91 % to 1.0 % of the cost, and 98 tasks remain for 2 processors
//		100000 of them are created at main.main (main.go:16)
//
// # What is measured
//
// A task is locked to its thread while it executes ([runtime.LockOSThread]), because
// counters count threads. Its class is the name of its function, or a name given to it. Of
// each class, and of each place that creates or submits its tasks, a [Profile] has
// the distribution of cycles, wall time and time off the processor. Tasks nested in a task are
// measured on their own and taken off it. [Pause] leaves out an operation that
// blocks. [Sweep] compares a workload at different numbers of tasks. While a
// runtime/trace is recorded, tasks are regions in it (type: the class), of a trace task
// named after the pool.
//
// A task that blocks without Pause pays for it: another thread must take over its processor, which
// costs some 10 µs (3 to 25 µs on the virtual machine below), and that part of it which
// the task's own thread executes is in its cycles.
//
// # What counts, and how well
//
// The best source that the machine grants is taken, and named in [Profile].Source:
//
//	source             accuracy       what it is
//	ref-cycles/rdpmc   counted        hardware reference cycles (counted-user: in user mode only)
//	ref-cycles/read    counted        the same by a system call, 0.5–0.8 µs a reading
//	cpu-cycles/read    core-cycles    hardware cycles at the core's varying clock; blocked times are not known
//	rseq-clock         thread-time    the thread's CPU time, kept current by the TSC (Linux 4.18 to 6.18, no C library)
//	msr/tsc            thread-time    TSC ticks while the thread is on a processor; needs privileges
//	thread-clock       thread-time    the thread's CPU clock × TSC frequency; elsewhere than Linux 1 µs and coarser
//	trace-switches     (from a trace) running time less what other processes took
//	trace-running      upper-bound    running time of the goroutine
//	wall-tsc           upper-bound    elapsed time × TSC frequency
//
// Against spinning of known length, interrupts bracketed, the rseq clock, msr/tsc and
// the thread clock are within the bracket for all of 200 tasks of 100 µs, and as often for tasks preempted by
// 8 workers on 2 processors and tasks that change threads in a pause (TestTasksAreTrue); readings of goroutines that
// are not locked to their threads are right in 0 to 20 of 80 cases (TestTruthHasTeeth in internal/cycles).
// Time that a hypervisor steals counts as executed.
//
// # What it costs
//
// Go 1.26, 2 shared virtual cores at 2.3 GHz (a TSC reading takes 12 ns there), rseq clock; the
// same tasks bare and measured by turns, the least of 15 rounds each (BenchmarkOverhead, which
// prints this table). Processor time a task, in all threads, because the machine was
// shared with other work:
//
//	task      Pool, bare  measured        Group, bare  measured        Do
//	empty     96 ns       +122 ns         490 ns       +186–244 ns     +125 ns
//	1 µs      1.09 µs     +142 ns, 1.13×  1.5 µs       +174–197 ns, 1.13×  +144 ns, 1.14×
//	10 µs     10.2 µs     +145 ns, 1.015× 10.7 µs      +190–230 ns, 1.02×  +125–155 ns, 1.013×
//	100 µs    102 µs      1.002×          not distinguishable from noise
//
// The aim of 1.10× for tasks of 1 µs is missed on that machine: two readings of the clock are 38 ns, recording 27 ns,
// the call chain and its site 16 ns, and the rest is bookkeeping. Measuring
// allocates nothing: +0.000 allocations a task for Pool, Group and Do. A [Results] task costs two
// allocations more. While a trace is recorded each task costs a region in addition, some 0.5 µs.
//
// With other sources than rdpmc and the rseq clock a task costs two system calls more, about 1 µs.
package granularity
