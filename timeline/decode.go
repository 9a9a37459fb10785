package timeline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// A decoder turns one generation into a decoded: each event becomes a record of 16 bytes, in order.
// Records refer to goroutines, stacks and names by numbers that index the tables of decoded. They
// hold no pointers, so the garbage collector does not scan them.
//
// Every generation has its own decoder. A single one for a whole trace would move real events,
// because statuses of one generation are written during the next one and decoders force time to
// increase.

// record is a compact event. The meaning of x and y depends on the code:
//
//	step to Running, or from NotExist into a system call:  thread, P
//	any other step from NotExist or Waiting:    the goroutine that caused it, its call chain
//	any other step from Running:                reason, call chain
//	codeProcIdle (g is the P):                  1 if it is a status
//	codeRange… (g is the goroutine or P):       name<<1, +1 for G; the executing goroutine, or
//	                                            the call chain for a range of a goroutine
//	codeMetric (g is its name):                 low and high half of the value
//	codeAux (g is the index of the aux)
//	codeSkip:                                   low and high half of the ns to skip
//
// −1 means none.
type record struct {
	head uint32 // ns since the previous record <<8 | code
	g    int32  // the goroutine
	x, y int32
}

// Codes below codeRangeBegin are goroutine steps: from<<4 + to.
const (
	codeRangeBegin  uint8 = 249
	codeRangeActive uint8 = 250
	codeRangeEnd    uint8 = 251
	codeMetric      uint8 = 252
	codeProcIdle    uint8 = 253 // a P went idle: a system call may have lost it
	codeAux         uint8 = 254 // an event stored as an aux
	codeSkip        uint8 = 255 // time jumps by more than maxDelta

	maxDelta = 1<<24 - 1
)

func stepCode(from, to State) uint8 { return uint8(from<<4 | to) }

func stepStates(code uint8) (from, to State) {
	return State(code >> 4), State(code & 15)
}

// localG is what a whole generation shows of one goroutine. It is complete before the generation is
// replayed, because the trace contains statuses late and names later still.
type localG struct {
	id    int64
	name  int32 // index of the start function's name, −1 if unknown
	stack int32 // call chain of the status, −1 if none
	site  int32 // call chain of the creation, −1 if none
	// shown is the first call chain with which the goroutine stopped, started or woke others, as
	// evidence; −1 if there is none. See naming.go.
	shown int32
	more  int32 // index in decoded.more + 1, 0 if there is none
	// status is the state before the first transition; Unknown if the goroutine was created in
	// this generation.
	status State
	source nameRank // the evidence for name
	assist bool     // a mark assist was in progress at the status
}

// moreG is what few goroutines have.
type moreG struct {
	thread, proc int32   // of a status that it ran or was in a system call, −1 if none
	others       []int32 // call chains like localG.shown, without equivalent ones
}

// nameRank orders the evidence for a goroutine's start function.
type nameRank uint8

const (
	unnamed   nameRank = iota
	fromBlock          // root of the stack of a voluntary block or system call
	fromStatus
	fromCreation
)

// auxKind is the kind of an aux.
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
	// at is the wall clock of a clock snapshot, in ns since 1970, or the local number of the
	// goroutine of a label.
	at    int64
	by    int32 // local number of the executing goroutine, or −1
	stack int32 // its call chain, or −1
}

// lostG returns the synthetic ID of a coroutine whose end on a thread is its only event in a
// generation: see package wireformat. The replay finds the goroutine: it ran on the thread at the
// end of the previous generation. JavaScript numbers are exact up to twice the smallest synthetic
// ID.
func lostG(thread int64) int64 { return 1<<52 | thread&(1<<52-1) }

// decoded is one generation, ready for replay.
type decoded struct {
	base                Time // time of the record before the first one
	firstReal, lastReal Time // times of the first and last event other than a status
	hasReal             bool
	until               Time // later events are not replayed; 0 = no limit
	chunks              []*chunk
	lastLen             int // records in the last chunk
	events              int
	gs                  localGs // without pointers, like the records
	mostLive            int     // upper bound of the goroutines alive at the same time
	more                []moreG
	names               []string // of functions, ranges and metrics
	stacks              []*Stack
	reasons             []string
	threads             []int64
	aux                 []aux
	// err is the error that ended decoding early. The data before it is valid.
	err error
	// lost lists the coroutines whose end is their only event in the generation: see lostG.
	lost []int32
	// instead is the error after which the Reader of x/exp/trace decoded the generation.
	// It is nil if that Reader was not used or was the only choice.
	instead error
}

