package perfevent

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Kind is the kind of a Record.
type Kind uint8

// The kinds of records.
const (
	_           Kind = iota
	SwitchIn         // the thread got a processor
	SwitchOut        // the thread left its processor to wait for something
	Preempted        // the thread was taken off its processor
	Hit              // one occurrence of an event
	Reading          // the counts of a group of events, since the group was opened
	ThreadBegin      // the thread was created
	ThreadEnd        // the thread exited
	Lost             // Value records were lost: the ring was full
	Broken           // the kernel wrote an invalid record; the rest of this drain is lost

	NumKinds
)

// Record is one record of the kernel.
type Record struct {
	Kind   Kind
	Event  int    // of a Hit: index in SamplerOptions.Hits; of a Reading: index of the group
	CPU    int    // −1 if unknown
	Thread int    // thread ID; 0 if unknown
	Time   int64  // CLOCK_MONOTONIC, nanoseconds
	Value  uint64 // of Lost: how many
	// Values are those of a Reading, in the order of the group. They are valid until the next
	// record is read.
	Values []uint64
	// Enabled and Running of a Reading: see Count.
	Enabled, Running uint64
}

// source is the event that records refer to by their identifier.
type source struct {
	kind  Kind // Hit or Reading
	event int
}

// The kernel's ABI: record types and the flags in a record's header.
const (
	recordLost        = 2
	recordExit        = 4
	recordFork        = 7
	recordSample      = 9
	recordSwitch      = 14
	miscSwitchOut     = 1 << 13
	miscSwitchPreempt = 1 << 14
)

// All events write the same fields: IDENTIFIER, TID, TIME and CPU. They are at the beginning of
// samples and at the end of other records, where the identifier comes last.
const (
	headerBytes  = 8
	trailerBytes = 32 // pid, tid; time; cpu, 0; identifier
	sampleBytes  = 32 // identifier; pid, tid; time; cpu, 0
)

// parse reads a kernel record, including its header. It reports false for records of no interest
// here.
func parse(b []byte, sources map[uint64]source, r *Record) (ok bool, err error) {
	if len(b) < headerBytes {
		return false, fmt.Errorf("perfevent: a record of %d bytes", len(b))
	}
	kind, misc := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:])
	values := r.Values[:0]
	*r = Record{CPU: -1, Values: values}
	if kind == recordSample {
		return parseSample(b[headerBytes:], sources, r)
	}
	body := b[headerBytes:]
	if len(body) < trailerBytes {
		return false, nil // THROTTLE and similar records have it, too; none of ours is that short
	}
	t := body[len(body)-trailerBytes:]
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	r.Thread, r.Time, r.CPU = int(u32(t[4:])), int64(u64(t[8:])), int(u32(t[16:]))
	switch kind {
	case recordSwitch:
		r.Kind = SwitchIn
		if misc&miscSwitchOut != 0 {
			r.Kind = SwitchOut
			if misc&miscSwitchPreempt != 0 {
				r.Kind = Preempted
			}
		}
	case recordFork, recordExit: // pid, ppid; tid, ptid; time
		if len(body) < 24+trailerBytes {
			return false, fmt.Errorf("perfevent: a record of type %d has %d bytes", kind, len(b))
		}
		r.Kind = ThreadBegin
		if kind == recordExit {
			r.Kind = ThreadEnd
		}
		r.Thread, r.Time = int(u32(body[8:])), int64(u64(body[16:]))
	case recordLost: // id; lost
		if len(body) < 16+trailerBytes {
			return false, fmt.Errorf("perfevent: a record of type %d has %d bytes", kind, len(b))
		}
		r.Kind, r.Value = Lost, u64(body[8:])
	default:
		return false, nil
	}
	return true, nil
}

func parseSample(b []byte, sources map[uint64]source, r *Record) (ok bool, err error) {
	if len(b) < sampleBytes {
		return false, fmt.Errorf("perfevent: a sample of %d bytes", len(b))
	}
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	src, ok := sources[u64(b)]
	if !ok {
		return false, nil
	}
	r.Kind, r.Event = src.kind, src.event
	r.Thread, r.Time, r.CPU = int(u32(b[12:])), int64(u64(b[16:])), int(u32(b[24:]))
	if src.kind != Reading {
		return true, nil
	}
	b = b[sampleBytes:] // nr; enabled; running; values
	if len(b) < 24 {
		return false, fmt.Errorf("perfevent: a reading of %d bytes", len(b))
	}
	n := u64(b)
	r.Enabled, r.Running = u64(b[8:]), u64(b[16:])
	if b = b[24:]; n > uint64(len(b)/8) {
		return false, fmt.Errorf("perfevent: a reading of %d values has %d bytes", n, len(b))
	}
	for i := range n {
		r.Values = append(r.Values, u64(b[8*i:]))
	}
	return true, nil
}

// SamplerOptions configures a [Sampler].
type SamplerOptions struct {
	// PID is the process; 0 is the calling one.
	PID int
	// Hits are events whose every occurrence is recorded.
	Hits []Spec
	// Group are events that are read together, whenever a thread leaves its processor (if the
	// kernel permits that) and once per Period while it has one.
	Group []Spec
	// Period defaults to 1 ms.
	Period time.Duration
}

// Refusal is an event that the system refused.
type Refusal struct {
	Spec Spec
	Err  error
}
