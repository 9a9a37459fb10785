// Package counters records what a Go program's goroutines did, quantum by quantum: a row for each
// stretch of time for which a goroutine ran without a break, with what was counted meanwhile.
//
// It is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others ("Using
// Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004), with
// goroutines in the place of their Java threads: the change of each counter in each
// scheduling quantum tells what the sums over a run hide, such as a rate that drops towards every
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
// shorter quanta was put into the wrong ones. Levels of the heap are those told last ([Observed]).
//
// For each counter, the values that are known and [Counter].Remainder sum to [Counter].Total,
// exactly. The total is what the kernel has counted on all threads in all; the remainder is what
// the scheduler did, what happened before the trace began, and records that were lost. What is not
// known is [Unknown], never zero.
//
// What the machine refuses is told in Recording.Warnings with the reason: no performance monitoring
// unit, the paranoid level, a seccomp filter. Elsewhere than on Linux there are the trace and
// runtime/metrics.
//
// # Analysis
//
// An [Explorer] answers questions about a recording, whoever made it: how many quanta a filter lets
// pass, what the statistics of a metric are over them, how it developed over time, what it goes
// together with, and which counters tell two sets apart, as Sweeney and others found by hand. A
// [Query] and its [Answer] hold all of that as JSON; the page of package exporters/report and the
// command ask the same. A [Set] of rows can be joined, intersected and subtracted, and written as
// CSV or JSON:
//
//	e, err := counters.NewExplorer(rec)
//	if err != nil {
//		log.Fatal(err)
//	}
//	answer, err := e.Answer(ctx, counters.Query{
//		Filter:  "first(20, gc, goroutine)", // of each goroutine, the first 20 quanta after each collection
//		Stats:   []string{"instructions / cycles", "1000 * minor_faults / duration"},
//		Compare: &counters.CompareQuery{}, // with all the other quanta
//	})
//
// # The language of filters and metrics
//
// A metric is arithmetic on what is known of a quantum: numbers, + - * / and parentheses, min(…),
// max(…), abs(x), and change(x), the difference to the quantum before of the same goroutine. Names
// are duration, begin, end, gap (the time since that quantum), goroutine, thread, proc, and the
// counters of the recording, with _ for -, such as minor_faults, or in quotes, such as "msr/tsc".
// Numbers may have a unit: 100us, 2ms, 4KiB; only what has the same unit can be added and compared,
// and a bare number goes with everything.
//
//	duration > 100us                    instructions / cycles < 0.5         goroutine in (7, 20..29)
//	group = main.worker                 group =~ "work|load"                func !~ "^runtime\\."
//	ended = preempted                   ended in (blocked, syscall)         wait = chan-receive
//	kind = gc                           known(minor_faults)                 all, none
//	first(20, gc)                       last(5, gc, goroutine)              first(3, "stop-the-world (GC mark termination)", proc)
//	during(gc)                          during(10ms, 20ms)                  between("start", "end")
//
// make filters, and !, &&, || and parentheses combine them. group, kind, func (on top when the
// quantum ended), ended and wait (what it blocked on) are text. first(n, span) are the first n
// quanta that begin after the end of each such span (and before the next one begins), and last(n,
// span) the last n that end before its beginning (and begin after the end of the one before), in
// the whole program or, with a third argument, of each goroutine, group, proc or thread; gc is the
// mark phase of a collection. during is what overlaps a time or span. between(a, b) is what begins
// after a marker with the first text and before the next with the second; with a third argument,
// goroutine, markers concern only the goroutine that set them.
//
// What is not known of a quantum stays so: a metric of it is not known, a division by zero is not,
// no test of it holds, be it = or !=, and statistics leave it out and say of how many. But ! is the
// complement: !(minor_faults > 5) has the quanta whose faults are not known.
//
// # Cost
//
// A row takes about 100 bytes; making it takes 0.3 µs, a third of the reading of the trace
// (BenchmarkObserver).
//
// While it is recorded, each switch of a thread costs 1.8 µs (BenchmarkSwitch in
// internal/perfevent), and a page fault its record, beside the trace's own cost;
// benchmarks/counters prints the ratio for a service. A record takes six bytes.
//
// Of two million quanta, on one of two busy virtual cores at 2.3 GHz, a filter takes 5 to 75 ms,
// with the statistics of one metric 70 to 120 ms; a table by group, a series, a density or the
// lanes of a timeline 35 to 85 ms each; the search among ten candidates 0.4 s, and the correlations
// of ten metrics 1 to 2 s (BenchmarkSelect, BenchmarkStatistics, BenchmarkAnswer).
package counters
