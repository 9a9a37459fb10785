package timeline

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// wireDecoder decodes with package wireformat. If that fails, because the generation is damaged or
// its version is unknown, and the Reader of x/exp/trace can read more, the result is that of the
// Reader, and a note of the pass states that.
type wireDecoder struct {
	decoding
	running map[int64]int64           // by thread: the goroutine at the end of the previous generation
	other   decodeFunc                // see formats
	ended   func(*wireformat.Decoder) // called at the end if not nil
}

func (wd *wireDecoder) decode(open func() io.Reader) *decoded {
	in := &watched{r: open(), meter: wd.meter}
	var header [headerSize]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return &decoded{err: readerError(err)}
	}
	version, err := parseHeader(header[:])
	if err != nil || !wireformat.Supports(version) {
		return wd.instead(&decoded{err: fmt.Errorf("traces of Go 1.%d are not known", version)}, open)
	}
	data, err := wd.load(in)
	switch {
	case errors.Is(err, ErrMemory):
		return wd.overMemory(&decoded{}, in.n)
	case err != nil:
		return &decoded{err: readerError(err)}
	}
	d := wd.decodeSafely(data.b, wireformat.Options{Version: version, Running: wd.running})
	data.release()
	if d.err != nil && errors.As(d.err, new(*wireformat.Error)) {
		return wd.instead(d, open)
	}
	return d
}

// overMemory ends the decoding of a generation that exceeds the memory limit.
func (wd *wireDecoder) overMemory(d *decoded, read int64) *decoded {
	d.err = &memoryError{limit: wd.meter.Limit(), read: read, holds: d.holds()}
	return d
}

// instead decodes with the Reader, and returns the larger of d and its result.
func (wd *wireDecoder) instead(d *decoded, open func() io.Reader) *decoded {
	if wd.other == nil {
		return d
	}
	other := wd.other(wd.decoding, open)
	if other.err != nil && other.events <= d.events {
		other.release()
		return d
	}
	other.instead = d.err
	d.release()
	return other
}

// buffer holds the bytes of a generation during decoding.
type buffer struct{ b []byte }

var bufferPool = sync.Pool{New: func() any { return new(buffer) }}

// maxPooled bounds the size of buffers that are reused.
const maxPooled = 64 << 20

func (b *buffer) release() {
	if cap(b.b) <= maxPooled {
		bufferPool.Put(b)
	}
}