// start returns the time of the first event other than a status, if there is one.
func (d *decoded) start() Time {
	if d.hasReal {
		return d.firstReal
	}
	return d.base
}

// othersOf returns the call chains noted for l besides the first.
func (d *decoded) othersOf(l *localG) []int32 {
	if l.more == 0 {
		return nil
	}
	return d.more[l.more-1].others
}

// placeOf returns the thread and the P of the goroutine's status, −1 if there are none.
func (d *decoded) placeOf(l *localG) (thread, proc int32) {
	if l.more == 0 {
		return -1, -1
	}
	m := &d.more[l.more-1]
	return m.thread, m.proc
}

// moreOf returns the rare fields of a goroutine for writing.
func (d *decoded) moreOf(l *localG) *moreG {
	if l.more == 0 {
		d.more = append(d.more, moreG{thread: -1, proc: -1})
		l.more = int32(len(d.more))
	}
	return &d.more[l.more-1]
}

// holds describes what takes up the memory of the generation.
func (d *decoded) holds() string {
	if d.events == 0 {
		return "one generation holds too many strings, call chains or events"
	}
	return fmt.Sprintf("one generation holds %s, %s and more than %s", format.Plural(d.gs.n, "goroutine", "goroutines"),
		format.Plural(len(d.stacks), "call chain", "call chains"), format.Plural(d.events, "event", "events"))
}

// recordsPerChunk makes a chunk 128 kB.
const recordsPerChunk = 8192

type chunk [recordsPerChunk]record

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

// release returns the memory of the records and goroutines to the pools.
func (d *decoded) release() {
	for _, c := range d.chunks {
		chunkPool.Put(c)
	}
	d.chunks = nil
	d.gs.release()
}

// localGs is a table that grows without being copied: a generation may show a million goroutines.
// Unlike the pieces of package byindex, its own are used again, by the next generation.
type localGs struct {
	pieces []*localGPiece
	n      int
}

const (
	pieceBits = 10
	pieceSize = 1 << pieceBits
)

type localGPiece [pieceSize]localG

// localGPool has pieces, and goStatePool whole tables, because each event needs one of their
// elements.
var (
	localGPool  = sync.Pool{New: func() any { return new(localGPiece) }}
	goStatePool = sync.Pool{New: func() any { return new([]goState) }}
)

func (t *localGs) at(i int32) *localG { return &t.pieces[i>>pieceBits][i&(pieceSize-1)] }

// room returns how many more goroutines there is room for.
func (t *localGs) room() int { return len(t.pieces)<<pieceBits - t.n }

func (t *localGs) grow() { t.pieces = append(t.pieces, localGPool.Get().(*localGPiece)) }

// add adds a goroutine. There must be room.
func (t *localGs) add(l localG) {
	*t.at(int32(t.n)) = l
	t.n++
}

func (t *localGs) release() {
	for _, p := range t.pieces {
		localGPool.Put(p)
	}
	*t = localGs{}
}

// chunk returns the records of a chunk.
func (d *decoded) chunk(i int) []record {
	n := recordsPerChunk
	if i == len(d.chunks)-1 {
		n = d.lastLen
	}
	return d.chunks[i][:n]
}

// decoding holds the parameters for decoding a generation, besides its bytes. decoding.decode decodes
// traces of Go 1.22 and later; decodeByReader decodes older ones and those that decode does not
// support.
type decoding struct {
	ctx     context.Context
	version int
	header  []byte // of the trace
	stacks  *stackTable
	meter   *memory.Meter
	other   decodeFunc // see formats
	size    int64      // of the generation, 0 if unknown
	expect  int        // number of goroutines, 0 if unknown
}

// decodeFunc decodes one generation, which open opens. The result holds everything that could be
// read; decoded.err is the reason if decoding stopped early.
type decodeFunc func(d *decoding, open func() io.Reader) *decoded

// cursor is the decoding state that all decoders share.
type cursor struct {
	d     *decoded
	table *stackTable

	chunk *chunk // the last chunk; n of its records are in use
	n     int    // recordsPerChunk if there is none

	now       Time // of the event
	recorded  Time // of the last record
	byG       wireformat.Numbers
	reasonIDs map[string]int32
	nameIDs   map[string]int32
	states    []goState // by local number of the goroutine

	live, peak int // goroutines created less those that exited, and the maximum of that

	meter  *memory.Meter
	expect int  // number of goroutines, 0 if unknown
	full   bool // a table has no room to grow
}

