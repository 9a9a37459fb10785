package timeline

import (
	"reflect"
	"sync"
	"unsafe"

	"golang.org/x/exp/trace"
)

// The accessors of an event of the trace Reader copy it and what they return,
// 200 bytes for a transition: a fifth of the cost of a pass. Eight kinds of events make up nearly all of
// a busy trace, and they need three or four words each. So those words are read
// where they are. Where that is, reflection tells; if the
// Reader's types ever look different, every event goes by the accessors, with the same result and a fifth slower.

// eventLayout tells where the words of a trace.Event are.
type eventLayout struct {
	table, g, p, m, typ, time, args uintptr
}

// theLayout returns the layout of the Reader's events; false if they do not look as they should.
var theLayout = sync.OnceValues(func() (l eventLayout, ok bool) {
	t := reflect.TypeFor[trace.Event]()
	table, ok1 := fieldAt(t, 0, "table", reflect.Pointer, 8)
	ctx, ok2 := t.FieldByName("ctx")
	base, ok3 := t.FieldByName("base")
	if !ok1 || !ok2 || !ok3 || ctx.Type.Kind() != reflect.Struct || base.Type.Kind() != reflect.Struct {
		return l, false
	}
	var oks [6]bool
	l.table = table
	l.g, oks[0] = fieldAt(ctx.Type, ctx.Offset, "G", reflect.Int64, 8)
	l.p, oks[1] = fieldAt(ctx.Type, ctx.Offset, "P", reflect.Int64, 8)
	l.m, oks[2] = fieldAt(ctx.Type, ctx.Offset, "M", reflect.Int64, 8)
	l.typ, oks[3] = fieldAt(base.Type, base.Offset, "typ", reflect.Uint8, 1)
	l.time, oks[4] = fieldAt(base.Type, base.Offset, "time", reflect.Int64, 8)
	l.args, oks[5] = fieldAt(base.Type, base.Offset, "args", reflect.Array, 32)
	return l, oks == [6]bool{true, true, true, true, true, true} && l.check()
})

func fieldAt(t reflect.Type, offset uintptr, name string, kind reflect.Kind, size uintptr) (uintptr, bool) {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != kind || f.Type.Size() != size {
		return 0, false
	}
	if kind == reflect.Array && f.Type.Elem().Kind() != reflect.Uint64 {
		return 0, false
	}
	return offset + f.Offset, true
}

// The types of events that are read in place.
const (
	evGoStart        = 16
	evGoDestroy      = 17
	evGoStop         = 19
	evGoBlock        = 20
	evGoUnblock      = 21
	evGoSyscallBegin = 22
	evGoSyscallEnd   = 23
	evHeapAlloc      = 37
)

// check tries the layout on events that are made by the Reader's own package.
func (l eventLayout) check() bool {
	const g, other, p, m = 11, 12, 3, 77
	for typ, tr := range map[uint8]trace.StateTransition{
		evGoStart:        trace.MakeGoStateTransition(g, trace.GoRunnable, trace.GoRunning),
		evGoDestroy:      trace.MakeGoStateTransition(g, trace.GoRunning, trace.GoNotExist),
		evGoStop:         trace.MakeGoStateTransition(g, trace.GoRunning, trace.GoRunnable),
		evGoBlock:        trace.MakeGoStateTransition(g, trace.GoRunning, trace.GoWaiting),
		evGoUnblock:      trace.MakeGoStateTransition(g, trace.GoWaiting, trace.GoRunnable),
		evGoSyscallBegin: trace.MakeGoStateTransition(g, trace.GoRunning, trace.GoSyscall),
		evGoSyscallEnd:   trace.MakeGoStateTransition(g, trace.GoSyscall, trace.GoRunning),
	} {
		ev, err := trace.MakeEvent(trace.EventConfig[trace.StateTransition]{
			Kind: trace.EventStateTransition, Time: 1234, Goroutine: other, Proc: p, Thread: m, Details: tr,
		})
		if err != nil {
			return false
		}
		v := l.view(&ev)
		self := *v.g
		if typ == evGoStart || typ == evGoUnblock {
			self = int64(v.args[0])
		}
		if *v.typ != typ || *v.time != 1234 || *v.p != p || *v.m != m || self != g {
			return false
		}
	}
	return true
}

// eventView points at the words of an event.
type eventView struct {
	table   *unsafe.Pointer
	g, p, m *int64
	typ     *uint8
	time    *int64
	args    *[4]uint64
}

