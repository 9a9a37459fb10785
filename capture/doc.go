// Package capture keeps what a service did just before something went wrong: a slow request, a long
// wait for a lock, lost capacity, a queue of goroutines, a panic, a signal, or a call of Trigger.
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/capture"
//	)
//
//	func main() {
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		c := capture.New(capture.Options{Recorder: &rec, Sink: &capture.Dir{Path: "captures"}})
//		log.Print(http.ListenAndServe("localhost:8080", c.SlowRequests(http.DefaultServeMux, time.Second)))
//	}
//
// Start watches the conditions of Options.When, such as a queue of goroutines; requests, operations,
// panics and calls of Trigger need no Start. Option Captures of package exporters/live shows the
// captures.
//
// A capture holds the execution trace of the last seconds, the verdict on it as Markdown and JSON,
// the waits for wrapped locks, and the reason. At most one is taken at a time, and by default one
// in ten minutes; the others are counted. A [Dir] bounds their number and the bytes on disk.
// Modules of their own have interceptors for gRPC (exporters/grpc) and a Sink for object storage
// (exporters/blob).
//
// Cost: a Trigger that is suppressed takes some 15 ns. A request that is watched takes 0.2 µs while
// it is too early for a capture, and else 0.6 µs (BenchmarkTrigger). A capture copies the recording
// and analyzes it, about 0.5 µs of CPU time per event, of which it takes a tenth of one processor at
// a time, and at most Options.MaxMemory.
// "go run ./benchmarks/live -storm" measures a service with 10,000 slow requests a second.
package capture
