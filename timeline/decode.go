package timeline

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
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

// decoding is what decoding a generation takes besides its bytes. wireDecoder decodes traces since
// Go 1.22, decodeByReader older ones and what the other does not know.
type decoding struct {
	ctx    context.Context
	stacks *stackTable
	limit  Time // events later than this are left out; 0 = none
	meter  *memory.Meter
	size   int64 // of the generation, 0 if it is not known
}

// decodeFunc decodes one generation from what open returns, a header and the generation. It always
// returns what it could read; decoded.err tells why it stopped early.
type decodeFunc func(d decoding, open func() io.Reader) *decoded

// cursor is the state of decoding one generation that all decoders have.
type cursor struct {
	d     *decoded
	table *stackTable

	chunk *chunk // the last one, of which n records are used
	n     int

	now       Time // of the event
	recorded  Time // of the last record
	reasonIDs map[string]int32
	nameIDs   map[string]int32

	meter *memory.Meter
	full  bool // there is no room for a table
}

func newCursor(d *decoded, table *stackTable, meter *memory.Meter) cursor {
	return cursor{d: d, table: table, meter: meter, reasonIDs: map[string]int32{}, nameIDs: map[string]int32{}}
}

// room looks whether a table of n elements of size bytes that is full can grow. It is asked only
// then.
func (c *cursor) room(n int, size uintptr) {
	if !c.meter.Room(int64(n) * int64(size) * 2) {
		c.full = true
	}
}

// roomForGs makes room for the goroutines of the next event, as far as there is memory.
func (c *cursor) roomForGs() {
	n := len(c.d.gs)
	if n+4 <= cap(c.d.gs) {
		return
	}
	c.room(n, unsafe.Sizeof(localG{})+64) // and the tables of the decoder grow
	if !c.full {
		c.d.gs = append(make([]localG, 0, 2*n+64), c.d.gs...) // slices.Grow takes twice as much with the race detector
	}
}

// newG adds a goroutine to those of the generation.
func (c *cursor) newG(id int64) {
	c.d.gs = append(c.d.gs, localG{id: id, name: -1, stack: -1, thread: -1, proc: -1, site: -1, shown: -1, last: -1})
}

func (c *cursor) reason(s string) int32 {
	id, ok := c.reasonIDs[s]
	if !ok {
		s = strings.Clone(s)
		id = int32(len(c.d.reasons))
		c.reasonIDs[s] = id
		c.d.reasons = append(c.d.reasons, s)
	}
	return id
}

func (c *cursor) tick(t Time) {
	if c.d.events == 0 {
		c.d.base, c.recorded = t, t
	}
	c.d.events++
	c.now = t
}

// put adds a record that happened now.
func (c *cursor) put(code uint8, g, x, y int32) {
	dt := c.now - c.recorded // not negative: the times of decoders increase
	c.recorded = c.now
	if uint64(dt) > maxDelta {
		s := c.slot()
		s.head, s.g, s.x, s.y = uint32(codeSkip), 0, int32(dt), int32(dt>>32)
		dt = 0
	}
	s := c.slot()
	s.head, s.g, s.x, s.y = uint32(dt)<<8|uint32(code), g, x, y
}

// slot returns where the next record goes.
func (c *cursor) slot() *record {
	if c.n >= recordsPerChunk || c.chunk == nil {
		c.nextChunk()
	}
	s := &c.chunk[c.n&(recordsPerChunk-1)]
	c.n++
	return s
}

func (c *cursor) nextChunk() {
	c.chunk, c.n = chunkPool.Get().(*chunk), 0
	c.d.chunks = append(c.d.chunks, c.chunk)
}

// real notes that the event says when something happened, as statuses do not.
func (c *cursor) real() {
	if !c.d.hasReal {
		c.d.hasReal, c.d.firstReal = true, c.now
	}
	c.d.lastReal = c.now
}

// step records a transition of a goroutine that happened at t.
func (c *cursor) step(t Time, code uint8, g, x, y int32) {
	c.tick(t)
	c.real()
	c.put(code, g, x, y)
}

