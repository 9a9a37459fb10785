// Package perfetto converts an execution trace of a Go program to a trace for Perfetto
// (https://ui.perfetto.dev), the viewer and query engine for timelines. It shows what each
// goroutine did and when, what it was blocked on, and which goroutine woke it.
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/exporters/perfetto"
//		"github.com/bottleneck-go/bottleneck/timeline"
//	)
//
//	func main() {
//		o, finish := perfetto.New(os.Stdout, "")
//		_, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, o)
//		if err != nil {
//			log.Print(err) // what was read before is still written
//		}
//		if err := finish(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The program has tracks for counters, phases of the garbage collector and user tasks. Each
// processor shows the goroutines that it ran. Each group of goroutines is a process with its
// goroutines as threads, whose slices are their states. Arrows lead from a goroutine to the one
// that it wakes. The slices of running goroutines and of each kind of waiting sum to the times of a
// bottle graph, to the nanosecond.
//
// Up to 5000 goroutines have their own tracks; later ones share tracks of their group. Names are
// truncated to 300 characters, call stacks to 16 frames. Samples of the CPU profiler and arrows from
// a go statement to its goroutine are not written.
//
// The file is written in one pass: about 130 bytes and half a microsecond per event of the trace
// (BenchmarkWrite). Memory use depends on the number of live goroutines and distinct names, not on
// the length of the trace. The output is deterministic.
package perfetto
