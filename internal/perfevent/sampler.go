package perfevent

import "time"

// SamplerOptions say what a [Sampler] records of a process.
type SamplerOptions struct {
	// PID is the process; 0 is the calling one.
	PID int
	// Hits are events whose every occurrence is recorded.
	Hits []Spec
	// Group are events that are read together, whenever a thread leaves its processor (where
	// the kernel permits that) and, while it has one, once a Period.
	Group []Spec
	// Period is 1 ms if 0.
	Period time.Duration
	// RingBytes is how large the buffer of a processor should be; a power of two, 2 MB if 0. It
	// is made smaller where the system does not allow that much.
	RingBytes int
}

// Refusal is an event that the system refused.
type Refusal struct {
	Spec Spec
	Err  error
}
