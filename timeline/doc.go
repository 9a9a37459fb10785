// Package timeline reads the execution traces that runtime/trace writes and
// shows them, as intervals of goroutines in the order of time, to any number of observers in
// one pass. All analyses of traces in this module are observers.
//
// # The way of the data
//
// The names of the files follow it:
//
//	input.go               opens a file, a stream, bytes, packed or not; finds the version
//	generation.go          cuts the trace into generations, of about a second each
//	decode.go              decodes generations side by side into compact records:
//	wiredecode.go          with internal/wireformat,
//	readerdecode.go        or with golang.org/x/exp/trace, traces before Go 1.22 and
//	                       what the other does not know
//	replay.go              replays the records in order through one state machine
//	observer.go            what observers are shown
//	beside.go              shows them the same on two goroutines
//
// Beside it, salvage.go reads what is left of a generation that was cut off, c.go finds calls of C
// among system calls and decides when they count as running, wait.go finds what goroutines wait for
// by the runtime's reasons and the call chains, and naming.go names goroutines that a library
// started for the program.
//
// Every generation has a decoder of its own, also when only one is decoded at a
// time: one decoder over a whole trace would move real events, since statuses of one generation
// are written into the time of the next and decoders force time to increase.
//
// # A program
//
// It sums up for how long goroutines waited for a mutex:
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
// An observer is called on one goroutine at a time, in the order of time. What it is given is valid
// during the call. [Beside] lets one that takes long be called on another goroutine than the
// others.
//
// # Live
//
// A [Stream] is a pass over the trace of the program itself, while it runs:
//
//	splitter.go    takes what runtime/trace.Start writes, and cuts it into generations as they come
//	stream.go      reads them within a budget of processor time; the others are dropped whole, and
//	               counted. After a drop it begins anew, and shows observers the [Gap].
//
// Observers need nothing for that, unless they hold what would grow for ever. Those of bottle,
// contention and granularity can be cut: their Cut methods end the current result and begin the
// next.
//
// [ReadTwice] shows a trace that fits into memory twice, the second time knowing what the first
// pass found.
//
// # Cost
//
// Nearly all of a pass is the decoding of the trace; the replay and the
// calls of an observer take a fifth. Decoding uses as many processors as there are, up to eight
// (Options.Workers); a Stream uses one thread. The memory follows the largest generations in
// flight, the live goroutines and the distinct call chains, not the length of the trace.
//
// A Stream spends some 60 to 100 ns for an event, 4 to 6 bytes, and what its observers take;
// "go run ./benchmarks/live" measures that, and what it does to a program.
//
// # Limits
//
// Traces of Go 1.22 to 1.27 are read by generations. Older ones, from Go 1.11, have none
// and are read in one piece, which takes memory for the whole of it; newer ones get an error that
// says so.
//
// A trace does not tell when the operating system took a thread off its core,
// so a goroutine in the state Running may not have run, nor what C code does
// ([State.IsC]). It does not identify
// locks and channels, and shows only waits, not who got a lock without waiting.
// A goroutine that is older than the trace and never blocks has no name.
// The call chains have at most 128 frames.
package timeline
