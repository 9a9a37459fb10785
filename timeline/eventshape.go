package timeline

import "encoding/binary"

// eventShape tells how an event is laid out after its type and time: the
// number of arguments, and which of them are numbers of stacks and strings (bit masks).
type eventShape struct {
	args, stacks, strings uint8
	timed                 bool
}

// eventShapes is the part of the format (internal/trace/tracev2) that has to
// be known to step over events. Only generations that are cut, or that lack something, are read
// with it.
var eventShapes = func() (s [256]eventShape) {
	for typ, shape := range map[uint8]eventShape{
		evProcsChange: {args: 2, stacks: 1 << 1}, evProcStart: {args: 2}, evProcStop: {}, evProcSteal: {args: 3}, evProcStatus: {args: 2},
		14: {args: 3, stacks: 1<<1 | 1<<2}, // GoCreate
		15: {args: 1},                      // GoCreateSyscall
		16: {args: 2},                      // GoStart
		17: {}, 18: {},                     // GoDestroy, GoDestroySyscall
		19: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // GoStop
		20: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // GoBlock
		21: {args: 3, stacks: 1 << 2},                  // GoUnblock
		22: {args: 2, stacks: 1 << 1},                  // GoSyscallBegin
		23: {}, 24: {},                                 // GoSyscallEnd, GoSyscallEndBlocked
		25: {args: 3},                                  // GoStatus
		26: {args: 2, strings: 1 << 0, stacks: 1 << 1}, // STWBegin
		27: {}, 28: {args: 1},                          // STWEnd, GCActive
		29: {args: 2, stacks: 1 << 1}, // GCBegin
		30: {args: 1}, 31: {args: 1},  // GCEnd, GCSweepActive
		32: {args: 1, stacks: 1 << 0}, // GCSweepBegin
		33: {args: 2}, 34: {args: 1},  // GCSweepEnd, GCMarkAssistActive
		35: {args: 1, stacks: 1 << 0},        // GCMarkAssistBegin
		36: {}, 37: {args: 1}, 38: {args: 1}, // GCMarkAssistEnd, HeapAlloc, HeapGoal
		39: {args: 1, strings: 1 << 0},                      // GoLabel
		40: {args: 4, strings: 1 << 2, stacks: 1 << 3},      // UserTaskBegin
		41: {args: 2, stacks: 1 << 1},                       // UserTaskEnd
		42: {args: 3, strings: 1 << 1, stacks: 1 << 2},      // UserRegionBegin
		43: {args: 3, strings: 1 << 1, stacks: 1 << 2},      // UserRegionEnd
		44: {args: 4, strings: 1<<1 | 1<<2, stacks: 1 << 3}, // UserLog
		45: {args: 2}, 46: {args: 2},                        // GoSwitch, GoSwitchDestroy
		47:  {args: 3, stacks: 1<<1 | 1<<2},            // GoCreateBlocked
		48:  {args: 4, stacks: 1 << 3},                 // GoStatusStack
		128: {args: 3}, 129: {args: 3}, 130: {args: 1}, // spans
		131: {args: 2}, 132: {args: 2}, 133: {args: 1}, // heap objects
		134: {args: 2}, 135: {args: 2}, 136: {args: 1}, // goroutine stacks
	} {
		shape.timed = true
		s[typ] = shape
	}
	return s
}()

// The events that matter by themselves here.
const (
	evStacks             = 2
	evStack              = 3
	evStrings            = 4
	evString             = 5
	evCPUSamples         = 6
	evFrequency          = 8
	evProcsChange        = 9
	evProcStart          = 10
	evProcStop           = 11
	evProcSteal          = 12
	evProcStatus         = 13
	evGoCreate           = 14
	evGoCreateSyscall    = 15
	evGoStart            = 16
	evGoDestroy          = 17
	evGoDestroySyscall   = 18
	evSyscallBegin       = 22
	evSyscallEnd         = 23
	evSyscallEndBlocked  = 24
	evGoStatus           = 25
	evGCActive           = 28
	evGCSweepActive      = 31
	evGCMarkAssistActive = 34
	evGoSwitch           = 45
	evGoSwitchDestroy    = 46
	evGoCreateBlocked    = 47
	evGoStatusStack      = 48
	evSync               = 50
	firstExperimental    = 128

	// Statuses of goroutines.
	goRunning = 2
	goSyscall = 3

	// defaultFrequency is the clock of every Go but on Windows: units of 64 ns.
	defaultFrequency = 1e9 / 64
)

// readEvent reads the event that data begins with: its arguments, the time first, and its length.
// The length is 0 if it is no event with a time, or not whole.
func readEvent(data []byte) (args [5]uint64, n int) {
	shape := eventShapes[data[0]]
	if !shape.timed {
		return args, 0
	}
	n = 1
	for a := 0; a <= int(shape.args); a++ {
		v, size := binary.Uvarint(data[n:])
		if size <= 0 {
			return args, 0
		}
		args[a] = v
		n += size
	}
	return args, n
}
