// Package cycles measures how many reference cycles a goroutine executes between two points, with the
// best counter of the machine. Reference cycles elapse at the processor's nominal frequency. They are
// the unit of task granularity in A. Rosà, E. Rosales, W. Binder, "Analysis and Optimization of Task
// Granularity on the Java Virtual Machine" (TOPLAS 2019), section 3.
//
// All counters count threads. Two readings measure a goroutine if it stayed on its thread between
// them, which [Mark.Stayed] reports: see turn.go.
//
// [Open] takes the first of these sources that proves itself: it must advance correctly while the
// thread spins and must not advance while it sleeps. [Info].Refused lists the others with reasons.
//
//	source                one reading        accuracy
//	ref-cycles/rdpmc      25–80 ns (cited)   counted
//	ref-cycles/read       as msr/tsc         counted
//	rseq-clock            17 ns              thread-time, to within a microsecond or two
//	msr/tsc               300–450 ns         thread-time
//	thread-clock          240–300 ns         thread-time (on Linux ns, elsewhere 1 µs and coarser)
//	wall-tsc              29 ns              upper-bound: includes time off the processor
//
// If the thread was off its processor, the marker of the rseq clock is gone and a reading takes 0.4 µs.
// Unprivileged processes often get hardware counters for user mode only: the accuracy is counted-user.
// The first Open takes 0.5 ms, later ones 0.1 ms, the first reading on a thread 0.7 µs.
//
// On Linux without a C library, each thread that is read gives the kernel an address that it zeroes
// when the thread exits (set_tid_address), and a struct rseq. [NoThreadState]
// prevents both; the ladder then skips the rseq clock. With a C library, the rseq clock needs glibc 2.35
// or newer on amd64, whose threads have registered an area.
//
// Since Linux 6.19 the kernel checks a restartable sequence only if it interrupted user code, so a
// voluntary sleep may leave the marker set: the self-test detects this. The rseq clock of arm64 and the
// thread clocks of macOS and Windows were not run on such machines.
package cycles
