// Package counters records what a Go program's goroutines did, quantum by quantum: a row for each
// stretch of time for which a goroutine ran without a break, with what was counted meanwhile.
//
// It is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others ("Using
// Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004), with
// goroutines in the place of their Java threads: the change of each counter in each
// scheduling quantum tells what the sums over a run hide, such as a rate that drops towards every garbage collection.
//
// # Where rows come from
//
// The quanta are those of an execution trace (runtime/trace): running, or in a system call that still
// holds its P, as in a bottle graph, so that the durations sum to the graph's running time, exactly. [ReadFile],
// [Read] and [Observer] make a [Recording] of any trace, with the counters that a trace holds: see [Observer].
//
// # A program
//
//	rec, err := counters.ReadFile(context.Background(), "trace.out", counters.Options{})
//	if rec == nil {
//		log.Fatal(err) // nothing could be read; else err is one of the recording's Warnings
//	}
//	delay := rec.Counter("sched-delay")
//	for i := range rec.Len() {
//		fmt.Println(rec.Groups[rec.Group[i]].Name, time.Duration(rec.Duration[i]), time.Duration(delay.Values[i]))
//	}
//
// # Cost
//
// A row takes about 100 bytes; making it takes less than the reading of the trace by far (BenchmarkObserver).
package counters
