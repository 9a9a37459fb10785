package timeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"
)

// decoder is what stands between the bytes of a generation and the replay.
// There is one implementation, on the Reader of x/exp/trace. Decoding is four
// fifths of the cost of a pass, so a faster one may come.
type decoder interface {
	// decode reads the header and one generation from r. It always returns what it could read; decoded.err tells why it stopped early.
	decode(r io.Reader) *decoded
}

// readerDecoder decodes with the Reader of x/exp/trace. Every generation gets a
// Reader of its own: one Reader over a whole trace moves real events, since the
// statuses of a generation are written late, overlap the next one, and the Reader forces time to increase.
type readerDecoder struct {
	ctx    context.Context
	stacks *stackTable
	limit  Time // events later than this are left out; 0 = none
}

// cursor is the state of decoding one generation.
type cursor struct {
	d     *decoded
	table *stackTable

	chunk *chunk // the last one, of which n records are used
	n     int

	now        Time // of the event
	recorded   Time // of the last record
	goroutines goTable
	recent     [stackRows][4]recentStack
	reasons    [16]recentReason
	stackIDs   map[trace.Stack]int32
	reasonIDs  map[string]int32
	nameIDs    map[string]int32
	threadIDs  map[trace.ThreadID]int32
	thread     trace.ThreadID // the last one looked up
	threadID   int32
}

// recentStack and recentReason remember what was looked up of late: goroutines
// block again and again at the same few places, and comparing is
// cheaper than hashing. A goroutine has a row of stacks, shared with others.
type recentStack struct {
	stack trace.Stack
	id    int32
}

type recentReason struct {
	reason string
	id     int32 // +1; 0 = empty
}

const stackRows = 256

func (rd *readerDecoder) decode(r io.Reader) (d *decoded) {
	d = &decoded{}
	defer func() {
		// The Reader validates, but its accessors panic on what validation missed.
		if p := recover(); p != nil {
			d.err = fmt.Errorf("the trace reader failed: %v", firstLine(fmt.Sprint(p)))
		}
	}()
	tr, err := trace.NewReader(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		d.err = readerError(err)
		return d
	}
	c := &cursor{
		d:         d,
		table:     rd.stacks,
		stackIDs:  map[trace.Stack]int32{},
		reasonIDs: map[string]int32{},
		nameIDs:   map[string]int32{},
		threadIDs: map[trace.ThreadID]int32{},
		thread:    trace.NoThread,
		threadID:  -1,
	}
	defer func() { d.lastLen = c.n }()
	for {
		ev, err := tr.ReadEvent()
		if err == io.EOF {
			return d
		}
		if err != nil {
			d.err = readerError(err)
			return d
		}
		if d.events&(1<<16-1) == 0 && rd.ctx.Err() != nil {
			d.err = rd.ctx.Err()
			return d
		}
		if rd.limit != 0 && Time(ev.Time()) > rd.limit {
			return d
		}
		c.event(&ev)
	}
}

