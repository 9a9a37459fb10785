package granularity

import (
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// Measuring one execution, after section 4 of the paper.
//
// Each goroutine has a shadow stack of the tasks that it executes. When a task starts, a frame is
// pushed and the clock is read. When it ends, the clock is read and the frame is popped:
//
//	total cycles = clock at the end − clock at the start
//	self cycles  = total − Σ total of the tasks directly nested in it
//
// Self cycles are the task's granularity. Those of a task and of everything nested in it sum to the
// outermost total.
//
// The clock counts what a thread executes. For a task that left its thread ([cycles.Mark.Stayed]),
// only the wall time is known, unless it was locked to the thread: see locking.go. In a program with
// coroutines ([iter.Pull]) no task is locked, because that could end the program.
//
// [Pause] takes the goroutine's frames off its stack, and resume puts them back.

// frame is one executing task. Only its goroutine accesses it.
type frame struct {
	site  *site
	start cycles.Mark // the clock at the start, or at the last resume
	first int64       // tick at the start of the execution; identifies the execution on its goroutine
	lock  lockKind    // the goroutine is locked to its thread for the task
	more  bool        // some field below is not zero, or tasks have been nested in it

	left     bool  // it left its thread before the last Pause: its cycles are unknown
	turns    uint8 // how often it let others run before the last Pause, or between two
	switches int64 // what cycles.Switches returned when the goroutine was locked
	before   int64 // cycles before the last Pause
	offCPU   int64 // ticks off the processor before the last resume
	nested   int64 // total cycles of directly nested tasks
	nestOff  int64 // ticks off the processor in directly nested tasks
	log      *TaskRecord
}

// stack is a stack of frames. There are none if the root has no site.
type stack struct {
	root  frame
	inner []frame // nested in the root
}

// depth returns the number of frames.
//
//go:norace
func (s *stack) depth() int {
	if s.root.site == nil {
		return 0
	}
	return 1 + len(s.inner)
}

// at returns a frame. The root is number 0.
//
//go:norace
func (s *stack) at(i int) *frame {
	if i == 0 {
		return &s.root
	}
	return &s.inner[i-1]
}

// innermost returns the newest frame, or the root if there is none.
//
//go:norace
func (s *stack) innermost() *frame {
	if s.root.more && len(s.inner) > 0 {
		return &s.inner[len(s.inner)-1]
	}
	return &s.root
}

// shadow is the stack of one goroutine. A task without nested tasks uses its first cache line only,
// since thousands of stacks do not fit into the cache.
type shadow struct {
	g atomic.Uintptr // see [cycles.Goroutine]; 0: no goroutine yet
	stack
	latest int64          // the last reading of the clock, if tasks have been nested in the root
	on     *cycles.Thread // thread of that reading
	paused *paused        // the last pause of the goroutine that was not resumed
	_      [32]byte       // a multiple of the cache line
}

// shadows holds the stacks of all goroutines that have executed tasks: as many as lived at the same
// time, because the runtime reuses the structures of exited goroutines.
var shadows struct {
	table atomic.Pointer[[1 << shadowBits]shadow] // by the hash of the goroutine; nil at first
	more  sync.Map                                // those for which it had no place, by goroutine
}

const (
	shadowBits = 12
	shadowWays = 4 // places in the table that a goroutine may have
)

// shadowOf returns the calling goroutine's stack. Later goroutines reuse it, but only one at a time,
// which the race detector cannot see.
//
//go:norace
func shadowOf(g uintptr) *shadow {
	if t := shadows.table.Load(); t != nil {
		for i, place := 0, hashOf(g); i < shadowWays; i++ {
			if sh := &t[(place+i)%len(t)]; sh.g.Load() == g {
				return sh
			}
		}
	}
	return newShadow(g)
}

func hashOf(g uintptr) int { return int(uint64(g) * 0x9e3779b97f4a7c15 >> (64 - shadowBits)) }

// newShadow is the slow path of shadowOf.
func newShadow(g uintptr) *shadow {
	found, ok := shadows.more.Load(g)
	t := shadows.table.Load()
	for i, place := 0, hashOf(g); !ok && t != nil && i < shadowWays; i++ {
		if sh := &t[(place+i)%len(t)]; sh.g.CompareAndSwap(0, g) {
			return sh
		}
	}
	if !ok {
		sh := new(shadow)
		sh.g.Store(g)
		found, _ = shadows.more.LoadOrStore(g, sh)
	}
	return found.(*shadow)
}

// forget releases the stack of a goroutine whose ID will not be reused.
//
//go:norace
func (sh *shadow) forget() {
	if cycles.Reused || sh.depth() > 0 || sh.paused != nil {
		return
	}
	shadows.more.CompareAndDelete(sh.g.Load(), sh)
	sh.g.Store(0)
}

// An execution is the state that begin leaves for end. It is not copied: reading recently written
// data with wider accesses than it was written with stalls the processor.
type execution struct {
	site   *site
	shadow *shadow
	first  int64
	others uint32 // tasks that it represents besides itself
	region *trace.Region
}

// begin starts the measurement of a task of the site on the calling goroutine.
//
//go:norace
func (x *execution) begin(s *site, log *TaskRecord) {
	r := s.rec
	if !r.ready.Load() {
		r.prepare()
	}
	x.site = s
	if trace.IsEnabled() {
		x.region = s.startRegion()
	}
	sh := shadowOf(cycles.Goroutine())
	x.shadow = sh
	if log != nil {
		log.Outer = sh.top()
	}
	f := sh.push()
	f.site = s
	if log != nil {
		f.log, f.more = log, true
	}
	mode := s.mode.Load()
	if r.locks && (mode == firstLocked || mode == allLocked || log != nil || !cycles.TurnsKnown()) {
		f.lockFor(r)
	}
	f.start = r.clock.Start()
	if mode == sampleLocked && f.lock == 0 && r.locks && r.sample(s, f.start.Wall) {
		f.lockAs(lockSample)
		f.start = r.clock.Start()
	}
	if f.more || f != &sh.root {
		sh.forward(&f.start)
	}
	f.first, x.first = f.start.Wall, f.start.Wall
}

// forward keeps the clock from stepping back between two readings of one thread in a root task, as a
// thread clock can at a new anchor. A nested task would then appear larger than the enclosing one.
//
//go:norace
func (sh *shadow) forward(mark *cycles.Mark) {
	if len(sh.inner) > 0 && mark.CPU < sh.latest && mark.Thread == sh.on {
		mark.CPU = sh.latest
	}
	sh.latest, sh.on = mark.CPU, mark.Thread
}

// push returns a new frame. begin sets the first half; the second half is zero.
//
//go:norace
func (sh *shadow) push() *frame {
	if sh.root.site == nil {
		return &sh.root
	}
	if !sh.root.more {
		sh.root.more = true
		sh.latest, sh.on = sh.root.start.CPU, sh.root.start.Thread
	}
	sh.innermost().site.pace.inParts()
	n := len(sh.inner)
	if n == cap(sh.inner) {
		more := make([]frame, n, 2*n+4)
		for i := range more { // copy() would be visible to the race detector
			more[i] = sh.inner[i]
		}
		sh.inner = more
	}
	sh.inner = sh.inner[:n+1]
	return &sh.inner[n]
}

// pop removes the newest frame.
//
//go:norace
func (sh *shadow) pop() {
	*sh.innermost() = frame{}
	sh.inner = sh.inner[:max(len(sh.inner)-1, 0)]
}

// top returns the log ID of the innermost task, or 0 if there is none or it is not in the log.
//
//go:norace
func (sh *shadow) top() uint64 {
	if log := sh.innermost().log; log != nil {
		return log.ID
	}
	return 0
}

// end finishes the measurement and records it. A deferred call handles panics and runtime.Goexit.
//
//go:norace
func (x *execution) end() {
	sh, r := x.shadow, x.site.rec
	f := sh.innermost()
	if f.site == nil || f.first != x.first {
		x.site.cell.lose(1 + uint64(x.others))
		sh.endPaused(r, x.first)
		sh.forget()
		x.endRegion()
		return
	}
	mark := r.clock.End(&f.start)
	if f.more || f != &sh.root {
		sh.finish(f, &mark, x.others)
		sh.forget()
		x.endRegion()
		return
	}
	// The rest is what finish does for a task without nesting, pauses, locks and log.
	counted, wall := mark.CPU-f.start.CPU, mark.Wall-f.first
	notes := notesOf(mark.Thread, sh.g.Load())
	note := notes.next()
	note.site, note.first, note.wall = x.site, x.first, wall
	note.self, note.off = max(counted-r.bias, 0), max(wall-max(counted, 0), 0)
	note.kind, note.others = 0, x.others
	note.alone()
	if !r.anywhere && !mark.Stayed(&f.start) {
		note.kind, note.turns = noteLeft, mark.Turns(&f.start)
		notes.learn(x.site)
	}
	notes.release()
	f.site = nil
	sh.forget()
	x.endRegion()
}

func (x *execution) endRegion() {
	if x.region != nil {
		x.region.End()
	}
}

// finish finishes the measurement of the innermost task.
//
//go:norace
func (sh *shadow) finish(f *frame, mark *cycles.Mark, others uint32) {
	r, n := f.site.rec, len(sh.inner)
	sh.forward(mark)
	var m measurement
	f.measure(mark, r, &m)
	var kind noteKind
	if n > 0 {
		kind |= noteNested
		if r.AggregateNested {
			kind |= noteAggregated
		}
		sh.at(n-1).addNested(f, &m, kind)
	}
	turns := f.gaveWay(m.turns)
	switch {
	case m.left:
		kind |= noteLeft
	case turns == 0:
	case f.lock == lockSample || f.lock == lockFirst && lockBudget*r.base.FromNS(int64(blockCost))*turns > m.wall:
		kind |= noteSample
	case f.lock == lockCheap || f.lock == lockFirst:
		kind |= noteTypical
	}
	switch {
	case kind&(noteAggregated|noteLeft) != 0:
		r.unlog(f.log)
	case f.log != nil:
		r.enter(f, mark, &m)
	}
	notes := notesOf(mark.Thread, sh.g.Load())
	note := notes.next()
	note.site, note.first, note.wall, note.self, note.off, note.kind = f.site, f.first, m.wall, m.self, m.selfOff, kind
	note.turns, note.others = m.turns, others
	note.alone()
	if m.left {
		notes.learn(f.site)
	}
	notes.release()
	if f.lock != 0 {
		runtime.UnlockOSThread()
		f.lockEnds(r, m.wall, turns)
	}
	sh.pop()
}

// addNested subtracts a nested task that has just ended from f's own cycles. If the task is
// aggregated into f, it subtracts only what the task had subtracted itself.
//
//go:norace
func (f *frame) addNested(inner *frame, m *measurement, kind noteKind) {
	f.more = true
	if kind&noteAggregated != 0 {
		f.nested += inner.nested
		f.nestOff += inner.nestOff
		return
	}
	f.nested += m.total
	f.nestOff += m.totalOff
}

// measurement is the result of one execution.
type measurement struct {
	total, self       int64 // cycles
	wall              int64 // ticks
	totalOff, selfOff int64 // ticks off the processor
	left              bool  // it has left its thread: only wall is known
	turns             uint8 // how often it has let others run, locked or not
}

// measure computes the execution that ends at the mark.
//
//go:norace
func (f *frame) measure(mark *cycles.Mark, r *Recorder, m *measurement) {
	counted, wall := mark.CPU-f.start.CPU, mark.Wall-f.start.Wall
	m.left = f.left || !r.stayed(f, mark)
	m.turns = max(f.turns, mark.Turns(&f.start))
	if m.left {
		counted = 0
	}
	m.total = max(f.before+counted-r.bias, 0)
	m.self = max(m.total-f.nested, 0)
	m.wall = mark.Wall - f.first
	m.totalOff = f.offCPU + max(wall-counted, 0)
	m.selfOff = max(m.totalOff-f.nestOff, 0)
}

// stayed reports whether the clock's count since the frame's start is what the task executed.
//
//go:norace
func (r *Recorder) stayed(f *frame, mark *cycles.Mark) bool {
	return r.anywhere || mark.Stayed(&f.start) ||
		f.lock != 0 && !cycles.TurnsKnown() && mark.Thread == f.start.Thread
}

// paused is what a goroutine has paused. Only that goroutine accesses it, except for shadow.
type paused struct {
	shadow *shadow
	stack  // none when resumed
	rec    *Recorder
	at     int64   // tick of the pause
	over   bool    // one of the tasks has ended
	outer  *paused // paused before by the same goroutine
}

// Pause stops the measurement of the task that the calling goroutine executes, and of the tasks in
// which it is nested. Use it around an operation that is known to block:
//
//	resume := granularity.Pause()
//	reply := <-replies
//	resume()
//
// Without it, the cycles of tasks that block are known only from a sample of such tasks. A pause
// costs about 0.15 µs and two small allocations. Its time belongs to the task's wall and blocked time.
//
// The goroutine must call resume, once, before the paused tasks end and after the tasks begun during
// the pause. Otherwise they are unmeasured. Outside a task, Pause and resume do nothing.
func Pause() (resume func()) { return shadowOf(cycles.Goroutine()).pause().resume }

// pause takes all frames of the goroutine off its stack.
//
//go:norace
func (sh *shadow) pause() *paused {
	if sh.depth() == 0 {
		sh.forget()
		return nil
	}
	f := sh.innermost()
	rec := f.site.rec
	mark := rec.clock.Stop(f.start.Thread)
	sh.forward(&mark)
	for i := range sh.depth() {
		f := sh.at(i)
		var m measurement
		f.measure(&mark, rec, &m) // resume also reads the clock, so the rest is as long as an empty task again
		f.before, f.offCPU, f.left, f.turns, f.more = m.total, m.totalOff, m.left, m.turns, true
		f.site.pace.inParts()
		if f.lock != 0 {
			runtime.UnlockOSThread()
		}
	}
	p := &paused{shadow: sh, stack: sh.stack, rec: rec, at: mark.Wall, outer: sh.paused}
	sh.stack = stack{}
	sh.paused = p
	return p
}

// endPaused ends a paused execution.
//
//go:norace
func (sh *shadow) endPaused(r *Recorder, first int64) {
	for at := &sh.paused; *at != nil; at = &(*at).outer {
		p := *at
		for i := range p.depth() {
			f := p.stack.at(i)
			if f.first != first {
				continue
			}
			r.unlog(f.log)
			f.lockEnds(r, cycles.Ticks()-first, 0)
			if p.over = true; i == 0 { // the outermost one: no more follow
				*at = p.outer
			}
			return
		}
	}
}

// resume continues the measurement, on the goroutine's current thread. See [Pause].
//
//go:norace
func (p *paused) resume() {
	if p == nil || p.shadow != shadowOf(cycles.Goroutine()) {
		return
	}
	sh := p.shadow
	if p.depth() == 0 || p.over || sh.depth() > 0 || sh.paused != p {
		return
	}
	sh.paused = p.outer
	sh.stack, p.stack = p.stack, stack{}
	for i := range sh.depth() {
		if f := sh.at(i); f.lock != 0 {
			runtime.LockOSThread()
			f.switches = cycles.Switches() // of the current thread
		}
	}
	mark := p.rec.clock.Start()
	sh.latest, sh.on = mark.CPU, mark.Thread
	for i := range sh.depth() {
		f := sh.at(i)
		f.start = mark
		f.offCPU += mark.Wall - p.at
	}
}
