package timeline

import "time"

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

// Traced tells of a trace that a [Stream] has read: see [Stream.EndTrace].
type Traced struct {
	// Start and End are the time that was shown of it.
	Start, End Time
	// Generations were shown, Dropped were not.
	Generations, Dropped int64
	Bytes, Events        int64
	// CPU is what reading it took; see [StreamStats].CPUSource.
	CPU time.Duration
}

// Drop counts generations that were dropped.
type Drop struct {
	Generations int64
	Bytes       int64
	// Duration is the time they were about, by when they arrived.
	Duration time.Duration
}

func (d *Drop) add(e Drop) {
	d.Generations += e.Generations
	d.Bytes += e.Bytes
	d.Duration += e.Duration
}

// Dropped counts what a [Stream] dropped, in sum and by reason.
type Dropped struct {
	Drop
	// Behind: StreamOptions.MaxPending bytes were waiting already.
	Behind Drop
	// OverMemory: reading them would have needed more memory than StreamOptions.MaxMemory.
	OverMemory Drop
	// Broken: they are not what a trace consists of, or an observer panicked.
	Broken Drop
}

// dropReason is one of the fields of Dropped.
type dropReason uint8

const (
	dropBehind dropReason = iota
	dropOverMemory
	dropBroken
)

func (d *Dropped) add(why dropReason, e Drop) {
	d.Drop.add(e)
	(*[...]*Drop{dropBehind: &d.Behind, dropOverMemory: &d.OverMemory, dropBroken: &d.Broken}[why]).add(e)
}

// StreamStats tells what a [Stream] has done so far. Every generation that was
// written is counted once: in Generations, in Dropped or in Pending.
type StreamStats struct {
	Generations int64 // shown to the observers, or after the end of what is to be shown of a trace (StreamOptions.Show)
	Bytes       int64 // of these generations
	Events      int64 // in them
	Dropped     Dropped
	// Pending and PendingBytes are what waits to be read, without the generation under way.
	Pending, PendingBytes int64
	// CPU is the time that the stream used: for copying, decoding, replay and observers, and
	// what the garbage collector does because of the memory that this takes, by estimate.
	CPU time.Duration
	// CPUSource says how CPU was measured: "thread clock", or "wall clock", an upper
	// bound, on systems where Go does not reach the clock of a thread.
	CPUSource string
	// Elapsed is the time from the first byte until now, or until Close.
	Elapsed time.Duration
	// Err is what is wrong with the stream: what was written is no trace, is broken or ends in
	// the middle, or an observer panicked.
	Err error
}