// goState is the state of a goroutine while a generation is decoded.
type goState struct {
	// Call chains that were noted for it: the latest one, and the two latest ones as evidence.
	// −1 means none.
	last   int32
	latest [2]int32

	// Of wireCursor only. seq is a count of events of the generation. extra is the index of
	// extras + 1.
	seq    uint32
	extra  int32
	status State // NotExist also stands for a goroutine that was only mentioned
}

// nothingRecent is the value of goState.latest if there are none, or if the goroutine has a new
// name.
var nothingRecent = [2]int32{-1, -1}

func newCursor(d *decoded, of *decoding) cursor {
	return cursor{d: d, table: of.stacks, meter: of.meter, byG: wireformat.Numbers{Expect: of.expect}, expect: of.expect, states: (*goStatePool.Get().(*[]goState))[:0], reasonIDs: map[string]int32{}, nameIDs: map[string]int32{}}
}

// room checks that a full table of n elements of the given size can grow. Callers call it only when
// the table is full.
func (c *cursor) room(n int, size uintptr) {
	if !c.meter.Room(int64(n) * int64(size) * 2) {
		c.full = true
	}
}

// roomForGs makes room for more goroutines if memory permits. It is called before an event if there
// is none for the four of an event.
func (c *cursor) roomForGs() {
	n := c.d.gs.n + c.d.gs.room() + pieceSize
	moves, pieces := n > cap(c.states), len(c.d.gs.pieces)
	if moves || pieces&(pieces-1) == 0 { // it may double
		c.room(c.d.gs.n, unsafe.Sizeof(localG{})+unsafe.Sizeof(goState{})+32) // byG grows, too
	}
	if c.full {
		return
	}
	c.d.gs.grow()
	if !moves {
		return
	}
	want := n + n/2
	if len(c.states) == 0 && c.meter.Room(int64(c.expect)*int64(unsafe.Sizeof(goState{}))*2) {
		want = max(want, c.expect+c.expect/8)
	}
	// slices.Grow would allocate twice as much with the race detector.
	c.states = append(make([]goState, 0, want), c.states...)
}

// goroutine returns the local number of a goroutine, which it adds if it is new.
func (c *cursor) goroutine(id uint64) int32 {
	g, isNew := c.byG.Add(id)
	if isNew {
		c.d.gs.add(localG{id: int64(id), name: -1, stack: -1, site: -1, shown: -1})
		c.states = append(c.states, goState{last: -1, latest: nothingRecent, status: NotExist})
	}
	return g
}

// done ends the decoding.
func (c *cursor) done() {
	c.d.lastLen = c.n
	c.d.mostLive += c.peak
	states := c.states
	goStatePool.Put(&states)
	c.states = nil
}

func (c *cursor) reason(s string) int32 { return number(s, c.reasonIDs, &c.d.reasons) }

func (c *cursor) nameID(fn string) int32 { return number(fn, c.nameIDs, &c.d.names) }