// view points at the words of ev. It stays good for later events in the same place.
func (l eventLayout) view(ev *trace.Event) eventView {
	at := unsafe.Pointer(ev)
	return eventView{
		table: (*unsafe.Pointer)(unsafe.Add(at, l.table)),
		g:     (*int64)(unsafe.Add(at, l.g)),
		p:     (*int64)(unsafe.Add(at, l.p)),
		m:     (*int64)(unsafe.Add(at, l.m)),
		typ:   (*uint8)(unsafe.Add(at, l.typ)),
		time:  (*int64)(unsafe.Add(at, l.time)),
		args:  (*[4]uint64)(unsafe.Add(at, l.args)),
	}
}

// inPlace is a cursor's way to read the frequent events in place.
type inPlace struct {
	eventView
	generation unsafe.Pointer // the table of the numbers below
	stacks     []int32        // by the Reader's number: local number +2, 0 = not looked up yet
	reasons    []int32        // likewise, +1
}

// maxDense bounds the tables of inPlace; numbers above it are looked up by handle.
const maxDense = 1 << 20

// frequent records the event if it is one of the frequent ones.
func (c *cursor) frequent(ev *trace.Event) bool {
	v := &c.direct
	if *v.table != v.generation {
		v.generation = *v.table
		clear(v.stacks)
		clear(v.reasons)
	}
	switch *v.typ {
	case evGoStart:
		g := c.goroutine(trace.GoID(v.args[0]))
		c.step(stepCode(Runnable, Running), g, c.threadOf(trace.ThreadID(*v.m)), localProc(trace.ProcID(*v.p)))
	case evGoBlock:
		g := c.goroutine(trace.GoID(*v.g))
		reason, stack := c.directReason(ev), c.directStack(ev, v.args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, c.d.reasons[reason] != "preempted")
		}
		c.step(stepCode(Running, Waiting), g, reason, stack)
	case evGoStop:
		g := c.goroutine(trace.GoID(*v.g))
		reason, stack := c.directReason(ev), c.directStack(ev, v.args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, false)
		}
		c.step(stepCode(Running, Runnable), g, reason, stack)
	case evGoUnblock:
		g := c.goroutine(trace.GoID(v.args[0]))
		by := int32(-1)
		if id := trace.GoID(*v.g); id != trace.NoGoroutine {
			by = c.goroutine(id)
		}
		c.step(stepCode(Waiting, Runnable), g, by, c.directStack(ev, v.args[2]))
	case evGoSyscallBegin:
		g := c.goroutine(trace.GoID(*v.g))
		stack := c.directStack(ev, v.args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, true)
		}
		c.step(stepCode(Running, Syscall), g, c.reason(""), stack)
	case evGoSyscallEnd:
		g := c.goroutine(trace.GoID(*v.g))
		c.step(stepCode(Syscall, Running), g, c.threadOf(trace.ThreadID(*v.m)), localProc(trace.ProcID(*v.p)))
	case evGoDestroy:
		c.step(stepCode(Running, NotExist), c.goroutine(trace.GoID(*v.g)), -1, -1)
	case evHeapAlloc:
		c.tick(Time(*v.time))
		c.metric("/memory/classes/heap/objects:bytes", v.args[0])
	default:
		return false
	}
	return true
}

// step is at, real and put in one, for the frequent events.
func (c *cursor) step(code uint8, g, x, y int32) {
	c.tick(Time(*c.direct.time))
	c.real()
	c.put(code, g, x, y)
}

// directStack returns the local number of the event's call chain, which has the given number in the Reader's table.
func (c *cursor) directStack(ev *trace.Event, id uint64) int32 {
	if id == 0 {
		return -1
	}
	if id >= maxDense {
		return c.lookup(ev.Stack())
	}
	v := &c.direct
	if id >= uint64(len(v.stacks)) {
		v.stacks = append(v.stacks, make([]int32, max(int(id)+1, 2*len(v.stacks))-len(v.stacks))...)
	}
	if v.stacks[id] == 0 {
		v.stacks[id] = c.lookup(ev.Stack()) + 2
	}
	return v.stacks[id] - 2
}

func (c *cursor) directReason(ev *trace.Event) int32 {
	v := &c.direct
	id := v.args[0]
	if id >= maxDense {
		return c.reason(ev.StateTransition().Reason)
	}
	if id >= uint64(len(v.reasons)) {
		v.reasons = append(v.reasons, make([]int32, max(int(id)+1, 2*len(v.reasons))-len(v.reasons))...)
	}
	if v.reasons[id] == 0 {
		v.reasons[id] = c.reason(ev.StateTransition().Reason) + 1
	}
	return v.reasons[id] - 1
}
