package cycles

import (
	"fmt"
	"time"
)

// Source says what counted.
type Source string

// The sources, best first. The last three but one cannot be opened: they label
// granularity that was computed from an execution trace.
const (
	RefCyclesRDPMC Source = "ref-cycles/rdpmc" // hardware reference cycles, read in user mode
	RefCyclesRead  Source = "ref-cycles/read"  // hardware reference cycles, read by a system call
	CPUCycles      Source = "cpu-cycles/read"  // hardware cycles at the core's own, varying frequency
	RseqClock      Source = "rseq-clock"       // thread CPU time kept current by the TSC while an rseq marker stands
	MSRTSC         Source = "msr/tsc"          // perf event that counts the TSC while the thread is on a processor
	ThreadClock    Source = "thread-clock"     // the system's thread CPU clock × TSC frequency
	TraceSwitches  Source = "trace-switches"   // a trace's running time less what switch records take away
	TraceRunning   Source = "trace-running"    // a trace's running time
	WallTSC        Source = "wall-tsc"         // elapsed time × TSC frequency
)

// Ladder lists the sources that [Open] tries, best first.
var Ladder = []Source{RefCyclesRDPMC, RefCyclesRead, CPUCycles, RseqClock, MSRTSC, ThreadClock, WallTSC}

// Accuracy says how far a count of cycles can be trusted.
type Accuracy string

// The accuracies.
const (
	// Counted: hardware counted the thread's reference cycles.
	Counted Accuracy = "counted"
	// CountedUser: as Counted, but without the thread's time in the kernel.
	CountedUser Accuracy = "counted-user"
	// CoreCycles: hardware counted, but at the core's varying frequency. Such
	// counts do not compare with reference cycles.
	CoreCycles Accuracy = "core-cycles"
	// ThreadTime: the thread's processor time × the TSC frequency.
	ThreadTime Accuracy = "thread-time"
	// UpperBound: time off the processor is included.
	UpperBound Accuracy = "upper-bound"
)

// Info describes a clock: it belongs into every result that was measured with it.
type Info struct {
	Source   Source
	Accuracy Accuracy
	// Hz is how many cycles the source counts in a second of uninterrupted
	// execution; 0 where that varies (cpu-cycles).
	Hz float64
	// HzOrigin says how Hz is known, in words.
	HzOrigin string
	// HzPPM is the uncertainty of Hz in parts per million.
	HzPPM float64
	// Resolution is the smallest difference that the source was seen to
	// count while it was probed.
	Resolution time.Duration
	// Costs is what a reading takes.
	Costs time.Duration
	// Refused says for each better source why it was not taken.
	Refused []string
}

// String is one line for people, such as
// "rseq-clock (thread-time), 2.0000 GHz ±1 ppm, calibrated against CLOCK_MONOTONIC".
func (i Info) String() string {
	if i.Hz == 0 {
		return fmt.Sprintf("%s (%s)", i.Source, i.Accuracy)
	}
	return fmt.Sprintf("%s (%s), %.4f GHz ±%.2g ppm, %s", i.Source, i.Accuracy, i.Hz/1e9, i.HzPPM, i.HzOrigin)
}
