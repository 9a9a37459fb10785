// Package quanta makes a table of a trace or of an archive of counters: a row for each scheduling
// quantum, a stretch of time for which a goroutine ran without a break, with what was counted in it.
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
//		rec, err := quanta.ReadArchive(context.Background(), "work.zip", quanta.Options{})
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
// The quanta are those of an execution trace: running, or in a system call that still holds its P,
// as in a bottle graph, so the durations sum to the graph's running time. An event that the kernel
// records one by one belongs to the quantum that its thread executed then ([Exact]). Counters that
// count too fast for that, such as cycles, are read each millisecond of a thread's time and, where
// permitted, at its switches; they are divided by overlap with the time on a processor
// ([Interpolated]). Levels of the heap are the latest in the trace ([Observed]).
//
// For each counter, the known values and [Counter].Remainder sum to [Counter].Total: what the
// kernel counted on all threads. What is not known is [Unknown], never zero. The accuracy was
// measured: TestFaultsOfAlternatingGoroutines and TestUniformCounters in package counters.
//
// A row takes about 100 bytes and 0.3 µs, a third of the reading of the trace (BenchmarkObserver).
package quanta
