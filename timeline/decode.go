package timeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// decoder is what stands between the bytes of a generation and the replay.
// There is one implementation, on the Reader of x/exp/trace. Decoding is four
// fifths of the cost of a pass, so a faster one may come.
type decoder interface {
	// decode reads one generation from what open returns, a header and the generation. It
	// always returns what it could read; decoded.err tells why it stopped early. It may open
	// the generation twice.
	decode(open func() io.Reader) *decoded
}

// readerDecoder decodes with the Reader of x/exp/trace. Every generation gets a
// Reader of its own: one Reader over a whole trace moves real events, since the
// statuses of a generation are written late, overlap the next one, and the Reader forces time to
// increase.
type readerDecoder struct {
	ctx    context.Context
	stacks *stackTable
	limit  Time  // events later than this are left out; 0 = none
	broken error // the Reader's error in full
	meter  *memory.Meter
	size   int64 // of the generation, 0 if it is not known

	byAccessors bool // do not read events in place
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
	stackIDs   map[trace.Stack]int32
	reasonIDs  map[string]int32
	nameIDs    map[string]int32
	threadIDs  map[trace.ThreadID]int32
	thread     trace.ThreadID // the last one looked up
	threadID   int32

	direct inPlace

	meter *memory.Meter
	full  bool // there is no room for a table
}

// room looks whether a table of n elements of size bytes that is full can grow. It is asked only
// then.
func (c *cursor) room(n int, size uintptr) {
	if !c.meter.Room(int64(n) * int64(size) * 2) {
		c.full = true
	}
}

func (rd *readerDecoder) decode(open func() io.Reader) *decoded {
	if rd.byAccessors {
		return rd.decodeWith(open(), nil)
	}
	layout, err := usableLayout()
	if err != nil {
		d := rd.decodeWith(open(), nil)
		d.mislaid = err
		return d
	}
	d := rd.decodeWith(open(), &layout)
	if d.mislaid == nil {
		return d
	}
	mislaid.CompareAndSwap(nil, d.mislaid) // another generation may have been first
	again := rd.decodeWith(open(), nil)
	again.mislaid = mislaid.Load()
	d.release()
	return again
}

// decodeWith decodes with the layout, or by the accessors if that is nil.
func (rd *readerDecoder) decodeWith(r io.Reader, layout *eventLayout) (d *decoded) {
	d = &decoded{}
	defer func() {
		// The Reader validates, but its accessors panic on what validation missed.
		if p := recover(); p != nil {
			d.err = fmt.Errorf("the trace reader failed: %v", firstLine(fmt.Sprint(p)))
		}
	}()
	in := &watched{r: r, meter: rd.meter}
	buffer := int64(1 << 16)
	if rd.size > 0 {
		buffer = min(buffer, max(rd.size+headerSize, 1<<12))
	}
	tr, err := trace.NewReader(bufio.NewReaderSize(in, int(buffer)))
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
		meter:     rd.meter,
		threadID:  -1,
	}
	defer func() { d.lastLen = c.n }()
	if layout != nil {
		c.direct.eventLayout = *layout
	}
	for {
		ev, err := tr.ReadEvent()
		if in.exceeded || c.full || err == nil && d.events&(1<<12-1) == 0 && rd.meter.Exceeded() {
			d.err = &memoryError{limit: rd.meter.Limit(), read: in.n, holds: d.holds()}
			return d
		}
		if err != nil {
			if err != io.EOF {
				d.err, rd.broken = readerError(err), err
			}
			return d
		}
		if d.events&(1<<7-1) == 0 && rd.ctx.Err() != nil {
			d.err = rd.ctx.Err()
			return d
		}
		if rd.limit != 0 && Time(ev.Time()) > rd.limit {
			d.past = true
			return d
		}
		if layout == nil || !c.frequent(&ev) {
			c.event(&ev)
		}
		if c.direct.wrong != nil {
			d.mislaid = c.direct.wrong
			return d
		}
	}
}

// watched is what the Reader reads. It ends when memory comes to the limit: the Reader reads all of
// a generation, and makes its tables, before its first event.
type watched struct {
	r        io.Reader
	meter    *memory.Meter
	n        int64 // bytes read
	exceeded bool
}

