// Package timeline reads the execution traces written by runtime/trace. In one pass, it shows them
// to any number of observers as intervals of goroutines, ordered by time. All trace analyses of
// this module are observers.
//
// # Data flow
//
// The file names follow the data:
//
//	input.go               opens a file, a stream or bytes, compressed or not; finds the version
//	generation.go          cuts the trace into generations of about a second each
//	decode.go              decodes generations concurrently into compact records:
//	wiredecode.go          with internal/wireformat, or
//	readerdecode.go        with golang.org/x/exp/trace, for traces before Go 1.22 and for data
//	                       that wireformat does not support
//	replay.go              replays the records in order through one state machine
//	observer.go            defines what observers are shown
//	beside.go              runs observers on two goroutines
//
// In addition, salvage.go reads what is left of a truncated generation, c.go detects calls of C
// among system calls and decides when they count as running, wait.go classifies waits by the
// runtime's reasons and the call chains, and naming.go names goroutines that a library started for
// the program.
//
// Every generation has its own decoder, even if only one is decoded at a time. A single decoder for
// a whole trace would move real events, because statuses of one generation are written during the
// next one and decoders force time to increase.
//
// # Example
//
// This program sums the time that goroutines waited for a mutex:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/timeline"
//	)
//
//	type waits struct {
//		timeline.Base // ignores what it is not interested in
//
//		mutex timeline.Time
//	}
//
//	func (w *waits) Transition(t *timeline.Transition) {
//		if t.State == timeline.Waiting && t.Wait == timeline.WaitMutex {
//			w.mutex += t.End - t.Start
//		}
//	}
//
//	func main() {
//		w := &waits{}
//		info, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, w)
//		if err != nil {
//			log.Print(err) // where the trace is broken, and what is missing
//		}
//		fmt.Println(time.Duration(w.mutex), "in", info.Duration())
//	}
//
// An observer is called on one goroutine at a time, in the order of time. Its arguments are valid
// only during the call. [Beside] allows an expensive observer to be called on another goroutine
// than the others.
//
// # Live traces
//
// A [Stream] is a pass over the trace of the running program itself:
//
//	splitter.go    cuts the output of runtime/trace.Start into generations as it arrives
//	stream.go      reads generations within a CPU budget; others are dropped whole and counted.
//	               After a drop, the replay starts anew and observers are shown the [Gap].
//
// Observers need no special support for streams, unless they keep state that grows without bound.
// Those of bottle, contention and granularity have Cut methods, which end the current result and
// begin the next.
//
// [ReadTwice] shows a trace that fits into memory twice, so that the second pass can use the
// results of the first.
//
// # Cost
//
// Decoding takes nearly all of the time of a pass; the replay and the calls of an observer take a
// fifth. Decoding uses all processors, up to eight (Options.Workers); a Stream uses one thread.
// Memory is proportional to the largest generations in flight, the live goroutines and the distinct
// call chains, not to the length of the trace.
//
// A Stream takes 60 to 100 ns per event (4 to 6 bytes), plus the time of its observers. "go run
// ./benchmarks/live" measures that and the effect on a program.
//
// # Limits
//
// Traces of Go 1.22 to 1.27 are read by generations. Older traces, from Go 1.11 on, have no
// generations; they are read in one piece, which takes memory for the whole trace. Newer traces are
// rejected with an error.
//
// A trace does not show when the operating system preempts a thread, so a goroutine in the state
// Running may not have run. It does not show what C code does ([State.IsC]). It does not identify
// locks and channels, and it shows only waits, not acquisitions without a wait. A goroutine that is
// older than the trace and never blocks has no name. Call chains have at most 128 frames.
package timeline