// addAux records what is too rare or too large for a record.
func (c *cursor) addAux(a aux) {
	if len(c.d.aux) == cap(c.d.aux) {
		if c.room(len(c.d.aux), unsafe.Sizeof(a)); c.full {
			return
		}
	}
	c.d.aux = append(c.d.aux, a)
	c.put(codeAux, int32(len(c.d.aux)-1), -1, -1)
}

func (c *cursor) metric(name string, value uint64) {
	c.real()
	c.put(codeMetric, c.nameID(name), int32(value), int32(value>>32))
}

// createdInC names a goroutine that C created, unless it has a name.
func (c *cursor) createdInC(g int32) {
	c.name(g, fromCreation, -1)
	if l := &c.d.gs[g]; l.name < 0 {
		l.name = c.nameID(callback)
	}
}

// isFirst reports whether a status of the goroutine is the first that the generation tells of it.
func (l *localG) isFirst() bool { return l.status == Unknown && l.source != fromCreation }

// statusStack notes the call chain of a status.
func (c *cursor) statusStack(g int32, to State, stack int32) {
	if stack >= 0 {
		c.name(g, fromStatus, stack)
		c.shows(&c.d.gs[g], stack, to != Runnable && to != Running)
	}
}

// name records the root of a call chain as the goroutine's start function
// unless better evidence is there already.
func (c *cursor) name(g int32, rank nameRank, stack int32) {
	l := &c.d.gs[g]
	if l.source >= rank {
		return
	}
	if rank == fromCreation {
		l.source = rank // born here, named or not
	}
	if stack < 0 {
		return
	}
	s := c.d.stacks[stack]
	if len(s.Frames) >= maxFrames {
		return // the root may be cut off
	}
	if fn := s.Root().Func; fn != "" {
		l.name, l.source = c.nameID(fn), rank
	}
}

// stopped notes the call chain with which a goroutine stopped running, or did something else. If it
// did not do so by itself, the chain may lack its root: it is no evidence for the start function.
func (c *cursor) stopped(g, stack int32, byItself bool) {
	l := &c.d.gs[g]
	if byItself && l.source == unnamed {
		c.name(g, fromBlock, stack)
	}
	l.last = stack
	c.shows(l, stack, byItself)
}

// does notes the call chain with which a goroutine started or woke another, if it is known which.
func (c *cursor) does(g, stack int32) {
	if g >= 0 && stack >= 0 && c.d.gs[g].last != stack {
		c.stopped(g, stack, true)
	}
}

// maxShown bounds the call chains that are noted for a goroutine, all of which show something else.
const maxShown = 64

// shows notes a call chain of a goroutine if it may show something new of its name.
func (c *cursor) shows(l *localG, stack int32, byItself bool) {
	s := c.d.stacks[stack]
	if s.calls == nil && (l.name >= 0 && s.Root().Func == c.d.names[l.name] || len(s.Frames) >= maxFrames) {
		return
	}
	v := stack << 1
	if byItself {
		v |= 1
	}
	if l.shown < 0 {
		l.shown = v
		return
	}
	if v == l.shown {
		return
	}
	same := func(o int32) bool {
		t := c.d.stacks[o>>1]
		return o == v || (o&1 != 0 || !byItself) && t.calls == s.calls && (s.calls != nil || t.Root() == s.Root())
	}
	if same(l.shown) {
		return
	}
	others := c.d.othersOf(l)
	for _, o := range others {
		if same(o) {
			return
		}
	}
	if len(others) == maxShown {
		return
	}
	if l.others == 0 {
		c.d.others = append(c.d.others, nil)
		l.others = int32(len(c.d.others))
	}
	c.d.others[l.others-1] = append(others, v)
}

func (c *cursor) nameID(fn string) int32 {
	id, ok := c.nameIDs[fn]
	if !ok {
		id = int32(len(c.d.names))
		c.nameIDs[fn] = id
		c.d.names = append(c.d.names, fn)
	}
	return id
}
