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
		self := l.goroutineOf(&ev)
		if typ == evGoStart || typ == evGoUnblock {
			if self != other {
				return false
			}
			self = trace.GoID(l.argsOf(&ev)[0])
		}
		if l.typeOf(&ev) != typ || l.timeOf(&ev) != 1234 || l.procOf(&ev) != p || l.threadOf(&ev) != m || self != g {
			return false
		}
	}
	return true
}

// The words of an event, read where they are.
func (l *eventLayout) tableOf(ev *trace.Event) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(ev), l.table))
}

func (l *eventLayout) goroutineOf(ev *trace.Event) trace.GoID {
	return *(*trace.GoID)(unsafe.Add(unsafe.Pointer(ev), l.g))
}

func (l *eventLayout) procOf(ev *trace.Event) trace.ProcID {
	return *(*trace.ProcID)(unsafe.Add(unsafe.Pointer(ev), l.p))
}

func (l *eventLayout) threadOf(ev *trace.Event) trace.ThreadID {
	return *(*trace.ThreadID)(unsafe.Add(unsafe.Pointer(ev), l.m))
}

func (l *eventLayout) typeOf(ev *trace.Event) uint8 {
	return *(*uint8)(unsafe.Add(unsafe.Pointer(ev), l.typ))
}

func (l *eventLayout) timeOf(ev *trace.Event) Time {
	return *(*Time)(unsafe.Add(unsafe.Pointer(ev), l.time))
}

func (l *eventLayout) argsOf(ev *trace.Event) *[4]uint64 {
	return (*[4]uint64)(unsafe.Add(unsafe.Pointer(ev), l.args))
}

// inPlace is a cursor's way to read the frequent events in place.
type inPlace struct {
	eventLayout
	generation unsafe.Pointer // the table of the numbers below
	stacks     []int32        // by the Reader's number: local number +2, 0 = not looked up yet
	reasons    []int32        // likewise, +1
}

// maxDense bounds the tables of inPlace; numbers above it are looked up by handle.
const maxDense = 1 << 20

// frequent records the event if it is one of the frequent ones.
func (c *cursor) frequent(ev *trace.Event) bool {
	v := &c.direct
	if table := v.tableOf(ev); table != v.generation {
		v.generation = table
		clear(v.stacks)
		clear(v.reasons)
	}
	args := v.argsOf(ev)
	switch v.typeOf(ev) {
	case evGoStart:
		g := c.goroutine(trace.GoID(args[0]))
		c.step(ev, stepCode(Runnable, Running), g, c.threadOf(v.threadOf(ev)), localProc(v.procOf(ev)))
	case evGoBlock:
		g := c.goroutine(v.goroutineOf(ev))
		reason, stack := c.directReason(ev, args[0]), c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, c.d.reasons[reason] != "preempted")
		}
		c.step(ev, stepCode(Running, Waiting), g, reason, stack)
	case evGoStop:
		g := c.goroutine(v.goroutineOf(ev))
		reason, stack := c.directReason(ev, args[0]), c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, false)
		}
		c.step(ev, stepCode(Running, Runnable), g, reason, stack)
	case evGoUnblock:
		g, by := c.goroutine(trace.GoID(args[0])), int32(-1)
		if id := v.goroutineOf(ev); id != trace.NoGoroutine {
			by = c.goroutine(id)
		}
		c.step(ev, stepCode(Waiting, Runnable), g, by, c.directStack(ev, args[2]))
	case evGoSyscallBegin:
		g := c.goroutine(v.goroutineOf(ev))
		stack := c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].unresolved() {
			c.stopped(g, stack, true)
		}
		c.step(ev, stepCode(Running, Syscall), g, c.reason(""), stack)
	case evGoSyscallEnd:
		g := c.goroutine(v.goroutineOf(ev))
		c.step(ev, stepCode(Syscall, Running), g, c.threadOf(v.threadOf(ev)), localProc(v.procOf(ev)))
	case evGoDestroy:
		c.step(ev, stepCode(Running, NotExist), c.goroutine(v.goroutineOf(ev)), -1, -1)
	case evHeapAlloc:
		c.tick(v.timeOf(ev))
		c.metric("/memory/classes/heap/objects:bytes", args[0])
	default:
		return false
	}
	return true
}

// step is at, real and put in one, for the frequent events.
func (c *cursor) step(ev *trace.Event, code uint8, g, x, y int32) {
	c.tick(c.direct.timeOf(ev))
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

func (c *cursor) directReason(ev *trace.Event, id uint64) int32 {
	v := &c.direct
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
