// Package perfetto writes an execution trace of a Go program as a trace for Perfetto
// (https://ui.perfetto.dev), the viewer and query engine for timelines: what each goroutine did
// when, what it was blocked on, and which goroutine woke it.
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
//		w := perfetto.NewWriter(os.Stdout, perfetto.Options{})
//		if _, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, w.Observer()); err != nil {
//			log.Print(err) // what was read before is still written
//		}
//		if err := w.Close(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The program has counters, phases of the collector and user tasks; each processor the goroutines
// that it ran; each group of goroutines is a process with its goroutines as threads, whose slices
// are their states. Arrows lead from a goroutine to the one that it wakes. The slices of running
// goroutines and of each kind of waiting sum to the times of a bottle graph, to the nanosecond.
//
// 5000 goroutines have tracks of their own ([Options].MaxTracks); later ones share tracks of their
// group. Names are cut after 300 characters, call chains after 16 frames. Samples of the CPU
// profiler and arrows from a go statement to its goroutine are not written.
//
// The file is written in one pass: about 130 bytes and half a microsecond for an event of the trace
// (BenchmarkWrite). The memory follows the live goroutines and the distinct names, not the trace.
// The same trace always becomes the same bytes.
package perfetto
