package timeline

import (
	"fmt"
	"iter"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// A decoder turns one generation into a decoded: every event as a record of
// 16 bytes, in order, with numbers that are local to the generation, and beside
// them the tables that the numbers point to. The records hold no pointers, so
// the collector does not look at them, and the memory of the Reader that made them can go.

// record is one event, compactly. What x and y mean depends on the code:
//
//	a step to Running, or into the world in a system call:  thread, P
//	any other step from NotExist or Waiting:                who did it, its call chain
//	any other step from Running:                            reason, call chain
//	codeProcIdle:                                           1 if it is a status; g is the P
//	codeRange…: g is the goroutine or P of its scope;       name<<2 | scope, who was executing; for a goroutine its call chain
//	codeMetric: g is its name;                              low and high half of the value
//	codeAux:                                                g is the index of the aux
//	codeSkip:                                               low and high half of the ns to skip
//
// −1 stands for none.
type record struct {
	head uint32 // ns since the record before <<8 | code
	g    int32  // the goroutine
	x, y int32
}

// Codes below codeRangeBegin are steps of goroutines: from·numStates + to.
const (
	codeRangeBegin  uint8 = 249
	codeRangeActive uint8 = 250
	codeRangeEnd    uint8 = 251
	codeMetric      uint8 = 252
	codeProcIdle    uint8 = 253 // a P went idle: a system call may have lost it
	codeAux         uint8 = 254 // anything rarer
	codeSkip        uint8 = 255 // time jumps by more than maxDelta

	maxDelta = 1<<24 - 1
)

func stepCode(from, to State) uint8 { return uint8(from)*uint8(numStates) + uint8(to) }

func stepStates(code uint8) (from, to State) {
	return State(code / uint8(numStates)), State(code % uint8(numStates))
}

// localG is what a generation as a whole tells of one goroutine. It is known
// before the generation is replayed: statuses are written late, names later still.
type localG struct {
	id     int64
	name   int32    // index of the start function's name, −1 if not told
	stack  int32    // call chain of the status, −1
	thread int32    // of the status, −1
	proc   int32    // of the status, −1
	status State    // the state before the first transition; Unknown if the goroutine was born in this generation
	source nameRank // where name comes from
	assist bool     // a mark assist was under way at the status
	site   int32    // call chain of the creation, −1
	// The call chains with which it stopped, started or woke others, one of those that show the
	// same, times 2, + 1 if it was not stopped. See naming.go.
	shown  int32 // the first one, −1 if there is none
	last   int32 // the call chain of the latest of them, −1
	others int32 // further ones: index of decoded.others + 1, 0 if there are none
}

// nameRank orders the evidence for a goroutine's start function.
type nameRank uint8

const (
	unnamed   nameRank = iota
	fromBlock          // root of the stack of a voluntary block or system call
	fromStatus
	fromCreation
)

// auxKind tells what an aux stands for.
type auxKind uint8

const (
	auxLabel auxKind = iota
	auxTaskBegin
	auxTaskEnd
	auxRegionBegin
	auxRegionEnd
	auxLog
	auxSample
	auxClock
)

// aux is an event that is too rare or too large for a record.
type aux struct {
	kind        auxKind
	name, value string
	id, parent  uint64
	at          int64 // of a clock snapshot: the wall clock, in ns since 1970; of a label: the local number of the goroutine
	by          int32 // local number of the goroutine that was executing, −1
	stack       int32 // its call chain, −1
	thread      int32 // −1
	proc        int32 // −1
}

// decoded is one generation, ready for replay.
type decoded struct {
	base                Time // time of the record before the first one
	firstReal, lastReal Time // of events that are not statuses
	hasReal             bool
	past                bool // what is later than the limit of the decoder was left out
	chunks              []*chunk
	lastLen             int // records in the last chunk
	events              int
	gs                  []localG // without pointers, like the records
	others              [][]int32
	names               []string // of functions, ranges and metrics
	stacks              []*Stack
	reasons             []string
	threads             []int64
	aux                 []aux
	// err is why decoding ended early; what came before it is good.
	err error
	// lost are the coroutines of which the generation has only the end.
	lost []wireformat.Lost
	// instead is why the Reader of x/exp/trace decoded the generation; nil if it did not, or
	// had to.
	instead error
}

// othersOf returns the call chains that are noted for a goroutine besides the first.
func (d *decoded) othersOf(l *localG) []int32 {
	if l.others == 0 {
		return nil
	}
	return d.others[l.others-1]
}

// holds says what takes the memory of the generation.
func (d *decoded) holds() string {
	if d.events == 0 {
		return "one generation holds too many strings, call chains or events"
	}
	return fmt.Sprintf("one generation holds %s, %s and more than %s", format.Plural(len(d.gs), "goroutine", "goroutines"),
		format.Plural(len(d.stacks), "call chain", "call chains"), format.Plural(d.events, "event", "events"))
}

// recordsPerChunk keeps a chunk at 128 kB.
const recordsPerChunk = 8192

type chunk [recordsPerChunk]record

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

// release gives the memory of the records back.
func (d *decoded) release() {
	for _, c := range d.chunks {
		chunkPool.Put(c)
	}
	d.chunks = nil
}

// all returns the records, chunk by chunk.
func (d *decoded) all() iter.Seq[[]record] {
	return func(yield func([]record) bool) {
		for i, c := range d.chunks {
			n := recordsPerChunk
			if i == len(d.chunks)-1 {
				n = d.lastLen
			}
			if !yield(c[:n]) {
				return
			}
		}
	}
}
