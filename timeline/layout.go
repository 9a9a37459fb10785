package timeline

import (
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/exp/trace"
)

// The accessors of an event of the trace Reader copy it and what they return,
// 200 bytes for a transition: a fifth of the cost of a pass. Eight kinds of events make up nearly
// all of a busy trace, and they need three or four words each. So those words are read where they
// are. Reflection finds where that is, and three checks compare what is read in place with what the
// accessors return:
//
//  1. once a process, on events made by the Reader's own package (eventLayout.check);
//  2. in each generation every field of the first events of each type, and of the 32nd, the 64th, … (cursor.differs);
//  3. in each generation every number of a call chain or a reason when it is first met.
//
// If one fails, the generation is decoded again and all others are decoded by the accessors, with
// the right result and a fifth slower, and Info.Notes has a warning.

// eventLayout tells where the words of a trace.Event are.
type eventLayout struct {
	table, g, p, m, typ, time, args uintptr
}

// theLayout returns the layout of the Reader's events; false if they do not look as they should.
var theLayout = sync.OnceValues(func() (l eventLayout, ok bool) {
	t := reflect.TypeFor[trace.Event]()
	table, ok1 := fieldAt(t, 0, "table", reflect.Pointer, unsafe.Sizeof(uintptr(0)))
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

// layoutError says what was read in place and is not what the accessors return.
type layoutError struct{ what string }

func (e *layoutError) Error() string {
	return "events of x/exp/trace are not laid out as expected: " + e.what
}

// mislaid is why no event of this process is read in place any more; nil while they are.
var mislaid atomic.Pointer[layoutError]

// usableLayout returns the layout to read events with, or why they must go by the accessors.
func usableLayout() (eventLayout, *layoutError) {
	l, ok := theLayout()
	if err := mislaid.Load(); err != nil {
		return l, err
	}
	if !ok {
		return l, &layoutError{"the fields of an event"}
	}
	return l, nil
}

// inPlace is a cursor's way to read the frequent events in place.
type inPlace struct {
	eventLayout
	seen  [evHeapAlloc + 1]uint32 // events by type
	wrong *layoutError            // what differs from what the accessors return

	generation unsafe.Pointer // the table of the numbers below
	stacks     []int32        // by the Reader's number: local number +2, 0 = not looked up yet
	reasons    []int32        // likewise, +1
}

const heapMetric = "/memory/classes/heap/objects:bytes"

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
	typ := v.typeOf(ev)
	if typ <= evHeapAlloc {
		v.seen[typ]++
		if n := v.seen[typ]; n <= checkedEvents || n&(n-1) == 0 {
			if what := c.differs(ev, typ); what != "" {
				v.wrong = &layoutError{fmt.Sprintf("%s of events of type %d", what, typ)}
				return true
			}
		}
	}
	switch typ {
	case evGoStart:
		g := c.goroutine(trace.GoID(args[0]))
		c.step(ev, stepCode(Runnable, Running), g, c.threadOf(v.threadOf(ev)), localProc(v.procOf(ev)))
	case evGoBlock:
		g := c.goroutine(v.goroutineOf(ev))
		reason, stack := c.directReason(ev, args[0]), c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].last != stack {
			c.stopped(g, stack, c.d.reasons[reason] != "preempted")
		}
		c.step(ev, stepCode(Running, Waiting), g, reason, stack)
	case evGoStop:
		g := c.goroutine(v.goroutineOf(ev))
		reason, stack := c.directReason(ev, args[0]), c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].last != stack {
			c.stopped(g, stack, false)
		}
		c.step(ev, stepCode(Running, Runnable), g, reason, stack)
	case evGoUnblock:
		g, by := c.goroutine(trace.GoID(args[0])), int32(-1)
		if id := v.goroutineOf(ev); id != trace.NoGoroutine {
			by = c.goroutine(id)
		}
		stack := c.directStack(ev, args[2])
		c.does(by, stack)
		c.step(ev, stepCode(Waiting, Runnable), g, by, stack)
	case evGoSyscallBegin:
		g := c.goroutine(v.goroutineOf(ev))
		stack := c.directStack(ev, args[1])
		if stack >= 0 && c.d.gs[g].last != stack {
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
		c.metric(heapMetric, args[0])
	default:
		return false
	}
	return true
}

// checkedEvents is how many events of a type are compared with the accessors before only each event
// whose number is a power of two is.
const checkedEvents = 16

