package wireformat

import "encoding/binary"

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

// ReadEvent returns the arguments of the event at the beginning of data, the time first, and its
// length. The length is 0 if it is not an event with a time, or is incomplete.
func ReadEvent(data []byte) (args [1 + maxArgs]uint64, n int) {
	count := timed[data[0]]
	if count < 0 {
		return args, 0
	}
	n = 1
	for a := 0; a <= int(count); a++ {
		v, size := binary.Uvarint(data[n:])
		if size <= 0 {
			return args, 0
		}
		args[a] = v
		n += size
	}
	return args, n
}

// Event is a decoded event. Indexes of goroutines, threads, strings and call chains are those of
// the Decoder; −1 is none. The fields after Text are valid only for the types named in their
// comments.
type Event struct {
	Type   Type
	Thread int32
	Time   int64 // in ns
	G      int32 // the executing goroutine before the event
	Target int32 // the goroutine that the event is about, if it is another one
	Proc   int64 // the processor of the thread before the event
	Stack  int32 // the call chain of the executing goroutine
	Text   int32 // a reason, a label, a name, a category

	// From and To are the statuses before and after the event, 0 if unknown: GoStatus,
	// ProcStart, ProcStop, ProcSteal, ProcStatus.
	From, To uint8
	Start    int32 // the call chain of the start of a new goroutine: GoCreate
	Text2    int32 // the message: UserLog
	// Value is the processor, the task, or the metric value of the event. Value2 is the parent
	// of the task: UserTaskBegin, UserTaskEnd.
	Value, Value2 uint64
}
