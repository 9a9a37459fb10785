package granularity

import (
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// Measuring one execution, after section 4 of the paper.
//
// A task is locked to its thread while it executes, because counters count
// threads. Each thread has a shadow stack of the tasks that are executing
// on it. When a task starts, the clock is read and a frame is pushed; when it
// ends, the clock is read and the frame is popped:
//
//	total cycles = clock at the end − clock at the start
//	self cycles  = total − Σ total of the tasks directly nested in it
//
// Self cycles are the task's granularity, so that the selves of a task and of
// all that is nested in it sum to the outermost total. A [Task] that runs itself again
// inside its own execution gets no second frame: it is one execution.
//
// [Pause] takes the goroutine's frames off the thread and unlocks it; Resume
// puts them onto the thread that the goroutine is on by then. The cycles in between are nobody's.
//
// A frame that is not on top when its task ends belongs to a task that unlocked
// its goroutine from the thread, or paused and did not resume: its cycles are not
// known, and it is counted as unmeasured. Such frames are found out because a frame remembers its
// goroutine, and another goroutine can only run on the thread when the first is not locked to it;
// and the task that misses its frame at its end tells the stack that has it.

// frame is one executing task. Frames are touched only by the goroutine that
// is locked to the thread. Of most tasks only the first half, a cache line, is touched.
type frame struct {
	site   *site
	first  int64   // tick at the start of the execution; with the goroutine it names the execution
	wall   int64   // tick at the start, or at the last Resume
	cpu    int64   // the clock then
	g      uintptr // the goroutine, see cycles.Goroutine: no other has it while the task executes
	inline bool    // run by its creator, never submitted
	more   bool    // something of what follows is not zero

	before  int64 // cycles before the last Pause
	offCPU  int64 // ticks off the processor before the last Resume
	nested  int64 // total cycles of directly nested tasks
	nestOff int64 // ticks off the processor in directly nested tasks
	task    *Task // when the task is an object of its own
	log     *pending
}

// shadow is the stack of one thread, and what the thread has noted of tasks that ended.
type shadow struct {
	frames []frame
	latest int64       // the clock when it was read last, while there are frames
	stale  atomic.Bool // elsewhere is not empty
	notes  notes

	mu        sync.Mutex
	elsewhere map[int64]bool // executions, by frame.first, that ended elsewhere and left their frames here
}

// abandon notes that the execution's frame, on the stack of a thread that is not the
// calling one, is nobody's any more.
func (sh *shadow) abandon(first int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.elsewhere == nil {
		sh.elsewhere = map[int64]bool{}
	}
	sh.elsewhere[first] = true
	sh.stale.Store(true)
}

// sweep removes abandoned frames.
//
//go:norace
func (sh *shadow) sweep() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	kept := 0
	for i := range sh.frames {
		if !sh.elsewhere[sh.frames[i].first] {
			sh.frames[kept] = sh.frames[i]
			kept++
		}
	}
	clear(sh.frames[kept:])
	sh.frames = sh.frames[:kept]
	clear(sh.elsewhere)
	sh.stale.Store(false)
}

// shadowOf returns the thread's shadow stack. The caller is locked to the thread,
// and so the only one to touch it; the race detector cannot know that.
//
//go:norace
func shadowOf(th *cycles.Thread) *shadow {
	if th.Local == nil {
		newShadow(th)
	}
	return (*shadow)(th.Local)
}

// goroutine tells the calling goroutine from others: by its id or, where that is
// not known, by its address with the bit unnamed set; 0 where neither is known.
func goroutine() uint64 {
	if id := callstack.Goid(); id != 0 {
		return id
	}
	if g := cycles.Goroutine(); g != 0 {
		return unnamed | uint64(g)
	}
	return 0
}

const unnamed = 1 << 63

// An execution is what begin leaves for end. It stays where it is: copying what was just
// written, wider than it was written, stalls the processor for longer than all the writing took.
type execution struct {
	site   *site
	thread *cycles.Thread // at the start; nil: the task executes itself, and there is nothing to measure
	first  int64
	g      uintptr
	region *trace.Region
}

// begin starts the measurement of a task of the site on the calling goroutine, which it locks
// to its thread until end. That is most likely the given one, if any. Both take about 60 ns
// together.
//
//go:norace
func (x *execution) begin(s *site, likely *cycles.Thread, task *Task, inline bool, log *pending) {
	x.site = s
	if trace.IsEnabled() {
		x.region = s.startRegion()
	}
	runtime.LockOSThread()
	mark := s.rec.clock.StartOn(likely)
	sh := shadowOf(mark.Thread)
	if sh.stale.Load() {
		sh.sweep()
	}
	if n := len(sh.frames); n > 0 {
		if sh.frames[n-1].g != mark.Goroutine {
			sh.drop()
		} else if task != nil && sh.executing(task) {
			s.rec.unlog(log)
			runtime.UnlockOSThread() // the lock of the execution around it is enough, and Pause can undo that one
			return
		}
		sh.forward(&mark)
	}
	sh.latest = mark.CPU
	x.first, x.thread, x.g = mark.Wall, mark.Thread, mark.Goroutine
	if log != nil {
		log.outer = sh.top()
	}
	f := sh.push()
	f.site, f.first, f.wall, f.cpu, f.g, f.inline = s, mark.Wall, mark.Wall, mark.CPU, mark.Goroutine, inline
	if task != nil || log != nil {
		f.task, f.log, f.more = task, log, true
	}
}

// forward keeps the clock from stepping back between two readings of one root task. A
// thread clock that anchors itself anew can, by a few microseconds; then a task
// nested in another would seem to have executed more than the whole.
//
//go:norace
func (sh *shadow) forward(mark *cycles.Mark) {
	if len(sh.frames) > 0 && mark.CPU < sh.latest {
		mark.CPU = sh.latest
	}
	sh.latest = mark.CPU
}

