// Package quanta converts a trace, or an archive of counters, to a table with a row for each
// scheduling quantum, an interval in which a goroutine ran without a break, with its counts.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/counters/quanta"
//	)
//
//	func main() {
//		rec, err := quanta.ReadFile(context.Background(), "work.zip", quanta.Options{})
//		if rec == nil {
//			log.Fatal(err) // nothing could be read; else err says what is missing
//		}
//		if faults := rec.Counter("minor-faults"); faults != nil { // else rec.Warnings has the reason
//			for i := range rec.Len() {
//				fmt.Println(rec.Groups[rec.Group[i]].Name, rec.Duration[i], faults.Values[i])
//			}
//		}
//	}
//
// The quanta are those of an execution trace. A goroutine is running, or in a system call that
// still holds its P, as in a bottle graph, so the durations sum to the graph's running time. An
// event that the kernel records individually belongs to the quantum that its thread executed at
// that time ([Exact]). Faster counters, such as cycles, are read each millisecond of a thread's
// time and, if permitted, at its switches; they are divided by overlap with the time on a processor
// ([Interpolated]). Levels of the heap are the latest in the trace ([Observed]).
//
// For each counter, the known values and [Counter].Remainder sum to [Counter].Total, the kernel's
// count over all threads. Unknown values are [Unknown], never zero. The accuracy was measured:
// TestFaultsOfAlternatingGoroutines and TestUniformCounters in package counters.
//
// A row takes about 100 bytes and 0.3 µs, a third of the time for reading the trace
// (BenchmarkObserver).
package quanta
