// Package background starts the goroutines with which this module measures a program and reads its
// traces. A trace shows where a goroutine started; those that start here are the module's own, and
// never counted as the application's (timeline.Tracer).
package background

// Go calls f in a goroutine of the module's own.
func Go(f func()) { go run(f) }

// run is a function of its own, so that its name is in the trace, whatever f is.
//
//go:noinline
func run(f func()) { f() }
