package timeline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// readerCursor is the state of decoding one generation with the Reader. Records refer to
// goroutines, call chains, reasons and threads by small numbers, assigned per generation in the
// order in which the decoder first sees them.
type readerCursor struct {
	cursor
	stackIDs  map[trace.Stack]int32
	threadIDs map[trace.ThreadID]int32
}

// decodeByReader decodes with the Reader of x/exp/trace. Each generation has its own Reader. A
// single Reader for a whole trace would move real events, because statuses of one generation are
// written late, during the next one, and the Reader forces time to increase.
func decodeByReader(rd *decoding, open func() io.Reader) (d *decoded) {
	d = &decoded{}
	defer func() {
		// The Reader validates its input, but its accessors panic on invalid data that
		// validation missed.
		if p := recover(); p != nil {
			d.err = fmt.Errorf("the trace reader failed: %v", firstLine(fmt.Sprint(p)))
		}
	}()
	in := &watched{r: io.MultiReader(bytes.NewReader(rd.header), open()), meter: rd.meter}
	buffer := int64(1 << 16)
	if rd.size > 0 {
		buffer = min(buffer, max(rd.size+headerSize, 1<<12))
	}
	tr, err := trace.NewReader(bufio.NewReaderSize(in, int(buffer)))
	if err != nil {
		d.err = readerError(err)
		return d
	}
	c := &readerCursor{
		cursor:    newCursor(d, rd),
		stackIDs:  map[trace.Stack]int32{},
		threadIDs: map[trace.ThreadID]int32{},
	}
	defer c.done()
	for {
		ev, err := tr.ReadEvent()
		if d.gs.room() < 4 {
			c.roomForGs()
		}
		if in.exceeded || c.full || err == nil && d.events&(1<<12-1) == 0 && rd.meter.Exceeded() {
			d.err = &memoryError{limit: rd.meter.Limit(), read: in.n, holds: d.holds()}
			return d
		}
		if err != nil {
			if err != io.EOF {
				d.err = readerError(err)
			}
			return d
		}
		if d.events&(1<<7-1) == 0 && rd.ctx.Err() != nil {
			d.err = rd.ctx.Err()
			return d
		}
		c.event(&ev)
	}
}

// watched is the input of the Reader. It ends when the memory limit is exceeded, because the Reader
// reads a whole generation and builds its tables before it returns the first event.
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

// readerError reduces an error of the Reader to one line, because it may contain the state of every
// goroutine, and cleans it, because it may contain text of the trace.
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

// by returns the local number of the executing goroutine, or −1.
func (c *readerCursor) by(ev *trace.Event) int32 {
	if id := ev.Goroutine(); id != trace.NoGoroutine {
		return c.goroutine(uint64(id))
	}
	return -1
}

// lookup returns the local number of a call chain, or −1 if there is none.
func (c *readerCursor) lookup(s trace.Stack) int32 {
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

func (c *readerCursor) threadOf(m trace.ThreadID) int32 {
	if m == trace.NoThread {
		return -1
	}
	id, ok := c.threadIDs[m]
	if !ok {
		id = int32(len(c.d.threads))
		c.threadIDs[m] = id
		c.d.threads = append(c.d.threads, int64(m))
	}
	return id
}

// narrowProc narrows the ID of a P. Only damaged traces have larger IDs.
func narrowProc(p int64) int32 {
	if p < 0 || p > maxProc {
		return -1
	}
	return int32(p)
}

// maxProc is far above any GOMAXPROCS.
const maxProc = 1 << 16

func (c *readerCursor) event(ev *trace.Event) {
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
			c.metric(c.nameID(m.Name), m.Value.Uint64())
		}
	case trace.EventLabel:
		l := ev.Label()
		if l.Resource.Kind == trace.ResourceGoroutine {
			c.aux(ev, true, aux{kind: auxLabel, name: l.Label, at: int64(c.goroutine(uint64(l.Resource.Goroutine())))})
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
		a := aux{kind: auxTaskBegin, name: t.Type, id: uint64(t.ID)}
		if t.Parent != trace.NoTask {
			a.parent = uint64(t.Parent)
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

// at advances the clock to the time of the event.
func (c *readerCursor) at(ev *trace.Event) { c.tick(Time(ev.Time())) }

func (c *readerCursor) aux(ev *trace.Event, real bool, a aux) {
	c.at(ev)
	if real {
		c.real()
	}
	a.by, a.stack = c.by(ev), c.lookup(ev.Stack())
	c.addAux(a)
}

func (c *readerCursor) rangeEvent(ev *trace.Event, code uint8) {
	c.at(ev)
	r := ev.Range()
	switch r.Scope.Kind {
	case trace.ResourceGoroutine:
		of := c.goroutine(uint64(r.Scope.Goroutine()))
		c.rangeOf(code, r.Name, 1, of, c.lookup(ev.Stack()))
	case trace.ResourceProc:
		c.rangeOf(code, r.Name, 0, narrowProc(int64(r.Scope.Proc())), c.by(ev))
	default:
		c.rangeOf(code, r.Name, 0, -1, c.by(ev))
	}
}

var stateOf = [...]State{
	trace.GoUndetermined: Unknown,
	trace.GoNotExist:     NotExist,
	trace.GoRunnable:     Runnable,
	trace.GoRunning:      Running,
	trace.GoWaiting:      Waiting,
	trace.GoSyscall:      Syscall,
}

// localState converts a state. Unknown states are treated as Waiting.
func localState(s trace.GoState) State {
	if int(s) < len(stateOf) {
		return stateOf[s]
	}
	return Waiting
}

func (c *readerCursor) transition(ev *trace.Event) {
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
			c.put(codeProcIdle, narrowProc(int64(st.Resource.Proc())), status, -1)
		}
	}
}

// goTransition records a transition with as few accessor calls as possible for its kind, because
// each accessor copies the event.
func (c *readerCursor) goTransition(ev *trace.Event, st *trace.StateTransition) {
	f, t := st.Goroutine()
	from, to := localState(f), localState(t)
	g := c.goroutine(uint64(st.Resource.Goroutine()))
	c.at(ev)
	if from == Unknown || from == to {
		stack := c.lookup(st.Stack)
		c.status(g, to, stack, c.threadOf(ev.Thread()), narrowProc(int64(ev.Proc())))
		return
	}
	x, y := int32(-1), int32(-1)
	switch {
	case to == Running, from == NotExist && to == Syscall:
		x, y = c.threadOf(ev.Thread()), narrowProc(int64(ev.Proc()))
	case from == NotExist, from == Waiting:
		x, y = c.by(ev), c.lookup(ev.Stack())
		c.does(x, y)
	case from == Running && to != NotExist:
		x, y = c.reason(st.Reason), c.lookup(st.Stack)
		if y >= 0 && c.states[g].last != y {
			c.shown(g, y, st.Reason != "preempted")
		}
	}
	switch {
	case from == NotExist && to == Syscall:
		c.createdInC(g)
	case from == NotExist:
		c.created(g, c.lookup(st.Stack), y)
	case to == NotExist:
		c.live--
	}
	c.real()
	c.put(stepCode(from, to), g, x, y)
}
