// Package cycles measures how many reference cycles a goroutine executes between two points, with
// the best counter available on the machine.
//
// Reference cycles elapse at the processor's nominal frequency, so work is comparable across clock
// speeds. They are the unit of task granularity in A. Rosà, E. Rosales, W. Binder, "Analysis and
// Optimization of Task Granularity on the Java Virtual Machine" (TOPLAS 2019), section 3.
//
// All counters count threads, not goroutines. Two readings measure a goroutine if it stayed on its
// thread between them, which [Mark.Stayed] reports: see turn.go.
//
// # The ladder
//
// [Open] takes the first of these sources that proves itself by counting: it must advance correctly
// while the thread spins and must not advance while it sleeps. [Info].Refused lists the refused
// sources with the reasons.
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
// Reading the TSC takes 10 ns of the 17. If the thread was off its processor, the marker of the
// rseq clock is gone and a reading takes 0.4 µs.
//
// Unprivileged processes are often granted hardware counters for user mode only. The accuracy is
// then counted-user.
//
// # Costs
//
// The first Open takes about 0.8 ms, half of it to calibrate the time-stamp counter against
// CLOCK_MONOTONIC; later ones take 0.4 ms. The first reading on each thread registers it, which
// takes 0.7 µs. The numbers were measured on a 2-core virtual machine (Linux 6.18, Go 1.26) with
// BenchmarkRead.
//
// # State given to the kernel
//
// On Linux without a C library, each thread that is read registers an address with the kernel that
// it zeroes when the thread exits (set_tid_address). The rseq clock also registers a struct rseq.
// [NoThreadState] and [WithoutThreadState] prevent both. The ladder then skips the rseq clock, and
// finding the thread takes a system call (90 ns).
//
// # Limits
//
// Since Linux 6.19 the kernel checks a restartable sequence only if it interrupted user code, so a
// voluntary sleep may leave the marker of the rseq clock set. The self-test detects this and the
// ladder moves on. In programs with a C library, the rseq clock needs glibc 2.35 or newer on amd64,
// whose threads have registered their own area. On arm64 the rseq clock uses CNTVCT_EL0 and has the
// same self-test, but it was not run on such a machine. The macOS and Windows thread clocks were
// not run either.
package cycles