func (w *watched) Read(p []byte) (int, error) {
	if w.meter.Exceeded() {
		w.exceeded = true
		return 0, ErrMemory
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	return n, err
}

// readerError cuts the Reader's errors to one line, since they may hold the state of
// every goroutine, and cleans it, since they may hold text of the trace.
func readerError(err error) error {
	return errors.New(firstLine(err.Error()))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = format.Clean(strings.TrimRight(s, ": "))
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

func (c *cursor) event(ev *trace.Event) {
	switch ev.Kind() {
	case trace.EventStateTransition:
		c.transition(ev)
	case trace.EventSync:
		if s := ev.Sync(); s.ClockSnapshot != nil {
			c.aux(ev, false, aux{kind: auxClock, id: uint64(s.ClockSnapshot.Trace), parent: s.ClockSnapshot.Mono, at: s.ClockSnapshot.Wall.UnixNano()})
		}
	case trace.EventMetric:
		m := ev.Metric()
		if m.Value.Kind() == trace.ValueUint64 {
			c.at(ev)
			c.metric(m.Name, m.Value.Uint64())
		}
	case trace.EventLabel:
		l := ev.Label()
		if l.Resource.Kind == trace.ResourceGoroutine {
			c.aux(ev, true, aux{kind: auxLabel, name: l.Label, at: int64(c.goroutine(l.Resource.Goroutine()))})
		}
	case trace.EventStackSample:
		c.aux(ev, false, aux{kind: auxSample})
	case trace.EventRangeBegin:
		c.rangeEvent(ev, codeRangeBegin)
	case trace.EventRangeActive:
		c.rangeEvent(ev, codeRangeActive)
	case trace.EventRangeEnd:
		c.rangeEvent(ev, codeRangeEnd)
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
func (c *cursor) at(ev *trace.Event) { c.tick(Time(ev.Time())) }

func (c *cursor) tick(t Time) {
	if c.d.events == 0 {
		c.d.base, c.recorded = t, t
	}
	c.d.events++
	c.now = t
}

// put adds a record that happened now.
func (c *cursor) put(code uint8, g, x, y int32) {
	dt := c.now - c.recorded // not negative: the Reader's times increase
	c.recorded = c.now
	if uint64(dt) > maxDelta {
		*c.slot() = record{head: uint32(codeSkip), x: int32(dt), y: int32(dt >> 32)}
		dt = 0
	}
	*c.slot() = record{head: uint32(dt)<<8 | uint32(code), g: g, x: x, y: y}
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
	a.by, a.proc, a.thread, a.stack = by, localProc(ev.Proc()), c.threadOf(ev.Thread()), c.lookup(ev.Stack())
	if len(c.d.aux) == cap(c.d.aux) {
		c.room(len(c.d.aux), unsafe.Sizeof(a))
	}
	c.d.aux = append(c.d.aux, a)
	c.put(codeAux, int32(len(c.d.aux)-1), -1, -1)
}

func (c *cursor) rangeEvent(ev *trace.Event, code uint8) {
	c.at(ev)
	r := ev.Range()
	scope, id, by := ScopeGlobal, int32(-1), int32(-1)
	switch r.Scope.Kind {
	case trace.ResourceGoroutine:
		scope, id = ScopeGoroutine, c.goroutine(r.Scope.Goroutine())
		if code == codeRangeActive && r.Name == assistRange {
			c.d.gs[id].assist = true
		}
	case trace.ResourceProc:
		scope, id = ScopeProc, localProc(r.Scope.Proc())
	}
	if scope == ScopeGoroutine {
		by = c.lookup(ev.Stack())
	} else if g := ev.Goroutine(); g != trace.NoGoroutine {
		by = c.goroutine(g)
	}
	if code != codeRangeActive {
		c.real()
	}
	c.put(code, id, c.nameID(r.Name)<<2|int32(scope), by)
}

func (c *cursor) metric(name string, value uint64) {
	c.real()
	c.put(codeMetric, c.nameID(name), int32(value), int32(value>>32))
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
		status := int32(1)
		if from == trace.ProcRunning || from == trace.ProcIdle {
			c.real()
			status = 0
		}
		if to == trace.ProcIdle && from != to {
			c.put(codeProcIdle, localProc(st.Resource.Proc()), status, -1)
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
	x, y := int32(-1), int32(-1)
	switch {
	case to == Running, from == NotExist && to == Syscall:
		x, y = c.threadOf(ev.Thread()), localProc(ev.Proc())
	case from == NotExist, from == Waiting:
		x, y = c.executing(ev)
		c.does(x, y)
	case from == Running && to != NotExist:
		x, y = c.reason(st.Reason), c.lookup(st.Stack)
		if y >= 0 && c.d.gs[g].last != y {
			c.stopped(g, y, to != Runnable && st.Reason != "preempted")
		}
	}
	if from == NotExist {
		c.name(g, fromCreation, c.lookup(st.Stack))
		if to != Syscall {
			c.d.gs[g].site = y
		} else if c.d.gs[g].name < 0 {
			c.d.gs[g].name = c.nameID(callback)
		}
	}
	c.real()
	c.put(stepCode(from, to), g, x, y)
}

// executing returns the goroutine that an event happened on, and its call chain.
func (c *cursor) executing(ev *trace.Event) (g, stack int32) {
	g = -1
	if id := ev.Goroutine(); id != trace.NoGoroutine {
		g = c.goroutine(id)
	}
	return g, c.lookup(ev.Stack())
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
	if stack := c.lookup(st.Stack); stack >= 0 {
		c.name(g, fromStatus, stack)
		c.shows(l, stack, to != Runnable && to != Running)
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
	for _, o := range l.others {
		if same(o) {
			return
		}
	}
	if len(l.others) < maxShown {
		l.others = append(l.others, v)
	}
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