// differs compares all that frequent reads of an event of the type with what the accessors return.
// It names the first field that differs.
func (c *cursor) differs(ev *trace.Event, typ uint8) string {
	v, args := &c.direct, c.direct.argsOf(ev)
	if typ == evHeapAlloc {
		if ev.Kind() != trace.EventMetric || v.timeOf(ev) != Time(ev.Time()) {
			return "the time"
		}
		if m := ev.Metric(); m.Name != heapMetric || m.Value.Kind() != trace.ValueUint64 || m.Value.Uint64() != args[0] {
			return "the value"
		}
		return ""
	}
	from, to, own := Running, NotExist, true // own: the event is one of the goroutine that it happened on
	stack, reason := -1, false               // the argument that numbers the call chain; whether args[0] numbers the reason
	switch typ {
	case evGoStart:
		from, to, own = Runnable, Running, false
	case evGoBlock:
		to, stack, reason = Waiting, 1, true
	case evGoStop:
		to, stack, reason = Runnable, 1, true
	case evGoUnblock:
		from, to, own, stack = Waiting, Runnable, false, 2
	case evGoSyscallBegin:
		to, stack = Syscall, 1
	case evGoSyscallEnd:
		from, to = Syscall, Running
	case evGoDestroy:
	default:
		return ""
	}
	if ev.Kind() != trace.EventStateTransition {
		return "the kind"
	}
	st := ev.StateTransition()
	if st.Resource.Kind != trace.ResourceGoroutine {
		return "the kind"
	}
	f, t := st.Goroutine()
	g := trace.GoID(args[0])
	if own {
		g = v.goroutineOf(ev)
	}
	switch {
	case localState(f) != from || localState(t) != to:
		return "the states"
	case st.Resource.Goroutine() != g || ev.Goroutine() != v.goroutineOf(ev):
		return "the goroutine"
	case v.timeOf(ev) != Time(ev.Time()):
		return "the time"
	case v.procOf(ev) != ev.Proc():
		return "the processor"
	case v.threadOf(ev) != ev.Thread():
		return "the thread"
	case stack >= 0 && stackNumber(ev.Stack()) != args[stack]:
		return "the call chain"
	case reason && reasonNumbered(ev, args[0]) != st.Reason:
		return "the reason"
	}
	return ""
}

// stackNumber returns the number that the Reader has for a call chain: 0 for none, and a number
// that no call chain has if it cannot be found.
func stackNumber(s trace.Stack) uint64 {
	if s == trace.NoStack {
		return 0
	}
	if offset, ok := stackID(); ok {
		return *(*uint64)(unsafe.Add(unsafe.Pointer(&s), offset))
	}
	return math.MaxUint64
}

// stackID returns where the number of a call chain is. To ask reflection once for each call chain
// would cost 3 % of a pass that has many.
var stackID = sync.OnceValues(func() (offset uintptr, ok bool) {
	return fieldAt(reflect.TypeFor[trace.Stack](), 0, "id", reflect.Uint64, 8)
})

// noReason is what reasonNumbered returns when it does not find the string; no runtime writes it.
const noReason = "\x00not found"

// reasonNumbered returns the string that has the number in the Reader's table of the event.
func reasonNumbered(ev *trace.Event, id uint64) string {
	if id == 0 {
		return ""
	}
	table := reflect.ValueOf(ev).Elem().FieldByName("table")
	if table.Kind() != reflect.Pointer || table.IsNil() || table.Elem().Kind() != reflect.Struct {
		return noReason
	}
	strings := table.Elem().FieldByName("strings")
	if strings.Kind() != reflect.Struct {
		return noReason
	}
	if dense := strings.FieldByName("dense"); dense.Kind() == reflect.Slice && id < uint64(dense.Len()) {
		if s := dense.Index(int(id)); s.Kind() == reflect.String {
			return s.String()
		}
		return noReason
	}
	if sparse := strings.FieldByName("sparse"); sparse.Kind() == reflect.Map && sparse.Type().Key().Kind() == reflect.Uint64 {
		if s := sparse.MapIndex(reflect.ValueOf(id).Convert(sparse.Type().Key())); s.IsValid() && s.Kind() == reflect.String {
			return s.String()
		}
	}
	return noReason
}

// step is at, real and put in one, for the frequent events.
func (c *cursor) step(ev *trace.Event, code uint8, g, x, y int32) {
	c.tick(c.direct.timeOf(ev))
	c.real()
	c.put(code, g, x, y)
}

// directStack returns the local number of the event's call chain, which has the given number in the
// Reader's table.
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
		s := ev.Stack()
		if stackNumber(s) != id {
			v.wrong = &layoutError{"the call chain"}
		}
		v.stacks[id] = c.lookup(s) + 2
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
		reason := ev.StateTransition().Reason
		if reasonNumbered(ev, id) != reason {
			v.wrong = &layoutError{"the reason"}
		}
		v.reasons[id] = c.reason(reason) + 1
	}
	return v.reasons[id] - 1
}
