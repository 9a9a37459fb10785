package timeline

import (
	"errors"
	"time"
)

// StreamOptions are the choices of a [Stream]. The zero value is right for most.
type StreamOptions struct {
	// Budget is how much of the machine the stream may use: its CPU time never exceeds
	// Budget × GOMAXPROCS × the time since the stream began, nor the same over the last Horizon. Generations that
	// would need more are dropped. 0 means 0.02; at most 1.
	Budget float64
	// Horizon is for how long what was not used of the budget is kept. A generation that
	// needs more than Budget × GOMAXPROCS × Horizon is always dropped. 0 means a minute.
	Horizon time.Duration
	// MaxPending bounds the bytes that wait to be read, those of the generation under
	// way included. 0 means 64 MB.
	MaxPending int64
	// AfterGeneration is called on the worker's goroutine, between two calls of the
	// observers, when a generation was shown to them. The argument is valid during the call.
	AfterGeneration func(*Generation)
}

// Generation tells of a generation of a trace that the observers of a [Stream] have seen.
type Generation struct {
	Number     uint64 // the runtime's count, from 1
	Start, End Time   // the time that it added to the pass
	Bytes      int64
	Events     int64
	// CPU is what reading it took; see [StreamStats].CPUSource.
	CPU time.Duration
	// Gap is what is missing directly before it, or nil.
	Gap *Gap
}

// Drop counts generations that were dropped.
type Drop struct {
	Generations int64
	Bytes       int64
	// Duration is the time they were about, by when they arrived.
	Duration time.Duration
}

// Dropped counts what a [Stream] dropped, in sum and by reason.
type Dropped struct {
	Drop
	// Behind: StreamOptions.MaxPending bytes were waiting already.
	Behind Drop
	// OverBudget: reading them would have needed more CPU time than StreamOptions.Budget leaves.
	OverBudget Drop
	// Broken: they are not what a trace consists of, or an observer panicked.
	Broken Drop
}

// StreamStats tells what a [Stream] has done so far. Every generation that was
// written is counted once: in Generations, in Dropped or in Pending.
type StreamStats struct {
	Generations int64 // shown to the observers
	Bytes       int64 // of these generations
	Events      int64 // in them
	Dropped     Dropped
	// Pending and PendingBytes are what waits to be read, without the generation under way.
	Pending, PendingBytes int64
	// CPU is the time that the stream used: for copying, decoding, replay and observers. What the
	// collector does because of it is not in it.
	CPU time.Duration
	// CPUSource says how CPU was measured: "thread clock", or "wall clock", an upper bound, on
	// systems where Go does not reach the clock of a thread.
	CPUSource string
	// Elapsed is the time since the first byte.
	Elapsed time.Duration
	// Err is what ended the stream early: what was written is no trace, or an observer panicked.
	Err error
}

// Stream reads a trace while it is written, for ever: give it to runtime/trace.Start.
type Stream struct{}

// NewStream returns a stream that shows what is written to it to the observers.
func NewStream(opt StreamOptions, observers ...Observer) *Stream { return &Stream{} }

var errNotYet = errors.New("timeline: Stream is not implemented yet")

// Write takes the next bytes of the trace.
func (s *Stream) Write(p []byte) (int, error) { return len(p), nil }

// Close ends the stream.
func (s *Stream) Close() error { return errNotYet }

// Stats tells what the stream has done so far.
func (s *Stream) Stats() StreamStats { return StreamStats{Err: errNotYet} }
