package counters

import (
	"fmt"
	"os"
	"runtime/trace"

	"github.com/bottleneck-go/bottleneck/internal/host"
)

// TraceVariable is the environment variable by which "bottleneck record -counters" tells a
// program where to write its execution trace: the name of a file.
const TraceVariable = "BOTTLENECK_TRACE"

// FromEnvironment takes an execution trace if the environment asks for one, so that "bottleneck
// record -counters" can record the program from outside. It belongs at the beginning of main:
//
//	func main() {
//		defer counters.FromEnvironment()()
//
// The function that it returns ends the trace. Without the variable nothing happens, which takes a
// microsecond. A program that ends by os.Exit or a signal leaves a trace that is cut off: a second
// of it may be missing.
//
// It is a call, not an import for its side effect, so that a reader of main sees that the program
// does this.
func FromEnvironment() (stop func()) {
	name := os.Getenv(TraceVariable)
	if name == "" {
		return func() {}
	}
	os.Unsetenv(TraceVariable) // programs that this one starts do not write into the same file
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		if err = trace.Start(f); err != nil {
			f.Close()
		}
	}
	if err != nil {
		// Whoever set the variable waits for the trace; the program itself goes on as ever.
		fmt.Fprintf(os.Stderr, "counters: %s asks for a trace: %v\n", TraceVariable, err)
		return func() {}
	}
	host.Note()
	return func() {
		trace.Stop()
		f.Close()
	}
}