// readerError cuts the Reader's errors to one line: they may hold the state of
// every goroutine.
func readerError(err error) error {
	return errors.New(firstLine(err.Error()))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = strings.TrimRight(s, ": ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}

func (c *cursor) event(ev *trace.Event) {
	switch ev.Kind() {
	case trace.EventStateTransition:
		c.transition(ev)
	case trace.EventSync:
		if s := ev.Sync(); s.ClockSnapshot != nil {
			c.aux(ev, false, aux{kind: auxClock, id: uint64(s.ClockSnapshot.Trace), parent: s.ClockSnapshot.Mono, wall: s.ClockSnapshot.Wall})
		}
	case trace.EventMetric:
		m := ev.Metric()
		if m.Value.Kind() == trace.ValueUint64 {
			c.aux(ev, true, aux{kind: auxMetric, name: m.Name, id: m.Value.Uint64()})
		}
	case trace.EventLabel:
		l := ev.Label()
		if l.Resource.Kind == trace.ResourceGoroutine {
			c.aux(ev, true, aux{kind: auxLabel, name: l.Label, scopeID: int64(c.goroutine(l.Resource.Goroutine()))})
		}
	case trace.EventStackSample:
		c.aux(ev, false, aux{kind: auxSample})
	case trace.EventRangeBegin:
		c.rangeEvent(ev, auxRangeBegin)
	case trace.EventRangeActive:
		c.rangeEvent(ev, auxRangeActive)
	case trace.EventRangeEnd:
		c.rangeEvent(ev, auxRangeEnd)
	case trace.EventTaskBegin, trace.EventTaskEnd:
		t := ev.Task()
		a := aux{kind: auxTaskBegin, name: t.Type, id: uint64(t.ID), parent: uint64(t.Parent)}
		if t.Parent == trace.NoTask {
			a.parent = 0
		}
		if ev.Kind() == trace.EventTaskEnd {
			a.kind = auxTaskEnd
		}
		c.aux(ev, true, a)
	case trace.EventRegionBegin, trace.EventRegionEnd:
		r := ev.Region()
		a := aux{kind: auxRegionBegin, name: r.Type, id: uint64(r.Task)}
		if ev.Kind() == trace.EventRegionEnd {
			a.kind = auxRegionEnd
		}
		c.aux(ev, true, a)
	case trace.EventLog:
		l := ev.Log()
		c.aux(ev, true, aux{kind: auxLog, name: l.Category, value: l.Message, id: uint64(l.Task)})
	}
}

// at moves the clock to the event.
func (c *cursor) at(ev *trace.Event) {
	t := Time(ev.Time())
	if c.d.events == 0 {
		c.d.base, c.recorded = t, t
	}
	c.d.events++
	c.now = t
}

// put adds a record that happened now.
func (c *cursor) put(r record) {
	dt := c.now - c.recorded // not negative: the Reader's times increase
	c.recorded = c.now
	if dt > 1<<32-1 || dt < 0 {
		*c.slot() = record{op: opSkip, g: int32(dt), by: int32(dt >> 32)}
		dt = 0
	}
	r.dt = uint32(dt)
	*c.slot() = r
}

// slot returns where the next record goes.
func (c *cursor) slot() *record {
	if c.n == recordsPerChunk || c.chunk == nil {
		c.chunk, c.n = chunkPool.Get().(*chunk), 0
		c.d.chunks = append(c.d.chunks, c.chunk)
	}
	s := &c.chunk[c.n]
	c.n++
	return s
}

// real notes that the event says when something happened, as statuses do not.
func (c *cursor) real() {
	if !c.d.hasReal {
		c.d.hasReal, c.d.firstReal = true, c.now
	}
	c.d.lastReal = c.now
}

func (c *cursor) aux(ev *trace.Event, real bool, a aux) {
	c.at(ev)
	if real {
		c.real()
	}
	by := int32(-1)
	if g := ev.Goroutine(); g != trace.NoGoroutine {
		by = c.goroutine(g)
	}
	c.d.aux = append(c.d.aux, a)
	c.put(record{
		op: opAux, g: int32(len(c.d.aux) - 1), by: by,
		proc: localProc(ev.Proc()), thread: c.threadOf(ev.Thread()), stack: c.stack(by, ev.Stack()),
	})
}

func (c *cursor) rangeEvent(ev *trace.Event, kind auxKind) {
	r := ev.Range()
	a := aux{kind: kind, name: r.Name, scope: ScopeGlobal}
	switch r.Scope.Kind {
	case trace.ResourceGoroutine:
		a.scope, a.scopeID = ScopeGoroutine, int64(c.goroutine(r.Scope.Goroutine()))
		if kind == auxRangeActive && r.Name == assistRange {
			c.d.gs[a.scopeID].assist = true
		}
	case trace.ResourceProc:
		a.scope, a.scopeID = ScopeProc, int64(r.Scope.Proc())
	}
	c.aux(ev, kind != auxRangeActive, a)
}

var stateOf = [...]State{
	trace.GoUndetermined: Unknown,
	trace.GoNotExist:     NotExist,
	trace.GoRunnable:     Runnable,
	trace.GoRunning:      Running,
	trace.GoWaiting:      Waiting,
	trace.GoSyscall:      Syscall,
}

// localState translates a state; one that this version does not know is a way of not running.
func localState(s trace.GoState) State {
	if int(s) < len(stateOf) {
		return stateOf[s]
	}
	return Waiting
}

func (c *cursor) transition(ev *trace.Event) {
	st := ev.StateTransition()
	switch st.Resource.Kind {
	case trace.ResourceGoroutine:
		c.goTransition(ev, &st)
	case trace.ResourceProc:
		c.at(ev)
		from, to := st.Proc()
		r := record{op: opProcIdle, g: int32(st.Resource.Proc()), proc: noProc, by: -1, stack: -1, thread: -1}
		if from == trace.ProcRunning || from == trace.ProcIdle {
			c.real()
			r.by = 0
		}
		if to == trace.ProcIdle && from != to {
			c.put(r)
		}
	}
}

// goTransition records a transition with as few looks at the event as its kind
// needs: each accessor of an event copies it.
func (c *cursor) goTransition(ev *trace.Event, st *trace.StateTransition) {
	f, t := st.Goroutine()
	from, to := localState(f), localState(t)
	g := c.goroutine(st.Resource.Goroutine())
	c.at(ev)
	if from == Unknown || from == to {
		c.status(g, to, ev, st)
		return
	}
	r := record{op: opGo, states: uint8(from)<<4 | uint8(to), g: g, by: -1, stack: -1, proc: noProc, thread: -1}
	switch from {
	case NotExist:
		c.name(g, fromCreation, st.Stack)
		r.by, r.stack = c.executing(ev)
		if to == Syscall {
			r.proc, r.thread = localProc(ev.Proc()), c.threadOf(ev.Thread())
		}
	case Waiting:
		r.by, r.stack = c.executing(ev)
	case Running:
		if to == NotExist {
			break
		}
		r.by = c.reason(st.Reason)
		r.stack = c.stack(g, st.Stack)
		if r.stack >= 0 && c.d.gs[g].source == unnamed && to != Runnable && st.Reason != "preempted" {
			c.name(g, fromBlock, st.Stack)
		}
	default:
		if to == Running {
			r.proc, r.thread = localProc(ev.Proc()), c.threadOf(ev.Thread())
		}
	}
	c.real()
	c.put(r)
}

// executing returns the goroutine that an event happened on, and its call chain.
func (c *cursor) executing(ev *trace.Event) (g, stack int32) {
	g = -1
	if id := ev.Goroutine(); id != trace.NoGoroutine {
		g = c.goroutine(id)
	}
	return g, c.stack(g, ev.Stack())
}

// status notes the state that a goroutine had since before its first event of the generation.
func (c *cursor) status(g int32, to State, ev *trace.Event, st *trace.StateTransition) {
	l := &c.d.gs[g]
	if l.status == Unknown && l.source != fromCreation {
		l.status, l.proc, l.thread = to, localProc(ev.Proc()), c.threadOf(ev.Thread())
		if st.Stack != trace.NoStack {
			l.stack = c.lookup(st.Stack)
		}
	}
	c.name(g, fromStatus, st.Stack)
}

// name records the root of a stack as the goroutine's start function unless
// better evidence is there already.
func (c *cursor) name(g int32, rank nameRank, s trace.Stack) {
	l := &c.d.gs[g]
	if l.source >= rank {
		return
	}
	if rank == fromCreation {
		l.source = rank // born here, named or not
	}
	if s == trace.NoStack {
		return
	}
	i := c.lookup(s)
	if i < 0 {
		return
	}
	stack := c.d.stacks[i]
	if len(stack.Frames) >= maxFrames {
		return // the root may be cut off
	}
	fn := stack.Root().Func
	if fn == "" {
		return
	}
	id, ok := c.nameIDs[fn]
	if !ok {
		id = int32(len(c.d.names))
		c.nameIDs[fn] = id
		c.d.names = append(c.d.names, fn)
	}
	l.name, l.source = id, rank
}

func (c *cursor) goroutine(id trace.GoID) int32 {
	i, isNew := c.goroutines.index(int64(id))
	if isNew {
		c.d.gs = append(c.d.gs, localG{id: int64(id), name: -1, stack: -1, thread: -1, proc: noProc})
	}
	return i
}

// stack returns the local number of a call chain that goroutine g executed.
func (c *cursor) stack(g int32, s trace.Stack) int32 {
	if s == trace.NoStack {
		return -1
	}
	k := &c.recent[uint32(g)%stackRows]
	for i := range k {
		if k[i].stack == s {
			return k[i].id
		}
	}
	id := c.lookup(s)
	copy(k[1:], k[:])
	k[0] = recentStack{s, id}
	return id
}

func (c *cursor) lookup(s trace.Stack) int32 {
	if s == trace.NoStack {
		return -1
	}
	if id, ok := c.stackIDs[s]; ok {
		return id
	}
	id := int32(-1)
	if stack := c.table.intern(s); stack != nil {
		id = int32(len(c.d.stacks))
		c.d.stacks = append(c.d.stacks, stack)
	}
	c.stackIDs[s] = id
	return id
}

func (c *cursor) reason(s string) int32 {
	k := &c.reasons[len(s)%len(c.reasons)]
	if k.reason == s && k.id > 0 {
		return k.id - 1
	}
	id, ok := c.reasonIDs[s]
	if !ok {
		id = int32(len(c.d.reasons))
		c.reasonIDs[s] = id
		c.d.reasons = append(c.d.reasons, strings.Clone(s))
	}
	*k = recentReason{s, id + 1}
	return id
}

func (c *cursor) threadOf(m trace.ThreadID) int32 {
	if m == c.thread {
		return c.threadID
	}
	id := int32(-1)
	if m != trace.NoThread {
		var ok bool
		if id, ok = c.threadIDs[m]; !ok {
			id = int32(len(c.d.threads))
			c.threadIDs[m] = id
			c.d.threads = append(c.d.threads, int64(m))
		}
	}
	c.thread, c.threadID = m, id
	return id
}

func localProc(p trace.ProcID) uint16 {
	if p < 0 || p >= noProc {
		return noProc
	}
	return uint16(p)
}

// goTable numbers goroutines in the order of their appearance: an open
// addressing table, since a lookup for each event would cost a fifth of the
// whole fold with a map.
type goTable struct {
	slots []goSlot
	n     int
	shift uint
}

type goSlot struct {
	id    int64
	index int32 // +1; 0 = empty
}

func (t *goTable) index(id int64) (i int32, isNew bool) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow()
	}
	h := uint64(id) * 0x9E3779B97F4A7C15 >> t.shift
	for {
		s := &t.slots[h]
		if s.index == 0 {
			t.n++
			s.id, s.index = id, int32(t.n)
			return int32(t.n - 1), true
		}
		if s.id == id {
			return s.index - 1, false
		}
		if h++; h == uint64(len(t.slots)) {
			h = 0
		}
	}
}

func (t *goTable) grow() {
	old := t.slots
	size := 256
	if len(old) > 0 {
		size = 2 * len(old)
	}
	t.slots = make([]goSlot, size)
	t.shift = 64
	for ; size > 1; size >>= 1 {
		t.shift--
	}
	for _, s := range old {
		if s.index == 0 {
			continue
		}
		h := uint64(s.id) * 0x9E3779B97F4A7C15 >> t.shift
		for t.slots[h].index != 0 {
			if h++; h == uint64(len(t.slots)) {
				h = 0
			}
		}
		t.slots[h] = s
	}
}
