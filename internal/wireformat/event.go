package wireformat

import (
	"encoding/binary"
	"math/bits"
)

// Type is the type of an event, or of the data of a batch.
type Type uint8

// The types, with their arguments other than the time.
const (
	EventBatch         Type = 1 + iota
	Stacks                  // begins a batch of call chains
	Stack                   // id, frames
	Strings                 // begins a batch of strings
	String                  // id, length
	CPUSamples              // begins a batch of samples
	CPUSample               // time, thread, proc, goroutine, stack
	Frequency               // time units per second
	ProcsChange             // GOMAXPROCS, stack
	ProcStart               // proc, seq
	ProcStop                //
	ProcSteal               // proc, seq, thread
	ProcStatus              // proc, status
	GoCreate                // goroutine, start stack, stack
	GoCreateSyscall         // goroutine
	GoStart                 // goroutine, seq
	GoDestroy               //
	GoDestroySyscall        //
	GoStop                  // reason, stack
	GoBlock                 // reason, stack
	GoUnblock               // goroutine, seq, stack
	GoSyscallBegin          // seq of the proc, stack
	GoSyscallEnd            //
	GoSyscallEndBlock       //
	GoStatus                // goroutine, thread, status
	STWBegin                // kind, stack
	STWEnd                  //
	GCActive                // seq
	GCBegin                 // seq, stack
	GCEnd                   // seq
	GCSweepActive           // proc
	GCSweepBegin            // stack
	GCSweepEnd              // swept, reclaimed
	GCMarkAssistActive      // goroutine
	GCMarkAssistBegin       // stack
	GCMarkAssistEnd         //
	HeapAlloc               // bytes
	HeapGoal                // bytes
	GoLabel                 // label
	UserTaskBegin           // task, parent, name, stack
	UserTaskEnd             // task, stack
	UserRegionBegin         // task, name, stack
	UserRegionEnd           // task, name, stack
	UserLog                 // task, category, message, stack
	GoSwitch                // goroutine, seq
	GoSwitchDestroy         // goroutine, seq
	GoCreateBlocked         // goroutine, start stack, stack
	GoStatusStack           // goroutine, thread, status, stack
	ExperimentalBatch
	Sync          // begins a batch of the clocks
	ClockSnapshot // mono, s, ns
	EndOfGeneration

	// FirstExperimental is the smallest type of experimental events.
	FirstExperimental Type = 128
	lastExperimental  Type = 136
)

// Statuses of goroutines.
const (
	GoRunnable = 1
	GoRunning  = 2
	GoSyscall  = 3
	GoWaiting  = 4
)

// Statuses of processors.
const (
	ProcRunning          = 1
	ProcIdle             = 2
	ProcSyscall          = 3
	ProcSyscallAbandoned = 4
)

// maxArgs is the maximum number of arguments of an event.
const maxArgs = 4

// timed is the number of arguments of each event type that has a time; −1 for other types.
var timed = func() (n [256]int8) {
	for i := range n {
		n[i] = -1
	}
	for count, types := range [][]Type{
		{ProcStop, GoDestroy, GoDestroySyscall, GoSyscallEnd, GoSyscallEndBlock, STWEnd, GCMarkAssistEnd},
		{GoCreateSyscall, GCActive, GCEnd, GCSweepActive, GCSweepBegin, GCMarkAssistActive, GCMarkAssistBegin, HeapAlloc, HeapGoal, GoLabel, 130, 133, 136},
		{ProcsChange, ProcStart, ProcStatus, GoStart, GoStop, GoBlock, GoSyscallBegin, STWBegin, GCBegin, GCSweepEnd, UserTaskEnd, GoSwitch, GoSwitchDestroy, 131, 132, 134, 135},
		{ProcSteal, GoCreate, GoUnblock, GoStatus, UserRegionBegin, UserRegionEnd, GoCreateBlocked, ClockSnapshot, 128, 129},
		{UserTaskBegin, UserLog, GoStatusStack},
	} {
		for _, t := range types {
			n[t] = int8(count)
		}
	}
	return n
}()

// IsStatus reports whether the time of the events of a type is not that of an action: they report a
// state that has lasted, or belong to an experiment.
func (t Type) IsStatus() bool {
	switch t {
	case ProcStatus, GoStatus, GoStatusStack, GCActive, GCSweepActive, GCMarkAssistActive:
		return true
	}
	return t >= FirstExperimental
}

// Event is an event of a thread.
type Event struct {
	Type Type
	Time int64 // in ns
	Args [maxArgs]uint64
	At   int // its offset in the generation
}

// Advance reads the next event of a thread into ev. It returns false if there is none.
func (g *Generation) Advance(t *Thread, ev *Event) (bool, error) {
	for {
		for t.pos == t.end {
			if len(t.batches) == 0 {
				return false, nil
			}
			b := t.batches[0]
			t.batches = t.batches[1:]
			t.pos, t.end, t.now = b.begin, b.end, g.Nanos(b.time)
		}
		data, pos := g.data[:t.end], t.pos
		typ := Type(data[pos])
		pos++
		n := int(timed[typ])
		var dt uint64
		if pos < len(data) && data[pos] < 0x80 {
			dt = uint64(data[pos])
			pos++
		} else if dt, pos = long(g.data, pos, len(data)); pos < 0 {
			n = min(n, 0)
		}
		for a := 0; a < n; a++ {
			if pos < len(data) && data[pos] < 0x80 {
				ev.Args[a&(maxArgs-1)] = uint64(data[pos])
				pos++
			} else if ev.Args[a&(maxArgs-1)], pos = long(g.data, pos, len(data)); pos < 0 {
				break
			}
		}
		switch {
		case n >= 0 && pos > 0:
			t.now += g.Nanos(dt)
			ev.Type, ev.Time, ev.At = typ, t.now, t.pos
			t.pos = pos
			return true, nil
		case g.opt.Cut:
			t.pos = t.end
		case n < 0:
			return false, Broken(t.pos, "type %d among the events of a thread", typ)
		default:
			return false, Broken(t.pos, "%v", errNumber)
		}
	}
}

// Rest calls f for the events of a thread that Advance has not read.
func (g *Generation) Rest(t *Thread, f func(*Event)) {
	rest, ev := *t, Event{}
	for {
		if more, err := g.Advance(&rest, &ev); !more || err != nil {
			return
		}
		f(&ev)
	}
}

// long reads a varint of more than one byte, up to eight bytes at once, from data that ends at end.
// It returns the offset of the next number, or −1 if the varint is incomplete.
func long(data []byte, pos, end int) (uint64, int) {
	if pos+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[pos:])
		if stop := ^w & 0x8080808080808080; stop != 0 {
			w &= stop ^ (stop - 1) // up to the first byte without a continuation bit
			w &= 0x7f7f7f7f7f7f7f7f
			w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
			w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
			w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
			if pos += bits.TrailingZeros64(stop)>>3 + 1; pos > end {
				return 0, -1
			}
			return w, pos
		}
	}
	v, n := binary.Uvarint(data[pos:end])
	if n <= 0 {
		return 0, -1
	}
	return v, pos + n
}
