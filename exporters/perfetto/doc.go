// Package perfetto writes an execution trace of a Go program as a trace for Perfetto
// (https://ui.perfetto.dev), the viewer and query engine for timelines: what each goroutine did
// when, what it was blocked on, and who woke it.
//
// A program that converts a trace:
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
// # What is in it
//
//   - The program: counters of the goroutines that run (the parallelism of a bottle graph, at each
//     instant) and that are runnable, of the heap and of every other metric in the trace; phases of
//     the garbage collector; stop-the-world pauses; user tasks, which overlap and so share as many
//     tracks as are open at a time.
//   - The processors (P): the goroutine that each of them runs, and the sweeping that it does.
//   - Each group of goroutines is a process, by default those started with the same function, and
//     each goroutine one of its threads. Its slices are its states: running, syscall, runnable,
//     "blocked: mutex" and so on. A slice tells when it is selected why the goroutine blocked, at
//     which call chain, who woke it and at which call chain; and for one that ran, on which
//     processor and thread. User regions and the runtime's own ranges, such as mark assists, are on
//     a track beneath. Messages of runtime/trace.Log are instants.
//   - Flows: an arrow from the instant at which a goroutine wakes another, by an unlock, a send, a
//     close, to the one that it wakes. Only wakes that the trace shows have one: those by timers
//     and the network have no waker.
//
// The slices of running goroutines, of processors, and the counter of parallelism sum to the same
// time, that of a bottle graph, to the nanosecond; so do those of each kind of waiting. Times are
// those of the trace.
//
// # Limits
//
// 5000 goroutines have tracks of their own ([Options].MaxTracks); later ones share tracks of their
// group, one at a time. A goroutine whose name the trace tells late moves to a track of its group
// then; the regions that are open are cut there. Names are cut after 300 characters, call chains
// after 16 frames, and made safe: valid UTF-8 without control characters. Samples of the CPU
// profiler and arrows from a go statement to its goroutine are not written.
//
// # Cost
//
// The file is written in one pass, as the trace is read: about 130 bytes and half a microsecond of
// processor time an event of the trace, as much again as reading it takes (BenchmarkWrite). The
// memory follows the live goroutines and the distinct names, of which 4096 of each sort are kept;
// it does not grow with the trace. The same trace always becomes the same bytes.
//
// The encoding is written out by hand: wire.go has the numbers of all fields by their names in
// Perfetto's proto files.
package perfetto