// load reads all bytes of the generation.
func (wd *wireDecoder) load(r io.Reader) (*buffer, error) {
	b := bufferPool.Get().(*buffer)
	b.b = b.b[:0]
	want := max(int(wd.size), 4096) + 1 // 1 more to detect the end
	for {
		if cap(b.b) < want {
			if !wd.meter.Room(int64(want)) {
				return b, ErrMemory
			}
			b.b = append(make([]byte, 0, want), b.b...)
		}
		n, err := r.Read(b.b[len(b.b):min(cap(b.b), len(b.b)+1<<16)])
		b.b = b.b[:len(b.b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b.b) == cap(b.b) {
			want = 2 * cap(b.b)
		}
	}
}

// decodeSafely is like decodeBytes but turns a panic into an error. No input is known to cause a
// panic.
func (wd *wireDecoder) decodeSafely(data []byte, opt wireformat.Options) (d *decoded) {
	defer func() {
		if p := recover(); p != nil {
			d = &decoded{err: &wireformat.Error{What: "the decoder failed: " + firstLine(fmt.Sprint(p))}}
		}
	}()
	return wd.decodeBytes(data, opt)
}

// decodeBytes decodes a generation, without its header.
func (wd *wireDecoder) decodeBytes(data []byte, opt wireformat.Options) *decoded {
	d := &decoded{}
	opt.Room = func(size int64) bool { return !wd.meter.Exceeded() && wd.meter.Room(size) }
	opt.Expect = wd.expect
	dec, err := wireformat.New(data, opt)
	if errors.Is(err, wireformat.ErrMemory) {
		return wd.overMemory(d, int64(len(data)))
	}
	if err != nil {
		d.err = err
		return d
	}
	c := &wireCursor{
		cursor:     newCursor(d, wd.decoding),
		frameTable: newFrameTable(dec, wd.stacks),
		stackOf:    make([]int32, dec.Stacks()),
		reasonOf:   make([]int32, dec.Strings()+1),
		metricName: [...]int32{-1, -1, -1},
	}
	if clock, ok := dec.Clock(); ok {
		c.tick(Time(dec.Begin()))
		c.addAux(aux{kind: auxClock, id: uint64(clock.Trace), parent: clock.Mono, at: clock.Wall.UnixNano(), by: -1, stack: -1, thread: -1, proc: -1})
	}
	for {
		ev, err := dec.Next()
		if len(d.gs)+4 > cap(d.gs) {
			c.roomForGs()
		}
		if c.full || err == nil && d.events&(1<<12-1) == 0 && wd.meter.Exceeded() {
			wd.overMemory(d, int64(len(data)))
			break
		}
		if err != nil {
			if err != io.EOF {
				d.err = err
			}
			break
		}
		if d.events&(1<<7-1) == 0 && wd.ctx.Err() != nil {
			d.err = wd.ctx.Err()
			break
		}
		if wd.limit != 0 && Time(ev.Time) > wd.limit {
			d.past = true
			break
		}
		c.event(ev)
	}
	d.lastLen, d.lost = c.n, dec.Lost()
	if wd.ended != nil {
		wd.ended(dec)
	}
	return d
}

// wireCursor is the state of decoding one generation with package wireformat. Records use the
// goroutine indexes of wireformat.
type wireCursor struct {
	cursor
	frameTable
	stackOf  []int32 // by index of wireformat: number of the call chain + 2, 0 = unknown
	reasonOf []int32 // by index of the string + 1: number + 1
	threadOf []int32 // by index: number + 1

	metricName [3]int32
	stwNames   map[int32]int32 // by string index of the kind
}

const heapMetric = "/memory/classes/heap/objects:bytes"

var metricNames = [3]string{"/sched/gomaxprocs:threads", heapMetric, "/gc/heap/goal:bytes"}

// goState maps the statuses of wireformat to states.
var goState = [...]State{Unknown, wireformat.GoRunnable: Runnable, wireformat.GoRunning: Running, wireformat.GoSyscall: Syscall, wireformat.GoWaiting: Waiting}

// g returns the number of a goroutine, which it adds if it is new.
func (c *wireCursor) g(i int32) int32 {
	if int(i) >= len(c.d.gs) {
		c.newGs(i)
	}
	return i
}

// newGs adds the goroutines up to number i. Its callers are on the way of every event; inlined there,
// it would double their size.
//
//go:noinline
func (c *wireCursor) newGs(i int32) {
	for int(i) >= len(c.d.gs) {
		c.newG(c.dec.Goroutine(int32(len(c.d.gs))))
	}
}

// shown is like stopped, for a call chain that is not the last one. Most goroutines alternate
// between two call chains, for which there is nothing more to note.
func (c *wireCursor) shown(g, stack int32, byItself bool) {
	v := stack << 1
	if byItself {
		v |= 1
	}
	r := &c.recent[g]
	again := r.latest[1] == v
	r.latest[0], r.latest[1] = v, r.latest[0]
	if again {
		r.last = stack
		return
	}
	c.stopped(g, stack, byItself)
}

func (c *wireCursor) thread(i int32) int32 {
	if i < 0 {
		return -1
	}
	for int(i) >= len(c.threadOf) {
		c.threadOf = append(c.threadOf, 0)
	}
	if c.threadOf[i] == 0 {
		c.d.threads = append(c.d.threads, c.dec.Thread(i))
		c.threadOf[i] = int32(len(c.d.threads))
	}
	return c.threadOf[i] - 1
}

// stack returns the number of a call chain, or −1 if there is none.
func (c *wireCursor) stack(i int32) int32 {
	if i < 0 {
		return -1
	}
	if n := c.stackOf[i]; n != 0 {
		return n - 2
	}
	id := int32(-1)
	if s := c.intern(c.dec.Stack(i)); s != nil {
		id = int32(len(c.d.stacks))
		c.d.stacks = append(c.d.stacks, s)
	}
	c.stackOf[i] = id + 2
	return id
}

// frameTable finds the call chains of a generation in the table of the pass.
type frameTable struct {
	dec     *wireformat.Decoder
	stacks  *stackTable
	frameOf []*Frame // by index of wireformat
}

func newFrameTable(dec *wireformat.Decoder, stacks *stackTable) frameTable {
	return frameTable{dec, stacks, make([]*Frame, len(dec.Frames()))}
}

// intern returns the canonical *Stack of frames of the generation.
func (c *frameTable) intern(refs []int32) *Stack {
	if len(refs) == 0 {
		return nil
	}
	t := c.stacks
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := make([]*Frame, len(refs))
	for i, ref := range refs {
		if c.frameOf[ref] == nil {
			f := &c.dec.Frames()[ref]
			c.frameOf[ref] = t.frame(trace.StackFrame{PC: f.PC, Func: c.dec.Text(int32(f.Func)), File: c.dec.Text(int32(f.File)), Line: f.Line})
		}
		frames[i] = c.frameOf[ref]
	}
	return t.internFrames(frames)
}

func (c *wireCursor) why(text int32) int32 {
	n := &c.reasonOf[text+1]
	if *n == 0 {
		*n = c.reason(c.dec.Text(text)) + 1
	}
	return *n - 1
}

// event records an event. The frequent types come first.
func (c *wireCursor) event(ev *wireformat.Event) {
	t := Time(ev.Time)
	switch ev.Type {
	case wireformat.GoStart:
		g := c.g(ev.Target)
		c.step(t, stepCode(Runnable, Running), g, c.thread(ev.Thread), narrowProc(ev.Proc))
	case wireformat.GoBlock, wireformat.GoStop:
		g := c.g(ev.G)
		reason, stack := c.why(ev.Text), c.stack(ev.Stack)
		byItself := ev.Type == wireformat.GoBlock
		if stack >= 0 && c.recent[g].last != stack {
			c.shown(g, stack, byItself && c.d.reasons[reason] != "preempted")
		}
		code := stepCode(Running, Runnable)
		if byItself {
			code = stepCode(Running, Waiting)
		}
		c.step(t, code, g, reason, stack)
	case wireformat.GoUnblock, wireformat.GoSwitch, wireformat.GoSwitchDestroy:
		g, by := c.g(ev.Target), int32(-1)
		if ev.G >= 0 {
			by = c.g(ev.G)
		}
		stack := c.stack(ev.Stack)
		if by >= 0 && stack >= 0 && c.recent[by].last != stack {
			c.shown(by, stack, true)
		}
		c.step(t, stepCode(Waiting, Runnable), g, by, stack)
	case wireformat.GoSyscallBegin:
		g := c.g(ev.G)
		stack := c.stack(ev.Stack)
		if stack >= 0 && c.recent[g].last != stack {
			c.shown(g, stack, true)
		}
		c.step(t, stepCode(Running, Syscall), g, c.why(-1), stack)
	case wireformat.GoSyscallEnd:
		c.step(t, stepCode(Syscall, Running), c.g(ev.G), c.thread(ev.Thread), narrowProc(ev.Proc))
	case wireformat.GoSyscallEndBlock:
		c.step(t, stepCode(Syscall, Runnable), c.g(ev.G), -1, -1)
	case wireformat.GoDestroy:
		c.step(t, stepCode(Running, NotExist), c.g(ev.G), -1, -1)
	case wireformat.ProcsChange:
		c.metricEvent(t, 0, ev.Value)
	case wireformat.HeapAlloc:
		c.metricEvent(t, 1, ev.Value)
	case wireformat.HeapGoal:
		c.metricEvent(t, 2, ev.Value)
	case wireformat.ProcStart, wireformat.ProcStop, wireformat.ProcSteal, wireformat.ProcStatus:
		c.tick(t)
		status := int32(1)
		if ev.From != 0 {
			c.real()
			status = 0
		}
		if ev.To == wireformat.ProcIdle && ev.From != ev.To {
			c.put(codeProcIdle, narrowProc(int64(ev.Value)), status, -1)
		}
	case wireformat.GoCreate, wireformat.GoCreateBlocked:
		c.create(ev)
	case wireformat.GoCreateSyscall:
		g := c.g(ev.Target)
		x, y := c.thread(ev.Thread), narrowProc(ev.Proc)
		c.createdInC(g)
		c.step(t, stepCode(NotExist, Syscall), g, x, y)
	case wireformat.GoDestroySyscall:
		c.step(t, stepCode(Syscall, NotExist), c.g(ev.G), -1, -1)
	case wireformat.GoStatus, wireformat.GoStatusStack:
		g, to := c.g(ev.Target), goState[ev.To]
		c.tick(t)
		stack := c.stack(ev.Stack)
		c.status(g, to, stack, c.thread(ev.Thread), narrowProc(ev.Proc))
	default:
		c.rare(ev)
	}
}

// metricEvent records the value of a metric.
func (c *wireCursor) metricEvent(t Time, which int, value uint64) {
	c.tick(t)
	if c.metricName[which] < 0 {
		c.metricName[which] = c.nameID(metricNames[which])
	}
	c.real()
	c.put(codeMetric, c.metricName[which], int32(value), int32(value>>32))
}

func (c *wireCursor) create(ev *wireformat.Event) {
	g, by := c.g(ev.Target), int32(-1)
	c.tick(Time(ev.Time))
	if ev.G >= 0 {
		by = c.g(ev.G)
	}
	stack := c.stack(ev.Stack)
	if by >= 0 && stack >= 0 && c.recent[by].last != stack {
		c.shown(by, stack, true)
	}
	c.recent[g].latest = nothingRecent
	c.name(g, fromCreation, c.stack(ev.Start))
	c.d.gs[g].site = stack
	to := Runnable
	if ev.Type == wireformat.GoCreateBlocked {
		to = Waiting
	}
	c.real()
	c.put(stepCode(NotExist, to), g, by, stack)
}

// rare records an event that is not a transition.
func (c *wireCursor) rare(ev *wireformat.Event) {
	switch ev.Type {
	case wireformat.STWBegin:
		c.goRange(ev, codeRangeBegin, c.stw(ev.Text))
	case wireformat.STWEnd:
		c.goRange(ev, codeRangeEnd, c.stw(ev.Text))
	case wireformat.GCMarkAssistBegin:
		c.goRange(ev, codeRangeBegin, -1)
	case wireformat.GCMarkAssistActive:
		c.goRange(ev, codeRangeActive, -1)
	case wireformat.GCMarkAssistEnd:
		c.goRange(ev, codeRangeEnd, -1)
	case wireformat.GCBegin:
		c.otherRange(ev, codeRangeBegin, markRange, -1)
	case wireformat.GCActive:
		c.otherRange(ev, codeRangeActive, markRange, -1)
	case wireformat.GCEnd:
		c.otherRange(ev, codeRangeEnd, markRange, -1)
	case wireformat.GCSweepBegin:
		c.otherRange(ev, codeRangeBegin, sweepRange, int64(ev.Value))
	case wireformat.GCSweepActive:
		c.otherRange(ev, codeRangeActive, sweepRange, int64(ev.Value))
	case wireformat.GCSweepEnd:
		c.otherRange(ev, codeRangeEnd, sweepRange, int64(ev.Value))
	case wireformat.CPUSample:
		c.aux(ev, false, aux{kind: auxSample})
	case wireformat.GoLabel:
		c.aux(ev, true, aux{kind: auxLabel, name: c.dec.Text(ev.Text), at: int64(c.g(ev.G))})
	case wireformat.UserTaskBegin:
		c.aux(ev, true, aux{kind: auxTaskBegin, name: c.dec.Text(ev.Text), id: ev.Value, parent: ev.Value2})
	case wireformat.UserTaskEnd:
		c.aux(ev, true, aux{kind: auxTaskEnd, name: c.dec.Text(ev.Text), id: ev.Value, parent: ev.Value2})
	case wireformat.UserRegionBegin:
		c.aux(ev, true, aux{kind: auxRegionBegin, name: c.dec.Text(ev.Text), id: ev.Value})
	case wireformat.UserRegionEnd:
		c.aux(ev, true, aux{kind: auxRegionEnd, name: c.dec.Text(ev.Text), id: ev.Value})
	case wireformat.UserLog:
		c.aux(ev, true, aux{kind: auxLog, name: c.dec.Text(ev.Text), value: c.dec.Text(ev.Text2), id: ev.Value})
	}
}

const (
	markRange  = "GC concurrent mark phase"
	sweepRange = "GC incremental sweep"
)

// stw returns the number of the name of a stop-the-world range.
func (c *wireCursor) stw(kind int32) int32 {
	n, ok := c.stwNames[kind]
	if !ok {
		n = c.nameID("stop-the-world (" + c.dec.Text(kind) + ")")
		if c.stwNames == nil {
			c.stwNames = map[int32]int32{}
		}
		c.stwNames[kind] = n
	}
	return n
}

// goRange records a range of a goroutine. If name is −1, it is a mark assist.
func (c *wireCursor) goRange(ev *wireformat.Event, code uint8, name int32) {
	c.tick(Time(ev.Time))
	of := ev.G
	if code == codeRangeActive {
		of = ev.Target
	}
	g := c.g(of)
	if code == codeRangeActive {
		c.d.gs[g].assist = true
	} else {
		c.real()
	}
	if name < 0 {
		name = c.nameID(assistRange)
	}
	c.put(code, g, name<<1|1, c.stack(ev.Stack))
}

// otherRange records a range of a processor, or of the whole program if proc is −1.
func (c *wireCursor) otherRange(ev *wireformat.Event, code uint8, name string, proc int64) {
	c.tick(Time(ev.Time))
	by := int32(-1)
	if ev.G >= 0 {
		by = c.g(ev.G)
	}
	if code != codeRangeActive {
		c.real()
	}
	c.put(code, narrowProc(proc), c.nameID(name)<<1, by)
}

func (c *wireCursor) aux(ev *wireformat.Event, real bool, a aux) {
	c.tick(Time(ev.Time))
	if real {
		c.real()
	}
	by := int32(-1)
	if ev.G >= 0 {
		by = c.g(ev.G)
	}
	a.by, a.proc, a.thread, a.stack = by, narrowProc(ev.Proc), c.thread(ev.Thread), c.stack(ev.Stack)
	c.addAux(a)
}

// The runtime writes the status of a goroutine before its first event of a generation, with one
// exception: a coroutine (iter.Pull) whose first event is its end. When the runtime writes that
// event, it has already detached the goroutine from the thread (Go 1.23 to 1.26). Package
// wireformat adds the status before the event, with an ID that the runtime does not use. The replay
// finds the actual goroutine in the state at the end of the previous generation.

// runners returns the running goroutine of each thread.
func (r *replay) runners() map[int64]int64 {
	on := map[int64]int64{}
	for id, g := range r.gs {
		if g.cur.state == Running && g.cur.thread >= 0 {
			on[g.cur.thread] = id
		}
	}
	return on
}

// again decodes the generation of d again if the replay of the generations before it has found a
// coroutine whose end is its only event in the generation and which does not have its actual ID
// yet.
func (wd *wireDecoder) again(d *decoded, r *replay, open func() io.Reader) *decoded {
	if len(d.lost) == 0 {
		return d
	}
	wd.running = r.runners()
	for _, l := range d.lost {
		if _, ok := wd.running[l.Thread]; ok && l.G == wireformat.LostGoroutine(l.Thread) {
			d.release()
			return wd.decode(open)
		}
	}
	return d
}
