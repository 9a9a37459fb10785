package granularity

import (
	"runtime"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A Paused measurement continues with [Paused.Resume]. The zero Paused is one
// that was not measuring; resuming it does nothing.
type Paused struct{ state *paused }

type paused struct {
	frames []frame // nil when resumed
	rec    *Recorder
	at     int64 // tick of the pause
	goid   uint64
	over   bool // one of the tasks has ended, which the goroutine alone looks at, as at all above

	next, prev *paused
	one        [1]frame // where frames are, mostly
}

// pauses has what is paused: the pause has undone the lock of the goroutine to its thread for each
// of the tasks, so that a task that ends in it must not undo another one, and may not be resumed
// any more.
var pauses pausedLists

type pausedLists [64]struct {
	mu   sync.Mutex // guards the links
	list *paused
	_    [64]byte // keeps the next lock off this one's cache line
}

// place returns the index of the goroutine's list.
func (*pausedLists) place(g uintptr) int { return int(uint64(g) * 0x9e3779b97f4a7c15 >> 58) }

func (l *pausedLists) add(p *paused) {
	at := &l[l.place(p.frames[0].g)]
	at.mu.Lock()
	defer at.mu.Unlock()
	if p.next = at.list; p.next != nil {
		p.next.prev = p
	}
	at.list = p
}

func (l *pausedLists) remove(p *paused) {
	at := &l[l.place(p.frames[0].g)]
	at.mu.Lock()
	defer at.mu.Unlock()
	if p.next != nil {
		p.next.prev = p.prev
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		at.list = p.next
	}
	p.next, p.prev = nil, nil
}

// ended tells that the execution has ended on the calling goroutine, and returns its frame if it
// was paused.
func (l *pausedLists) ended(g uintptr, first int64) *frame {
	p, f := l.find(g, goroutine(), first)
	if p == nil {
		return nil
	}
	if p.over = true; f == &p.frames[0] { // the outermost one: there are no more to come
		l.remove(p)
	}
	return f
}

// find returns the pause in which the goroutine's execution is and its frame there, or nil.
func (l *pausedLists) find(g uintptr, goid uint64, first int64) (*paused, *frame) {
	at := &l[l.place(g)]
	at.mu.Lock()
	defer at.mu.Unlock()
	for p := at.list; p != nil; p = p.next {
		for i := range p.frames {
			if p.goid == goid && p.frames[i].first == first {
				return p, &p.frames[i]
			}
		}
	}
	return nil, nil
}

// Pause stops the measurement of the task that the calling goroutine executes, and of
// the tasks that it is nested in, and unlocks the goroutine from its
// thread. Use it around an operation that is known to block:
//
//	paused := granularity.Pause()
//	reply := <-replies
//	paused.Resume()
//
// Without it a blocking operation costs the task some 10 µs, because another
// thread must take over; with it, about 0.15 µs and one allocation (two in a nested task). The
// pause belongs to the task's wall and blocked time, not to its cycles.
//
// Outside of a task Pause does nothing. A task that ends while paused is
// counted as unmeasured, and the tasks around it that were paused with it, too. A goroutine that
// the user locked to its thread stays locked.
func Pause() Paused {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mark := cycles.Default().Stop(nil)
	return Paused{shadowOf(mark.Thread).pause(&mark)}
}

// pause takes all frames of the goroutine off the thread. The mark is a reading of the default
// clock, which nearly always is the tasks' own: where a reading is a system call, a second one
// would be much to count to a task.
//
//go:norace
func (sh *shadow) pause(mark *cycles.Mark) *paused {
	if sh.stale.Load() {
		sh.sweep()
	}
	n := len(sh.frames)
	if n == 0 || sh.frames[n-1].g != mark.Goroutine {
		return nil
	}
	rec := sh.frames[n-1].site.rec
	if rec.clock != cycles.Default() {
		*mark = rec.clock.Stop(mark.Thread)
	}
	sh.forward(mark)
	for i := range sh.frames {
		f := &sh.frames[i]
		var m measurement
		f.measure(mark, rec.bias, &m) // Resume reads the clock, too: what follows is as long as an empty task again
		f.before, f.offCPU, f.more = m.total, m.totalOff, true
	}
	p := &paused{rec: rec, at: mark.Wall, goid: goroutine()}
	if p.frames = p.one[:]; n > 1 {
		p.frames = make([]frame, n)
	}
	for i := range p.frames { // copy() would tell the race detector
		p.frames[i] = sh.frames[i]
	}
	sh.drop()
	mark.Thread.Leave()
	pauses.add(p)
	for range n {
		runtime.UnlockOSThread()
	}
	return p
}

// Resume continues the measurement, on whatever thread the goroutine is by now.
// It must be called by the goroutine that called Pause, once, before the paused tasks end, and
// after the tasks that were begun during the pause; else it does nothing and the paused tasks count
// as unmeasured.
func (p Paused) Resume() {
	if p.state != nil {
		p.state.resume(goroutine())
	}
}

//go:norace
func (p *paused) resume(goid uint64) {
	if p.goid != goid || p.frames == nil || p.over {
		return
	}
	runtime.LockOSThread()
	mark := p.rec.clock.Start()
	sh := shadowOf(mark.Thread)
	if n := len(sh.frames); n > 0 {
		if sh.frames[n-1].g == mark.Goroutine { // inside a task begun during the pause
			runtime.UnlockOSThread()
			return
		}
		sh.drop()
	}
	sh.forward(&mark)
	for i := range p.frames {
		f := &p.frames[i]
		f.wall, f.cpu = mark.Wall, mark.CPU
		f.offCPU += mark.Wall - p.at
		if i > 0 {
			runtime.LockOSThread() // one for each frame
		}
	}
	pauses.remove(p)
	for i := range p.frames {
		*sh.push() = p.frames[i]
	}
	p.frames = nil
}