// number returns the number of a string in a table, which it adds if it is new.
func number(s string, ids map[string]int32, table *[]string) int32 {
	id, ok := ids[s]
	if !ok {
		s = strings.Clone(s)
		id = int32(len(*table))
		ids[s] = id
		*table = append(*table, s)
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

// put adds a record at the current time.
func (c *cursor) put(code uint8, g, x, y int32) {
	dt := uint64(c.now - c.recorded) // not negative: decoders emit increasing times
	c.recorded = c.now
	if dt > maxDelta {
		c.put(codeSkip, 0, int32(dt), int32(dt>>32))
		dt = 0
	}
	if c.n >= recordsPerChunk || c.chunk == nil {
		c.nextChunk()
	}
	r := &c.chunk[c.n&(recordsPerChunk-1)]
	c.n++
	r.head, r.g, r.x, r.y = uint32(dt)<<8|uint32(code), g, x, y
}

func (c *cursor) nextChunk() {
	c.chunk, c.n = chunkPool.Get().(*chunk), 0
	c.d.chunks = append(c.d.chunks, c.chunk)
}

// real notes that the time of the current event is that of an action. The time of a status is not.
func (c *cursor) real() {
	if !c.d.hasReal {
		c.d.hasReal, c.d.firstReal = true, c.now
	}
	c.d.lastReal = c.now
}

// addAux records an event that is too rare or too large for a record.
func (c *cursor) addAux(a aux) {
	if len(c.d.aux) == cap(c.d.aux) {
		if c.room(len(c.d.aux), unsafe.Sizeof(a)); c.full {
			return
		}
	}
	c.d.aux = append(c.d.aux, a)
	c.put(codeAux, int32(len(c.d.aux)-1), -1, -1)
}

func (c *cursor) metric(name int32, value uint64) {
	c.real()
	c.put(codeMetric, name, int32(value), int32(value>>32))
}

// rangeOf records a range of a goroutine (ofG is 1) with its call chain, or one of a processor, −1
// for the whole program, with the executing goroutine.
func (c *cursor) rangeOf(code uint8, name string, ofG, of, by int32) {
	switch {
	case code != codeRangeActive:
		c.real()
	case name == assistRange && ofG != 0:
		c.d.gs.at(of).assist = true
	}
	c.put(code, of, c.nameID(name)<<1|ofG, by)
}

// created notes the creation of a goroutine: its start function, and where it was started.
func (c *cursor) created(g, start, site int32) {
	c.live++
	c.peak = max(c.peak, c.live)
	c.name(g, fromCreation, start)
	c.d.gs.at(g).site = site
}

// createdInC notes a goroutine created by C. It is named so unless it has a name.
func (c *cursor) createdInC(g int32) {
	c.created(g, -1, -1)
	if l := c.d.gs.at(g); l.name < 0 {
		l.name = c.nameID(callback)
		c.states[g].latest = nothingRecent
	}
}

// status notes a status: if it is the first event of a goroutine in the generation, its state before
// that, and its call chain.
func (c *cursor) status(g int32, to State, stack, thread, proc int32) {
	l := c.d.gs.at(g)
	if l.status == Unknown && l.source != fromCreation {
		l.status, l.stack = to, stack
		c.d.mostLive++
		if to == Running || to == Syscall {
			m := c.d.moreOf(l)
			m.thread, m.proc = thread, proc
		}
	}
	if stack >= 0 {
		c.name(g, fromStatus, stack)
		c.shows(l, stack, to != Runnable && to != Running)
	}
}

// name records the root of a call chain as the goroutine's start function, unless there is better
// evidence already.
func (c *cursor) name(g int32, rank nameRank, stack int32) {
	l := c.d.gs.at(g)
	if l.source >= rank {
		return
	}
	if rank == fromCreation {
		l.source = rank // created here, named or not
	}
	if stack < 0 {
		return
	}
	s := c.d.stacks[stack]
	if len(s.Frames) >= maxFrames {
		return // the root may be cut off
	}
	if fn := startOf(s.Root().Func); fn != "" {
		l.name, l.source = c.nameID(fn), rank
		c.states[g].latest = nothingRecent
	}
}

// shown notes the call chain with which a goroutine stopped running or acted on another one, if it
// is not the last one. If byItself is false, the chain may lack its root, so it is no evidence for
// the start function. Most goroutines alternate between two call chains, for which there is nothing
// more to note.
func (c *cursor) shown(g, stack int32, byItself bool) {
	v := evidence(stack, byItself)
	r := &c.states[g]
	r.last = stack
	again := r.latest[1] == v
	r.latest[0], r.latest[1] = v, r.latest[0]
	if again {
		return
	}
	l := c.d.gs.at(g)
	if l.source == unnamed && (byItself || c.d.stacks[stack].fromRuntime()) {
		c.name(g, fromBlock, stack)
	}
	c.shows(l, stack, byItself)
}

// does notes the call chain with which a goroutine started or woke another, if both are known.
func (c *cursor) does(g, stack int32) {
	if g >= 0 && stack >= 0 && c.states[g].last != stack {
		c.shown(g, stack, true)
	}
}

// The metrics of a trace.
const (
	procsMetric = "/sched/gomaxprocs:threads"
	heapMetric  = "/memory/classes/heap/objects:bytes"
	goalMetric  = "/gc/heap/goal:bytes"
)

// maxShown bounds the number of distinct call chains noted for a goroutine.
const maxShown = 64

// shows notes a call chain of a goroutine if it may improve the goroutine's name.
func (c *cursor) shows(l *localG, stack int32, byItself bool) {
	s := c.d.stacks[stack]
	if s.calls == nil && (l.name >= 0 && s.Root().Func == c.d.names[l.name] || len(s.Frames) >= maxFrames) {
		return
	}
	v := evidence(stack, byItself)
	same := func(o int32) bool {
		t := c.d.stacks[o>>1]
		return o == v || (o&1 != 0 || !byItself) && t.calls == s.calls && (s.calls != nil || t.Root() == s.Root())
	}
	switch others := c.d.othersOf(l); {
	case l.shown < 0:
		l.shown = v
	case !same(l.shown) && len(others) < maxShown && !slices.ContainsFunc(others, same):
		c.d.moreOf(l).others = append(others, v)
	}
}

// evidence is the form of a call chain in localG.shown.
func evidence(stack int32, byItself bool) int32 {
	if byItself {
		return stack<<1 | 1
	}
	return stack << 1
}
