// Package counters records what a Go program's goroutines did, quantum by quantum: a row for each
// stretch of time for which a goroutine ran without a break, with what was counted in it.
//
// It is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others ("Using
// Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004), with
// goroutines in the place of their Java threads: the change of each counter in each
// scheduling quantum shows what the sums over a run hide, such as a rate that drops towards every
// garbage collection.
//
// # Where rows come from
//
// The quanta are those of an execution trace (runtime/trace): running, or in a system call that
// still holds its P, as in a bottle graph, so that the durations sum to the graph's running time,
// exactly. [ReadFile], [Read] and [Observer] make a [Recording] of any trace, with the counters
// that a trace holds: see [Observer].
//
// # A program
//
// It records itself, with the default counters, and says what each quantum took:
//
//	package main
//
//	import (
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/counters"
//	)
//
//	func main() {
//		s, err := counters.Start(counters.StartOptions{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		work()
//		rec, err := s.Stop()
//		if rec == nil {
//			log.Fatal(err) // nothing could be read; else err says what is missing
//		}
//		for _, w := range rec.Warnings {
//			log.Print(w) // such as: cycles: not counted: the machine has no performance monitoring unit …
//		}
//		clock, faults := rec.Counter("task-clock"), rec.Counter("minor-faults")
//		if clock == nil || faults == nil {
//			return // refused: the warnings say why
//		}
//		for i := range rec.Len() {
//			fmt.Println(rec.Groups[rec.Group[i]].Name, clock.Values[i], faults.Values[i]) // Unknown where it is not known
//		}
//	}
//
//	var sink []byte
//
//	func work() {
//		for i := range 100_000 {
//			sink = make([]byte, i%4096)
//		}
//	}
//
// [Session.StopTo] writes an archive in the place of the analysis, and [ReadArchive] reads it.
// [Run], or "bottleneck record
// -counters", records another program from its first instruction on. [Mark] names points in time.
//
// # What is counted, and how true it is
//
// Linux records single events, thread and time with each, for unprivileged users, too; an event
// belongs to the quantum that its thread executed then ([Exact]): page faults, switches of threads,
// migrations. The switches also tell when the thread of a quantum really had a processor, the
// task-clock. Of 48,000 page faults of goroutines that take turns every 100 µs, 99.95 % and more
// were given to a quantum of the right goroutine (TestFaultsOfAlternatingGoroutines).
//
// Counters that count too fast for that (cycles, instructions, cache misses, msr/tsc) are read each
// millisecond of a thread's time and at its switches if the kernel may be observed
// (kernel.perf_event_paranoid ≤ 1 or CAP_PERFMON), else each millisecond unless the thread is in
// the kernel then; and they are divided by overlap with the time on a processor ([Interpolated]):
// of known amounts of processor time, in pieces of 0.2 to 1 ms, each goroutine got its part of the
// sum within 2 % (TestUniformCounters), but a fifth of what is concentrated at the beginning of
// shorter quanta was put into the wrong ones. Levels of the heap are the latest in
// the trace ([Observed]).
//
// For each counter, the values that are known and [Counter].Remainder sum to [Counter].Total,
// exactly. The total is what the kernel has counted on all threads in all; the remainder is what
// the scheduler did, what happened before the trace began, and records that were lost. What is not
// known is [Unknown], never zero.
//
// Recording.Warnings lists the events that the machine refused, with the reason: no performance
// monitoring unit, the paranoid level, a seccomp filter. On other systems than Linux there are the
// trace and runtime/metrics.
//
// # Analysis
//
// Package counters/query answers questions about a recording. [Recording.Only] takes some of the
// rows, and [WriteJSON] writes them.
//
// # Cost
//
// A row takes about 100 bytes; making it takes 0.3 µs, a third of the reading of the trace
// (BenchmarkObserver).
//
// While it is recorded, each switch of a thread costs 1.8 µs (BenchmarkSwitch in
// internal/perfevent), and a page fault its record, beside the trace's own cost;
// benchmarks/counters prints the ratio for a service. A record takes six bytes.
package counters
