package wireformat

import "math"

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

// Size returns the number of bytes of the thread's events that Next has not read.
func (t *Thread) Size() int {
	n := t.end - t.pos
	for _, b := range t.batches {
		n += b.end - b.begin
	}
	return n
}

// Next reads the next events of a thread into the slice, and returns their number. It is less than
// the length of the slice only at the end of the thread's events, or with an error.
func (g *Generation) Next(t *Thread, events []Event) (n int, err error) {
	data := g.data
	for n < len(events) {
		for t.pos == t.end {
			if len(t.batches) == 0 {
				return n, nil
			}
			b := t.batches[0]
			t.batches = t.batches[1:]
			t.pos, t.end, t.now = b.begin, b.end, g.Nanos(b.time)
		}
		// Branches that depend on the lengths of the numbers are predicted well, so this is twice
		// as fast as masks and shifts of whole words.
		pos, end, now := t.pos, t.end, t.now
		for n < len(events) && pos < end && pos+longest <= len(data) {
			ev, at, typ := &events[n], pos+1, Type(data[pos])
			k := int(timed[typ])
			dt := uint64(data[at])
			if at++; dt >= 0x80 {
				if dt, at = long(data, at, dt); at > end {
					break
				}
			}
			for a := 0; a < k; a++ {
				v := uint64(data[at])
				if at++; v >= 0x80 {
					if v, at = long(data, at, v); at > end {
						break
					}
				}
				ev.Args[a&(maxArgs-1)] = v
			}
			if k < 0 || at > end {
				break
			}
			now += g.Nanos(dt)
			ev.Type, ev.Time, ev.At = typ, now, pos
			pos = at
			n++
		}
		if t.pos, t.now = pos, now; n == len(events) || pos == end {
			continue
		}
		ok, err := g.one(t, &events[n])
		if err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

// longest is the length of the data that Next may look at for one event.
const longest = 1 + (1+maxArgs)*4

// long returns a number of two to four bytes, of which the first one is v, and the offset of what
// follows: math.MaxInt if the number is longer.
func long(data []byte, at int, v uint64) (uint64, int) {
	b := uint64(data[at])
	v += b<<7 - 1<<7
	if b >= 0x80 {
		b = uint64(data[at+1])
		v += b<<14 - 1<<14
		if at++; b >= 0x80 {
			b = uint64(data[at+1])
			v += b<<21 - 1<<21
			if at++; b >= 0x80 {
				return 0, math.MaxInt
			}
		}
	}
	return v, at + 1
}

// one reads the next event of the batch. In a generation that is cut off, it skips the rest of a
// batch that cannot be read.
func (g *Generation) one(t *Thread, ev *Event) (ok bool, err error) {
	r := reader{data: g.data[:t.end], at: t.pos + 1}
	typ := Type(g.data[t.pos])
	k := int(timed[typ])
	if k >= 0 {
		dt := r.number()
		for a := range k {
			ev.Args[a&(maxArgs-1)] = r.number()
		}
		if !r.bad {
			t.now += g.Nanos(dt)
			ev.Type, ev.Time, ev.At = typ, t.now, t.pos
			t.pos = r.at
			return true, nil
		}
	}
	switch {
	case g.opt.Cut:
		t.pos = t.end
		return false, nil
	case k < 0:
		return false, Broken(t.pos, "type %d among the events of a thread", typ)
	}
	return false, Broken(t.pos, "%v", errNumber)
}

// Rest calls f for the events of a thread that Next has not read.
func (g *Generation) Rest(t *Thread, f func(*Event)) {
	rest, events := *t, make([]Event, 16)
	for {
		n, err := g.Next(&rest, events)
		for i := range events[:n] {
			f(&events[i])
		}
		if n < len(events) || err != nil {
			return
		}
	}
}
