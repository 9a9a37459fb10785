// Package cycles measures how many reference cycles a goroutine executes
// between two points, with the best counter that the machine grants.
//
// Reference cycles elapse at the processor's nominal frequency, so that work
// compares across clock speeds; they are the unit of task granularity in
// A. Rosà, E. Rosales, W. Binder, "Analysis and Optimization of Task Granularity
// on the Java Virtual Machine" (TOPLAS 2019), section 3.
//
// All counters count threads, not goroutines. Two readings measure a goroutine if it has stayed on
// its thread between them, which [Mark.Stayed] reports: see turn.go.
//
// # The ladder
//
// [Open] takes the first of these that proves itself by counting: while the
// thread spins it must advance as it should, and while the thread sleeps it
// must not. What refused, and why, stays in [Info].Refused.
//
//	source                what one reading costs   accuracy
//	ref-cycles/rdpmc      25–80 ns (cited)         counted
//	ref-cycles/read       as msr/tsc               counted
//	cpu-cycles/read       as msr/tsc               core-cycles: at the core's varying clock, never mixed with the others
//	rseq-clock            17 ns                    thread-time: the thread clock's value to within a microsecond or two
//	msr/tsc               300–450 ns               thread-time
//	thread-clock          240–300 ns               thread-time (on Linux ns, elsewhere as coarse as Info.Resolution)
//	wall-tsc              29 ns                    upper-bound: includes all time off the processor
//
// Reading the TSC alone takes 10 ns of the 17. When the marker of the rseq clock went,
// because the thread was off its processor, a reading takes 0.4 µs.
//
// Unprivileged processes are often granted hardware counters for user mode
// only; the accuracy is then counted-user.
//
// # Costs
//
// The first Open takes some 1 ms, a third of it to calibrate the time-stamp counter against
// CLOCK_MONOTONIC; later ones 0.5 ms. The first reading on each thread registers it, 0.7 µs.
// The numbers were measured on a 2-core virtual machine (Linux 6.18, Go 1.26) with
// BenchmarkRead.
//
// # What the kernel is given
//
// On Linux without a C library each thread that is read gives the kernel an address that it zeroes
// when the thread exits (set_tid_address), and for the rseq clock one of a struct rseq.
// [NoThreadState] and [WithoutThreadState] keep it from both; the ladder then goes on without the
// rseq clock, and finding the thread takes a system call (90 ns).
//
// # Limits
//
// From Linux 6.19 on the kernel looks at a restartable sequence only when it
// interrupted user code, so that a voluntary sleep may leave the marker of the rseq clock
// standing: the self-test notices and the ladder goes on. In programs with a C library the rseq
// clock needs glibc 2.35 or newer on amd64, whose threads have registered an area of their own. On
// arm64 the rseq clock is built from CNTVCT_EL0 and
// guarded by the same self-test, but it was not run on such a machine; nor were the
// macOS and Windows thread clocks.
package cycles
