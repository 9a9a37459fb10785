package timeline

import (
	"iter"
	"sync"
	"time"
)

// A decoder turns one generation into a decoded: every event as a record of
// 24 bytes, in order, with numbers that are local to the generation, and beside
// them the tables that the numbers point to. The records hold no pointers, so
// the collector does not look at them, and the memory of the Reader that made them can go.

// record is one event, compactly.
type record struct {
	dt     uint32 // ns since the record before
	proc   uint16 // P of the execution context, noProc if none or too large
	op     uint8
	states uint8 // opGo: from<<4 | to
	g      int32 // opGo: the goroutine; opAux: index of the aux; opProcIdle: the P; opSkip: low half of the jump
	by     int32 // opGo: who did it, −1 if nobody; for Running→…: index of the reason; opProcIdle: −1 for a status; opSkip: high half
	stack  int32 // call chain, −1 if none
	thread int32 // index of the thread, −1 if none
}

const noProc = 1<<16 - 1

const (
	opSkip     uint8 = iota // time jumps by more than 32 bits hold
	opGo                    // a goroutine changes state
	opProcIdle              // a P went idle: a system call may have lost it
	opAux                   // anything rarer: see aux
)

// localG is what a generation as a whole tells of one goroutine. It is known
// before the generation is replayed: statuses are written late, names later still.
type localG struct {
	id     int64
	name   int32 // index of the start function's name, −1 if not told
	stack  int32 // call chain of the status, −1
	thread int32 // of the status, −1
	proc   uint16
	status State    // the state before the first transition; Unknown if the goroutine was born in this generation
	source nameRank // where name comes from
	assist bool     // a mark assist was under way at the status
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
	auxRangeBegin auxKind = iota
	auxRangeActive
	auxRangeEnd
	auxLabel
	auxTaskBegin
	auxTaskEnd
	auxRegionBegin
	auxRegionEnd
	auxLog
	auxMetric
	auxSample
	auxClock
)

// aux is an event that is too rare or too large for a record.
type aux struct {
	kind        auxKind
	scope       Scope
	name, value string
	id, parent  uint64
	scopeID     int64 // local goroutine index or P of a range
	wall        time.Time
}

// decoded is one generation, ready for replay.
type decoded struct {
	base                Time // time of the record before the first one
	firstReal, lastReal Time // of events that are not statuses
	hasReal             bool
	chunks              []*chunk
	lastLen             int // records in the last chunk
	events              int
	gs                  []localG
	names               []string
	stacks              []*Stack
	reasons             []string
	threads             []int64
	aux                 []aux
	// err is why decoding ended early; what came before it is good.
	err error
}

// recordsPerChunk keeps a chunk at 192 kB.
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
