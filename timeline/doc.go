// Package timeline reads execution traces (runtime/trace) and shows them to observers as intervals of
// goroutines, ordered by time. All trace analyses of this module are observers.
//
// The files follow the data: input.go opens a trace, generation.go cuts it into generations of
// about a second each, decode.go decodes them concurrently into records (wiredecode.go and
// wireorder.go with our decoder, readerdecode.go with golang.org/x/exp/trace), replay.go replays
// the records through one state machine, observer.go defines what observers see. splitter.go and
// stream.go do the same for the trace of the running program ([Stream]).
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/timeline"
//	)
//
//	type waits struct {
//		timeline.Base
//		mutex timeline.Time
//	}
//
//	func (w *waits) Transition(t *timeline.Transition) {
//		if t.Wait == timeline.WaitMutex {
//			w.mutex += t.End - t.Start
//		}
//	}
//
//	func main() {
//		var w waits
//		_, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, &w)
//		if err != nil {
//			log.Print(err) // where the trace is broken, and what is missing
//		}
//		fmt.Println("ns waited for mutexes:", w.mutex)
//	}
//
// Memory grows with the largest generation, the live goroutines and the distinct call chains.
// docs/measurements.md has the times (go run ./benchmarks/pass).
package timeline