// push returns a new frame, of which begin sets the first half and the second is zero.
//
//go:norace
func (sh *shadow) push() *frame {
	n := len(sh.frames)
	if n == cap(sh.frames) {
		sh.grow()
	}
	sh.frames = sh.frames[:n+1]
	return &sh.frames[n]
}

// grow makes room for more frames.
//
//go:norace
func (sh *shadow) grow() {
	n := len(sh.frames)
	frames := make([]frame, n, 2*n+4)
	for i := range frames { // copy() would tell the race detector
		frames[i] = sh.frames[i]
	}
	sh.frames = frames
}

// pop removes the newest frame.
//
//go:norace
func (sh *shadow) pop() {
	n := len(sh.frames) - 1
	if f := &sh.frames[n]; f.more {
		*f = frame{}
	}
	sh.frames = sh.frames[:n]
}

// drop removes all frames: they were left by a goroutine that was unlocked.
//
//go:norace
func (sh *shadow) drop() {
	clear(sh.frames)
	sh.frames = sh.frames[:0]
}

// executing reports whether the task is on the stack.
//
//go:norace
func (sh *shadow) executing(task *Task) bool {
	for i := range sh.frames {
		if sh.frames[i].task == task {
			return true
		}
	}
	return false
}

// top returns the number that the innermost task has in the log; 0 where there is none, or it has
// no place there. A task that will be aggregated into the one around it is not looked at.
//
//go:norace
func (sh *shadow) top() uint64 {
	n := len(sh.frames) - 1
	for n > 0 && sh.frames[n].inline && sh.frames[n].site.rec.opts.AggregateNested {
		n--
	}
	if n >= 0 && sh.frames[n].log != nil {
		return sh.frames[n].log.id
	}
	return 0
}

// end finishes the measurement and records it. It is deferred, so that it also
// sees a panic and runtime.Goexit.
//
//go:norace
func (x *execution) end() {
	if x.thread == nil {
		x.endRegion()
		return
	}
	r := x.site.rec
	mark := r.clock.Stop(x.thread)
	sh := shadowOf(mark.Thread)
	n := len(sh.frames) - 1
	if n < 0 || sh.frames[n].first != x.first || sh.frames[n].g != x.g {
		r.lost(x.site, mark)
		if f := pauses.ended(x.g, x.first); f != nil {
			r.unlog(f.log)
			x.endRegion() // the pause has unlocked the goroutine: what lock it has now is the user's
			return
		}
		shadowOf(x.thread).abandon(x.first)
		x.leave()
		return
	}
	f := &sh.frames[n]
	if n > 0 || f.more {
		sh.finish(f, &mark)
		x.leave()
		return
	}
	// The rest is what finish comes to for a task like most: nested in none, with none nested
	// in it, never paused, and in no log.
	counted, wall := mark.CPU-f.cpu, mark.Wall-f.first
	mark.Thread.Leave()
	if sh.notes.full() {
		sh.notes.count()
	}
	note := sh.notes.next()
	note.site, note.first, note.wall = x.site, x.first, wall
	note.self, note.off = max(counted-r.bias, 0), max(wall-max(counted, 0), 0)
	note.nested, note.aggregated = false, false
	sh.notes.publish()
	sh.frames = sh.frames[:0]
	x.leave()
}

// leave unlocks the goroutine from its thread.
func (x *execution) leave() {
	runtime.UnlockOSThread()
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
func (sh *shadow) finish(f *frame, mark *cycles.Mark) {
	r, n := f.site.rec, len(sh.frames)-1
	sh.forward(mark)
	var m measurement
	f.measure(mark, r.bias, &m)
	if n == 0 {
		mark.Thread.Leave()
	} else {
		m.nested = true
		m.aggregated = r.opts.AggregateNested && f.inline
		sh.frames[n-1].addNested(f, &m)
	}
	switch {
	case m.aggregated:
		r.unlog(f.log)
	case f.log != nil:
		r.enter(f, mark, &m)
	}
	if sh.notes.full() {
		sh.notes.count()
	}
	note := sh.notes.next()
	note.site, note.first, note.wall, note.self, note.off = f.site, f.first, m.wall, m.self, m.selfOff
	note.nested, note.aggregated = m.nested, m.aggregated
	sh.notes.publish()
	sh.pop()
}

// addNested takes the cycles of a task nested in f, which has just ended, off f's
// own; when the task is aggregated into f, only those that the task had taken off itself.
//
//go:norace
func (f *frame) addNested(inner *frame, m *measurement) {
	f.more = true
	if m.aggregated {
		f.nested += inner.nested
		f.nestOff += inner.nestOff
		return
	}
	f.nested += m.total
	f.nestOff += m.totalOff
}

// measurement is what one execution came to.
type measurement struct {
	total, self       int64 // cycles
	wall              int64 // ticks
	totalOff, selfOff int64 // ticks off the processor
	nested            bool  // in another task
	aggregated        bool  // into that other task: not recorded as a task of its own
}

// measure computes the execution that ends at the mark. The bias is what an
// empty task seems to execute.
//
//go:norace
func (f *frame) measure(mark *cycles.Mark, bias int64, m *measurement) {
	counted, wall := mark.CPU-f.cpu, mark.Wall-f.wall
	m.total = max(f.before+counted-bias, 0)
	m.self = max(m.total-f.nested, 0)
	m.wall = mark.Wall - f.first
	m.totalOff = f.offCPU + max(wall-counted, 0)
	m.selfOff = max(m.totalOff-f.nestOff, 0)
}
