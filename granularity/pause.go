package granularity

import (
	"runtime"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A Paused measurement continues with [Paused.Resume]. The zero Paused is one
// that was not measuring; resuming it does nothing.
type Paused struct{ state *paused }

// paused is what a goroutine has paused. Only that goroutine looks at it, but for shadow.
type paused struct {
	shadow *shadow
	frames []frame // nil when resumed
	rec    *Recorder
	at     int64   // tick of the pause
	over   bool    // one of the tasks has ended
	outer  *paused // paused before by the same goroutine
	one    [1]frame
}

// Pause stops the measurement of the task that the calling goroutine executes, and of
// the tasks that it is nested in. Use it around an operation that is known to block:
//
//	paused := granularity.Pause()
//	reply := <-replies
//	paused.Resume()
//
// Without it the cycles of a task that blocks are not known, but for a sample of such tasks. A
// pause costs about 0.15 µs and one allocation (two in a nested task). It
// belongs to the task's wall and blocked time, not to its cycles.
//
// Outside of a task Pause does nothing. A task that ends while paused is
// counted as unmeasured, and the tasks around it that were paused with it, too. A goroutine that
// the user locked to its thread stays locked.
func Pause() Paused { return Paused{shadowOf(cycles.Goroutine()).pause()} }

// pause takes all frames of the goroutine off its stack.
//
//go:norace
func (sh *shadow) pause() *paused {
	n := len(sh.frames)
	if n == 0 {
		sh.forget()
		return nil
	}
	rec := sh.frames[n-1].site.rec
	mark := rec.clock.Stop(sh.frames[n-1].start.Thread)
	sh.forward(&mark)
	for i := range sh.frames {
		f := &sh.frames[i]
		var m measurement
		f.measure(&mark, rec, &m) // Resume reads the clock, too: what follows is as long as an empty task again
		f.before, f.offCPU, f.left, f.turns, f.more = m.total, m.totalOff, m.left, m.turns, true
	}
	p := &paused{shadow: sh, rec: rec, at: mark.Wall, outer: sh.paused}
	if p.frames = p.one[:]; n > 1 {
		p.frames = make([]frame, n)
	}
	for i := range p.frames { // copy() would tell the race detector
		p.frames[i] = sh.frames[i]
		if p.frames[i].lock != 0 {
			runtime.UnlockOSThread()
		}
		sh.frames[i] = frame{}
	}
	sh.frames = sh.frames[:0]
	sh.paused = p
	return p
}

// endPaused tells that the execution has ended, in a pause.
//
//go:norace
func (sh *shadow) endPaused(r *Recorder, first int64) {
	for at := &sh.paused; *at != nil; at = &(*at).outer {
		p := *at
		for i := range p.frames {
			f := &p.frames[i]
			if f.first != first {
				continue
			}
			r.unlog(f.log)
			f.lockEnds(r, cycles.Ticks()-first, 0)
			if p.over = true; i == 0 { // the outermost one: there are no more to come
				*at = p.outer
			}
			return
		}
	}
}

// Resume continues the measurement, on whatever thread the goroutine is by now.
// It must be called by the goroutine that called Pause, once, before the paused tasks end, and
// after the tasks that were begun during the pause; else it does nothing and the paused tasks count
// as unmeasured.
func (p Paused) Resume() {
	if p.state != nil && p.state.shadow == shadowOf(cycles.Goroutine()) {
		p.state.resume()
	}
}

//go:norace
func (p *paused) resume() {
	sh := p.shadow
	if p.frames == nil || p.over || len(sh.frames) > 0 || sh.paused != p {
		return
	}
	sh.paused = p.outer
	for i := range p.frames {
		*sh.push() = p.frames[i]
		if f := &p.frames[i]; f.lock != 0 {
			runtime.LockOSThread()
			f.switches = threadSwitches() // of whatever thread it is by now
		}
	}
	p.frames = nil
	mark := p.rec.clock.Start()
	sh.latest, sh.on = mark.CPU, mark.Thread
	for i := range sh.frames {
		f := &sh.frames[i]
		f.start = mark
		f.offCPU += mark.Wall - p.at
	}
}
