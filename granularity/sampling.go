package granularity

import (
	"math/rand/v2"
	"runtime/trace"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// Which tasks of a Pool or Group are measured.
//
// Measuring takes about 0.1 µs, a tenth of a task of 1 µs. So if the tasks of a site execute for
// less than 70 µs, or come more often, a random sample of them is measured, one in 200 µs on average,
// and at least one in 64. A measured task counts as itself and all those before it back to the last
// measured one. Numbers of tasks therefore stay exact, and sums are unbiased.
//
// A rare large task must not be missed or count several times. So the time is read around the other
// tasks as well, which takes 25 ns, and one of 100 µs or more counts by itself. [cycles.Clock.Glance]
// does not ask the system for the time of a thread that was off its processor, which takes 0.7 µs there.
// Of a site whose tasks mostly block, reading the time is left out, so a long task that was drawn
// represents others there, too.
//
// All tasks of a site are measured if they contain nested ones or use [Pause]. All tasks are, while a
// trace is recorded, if they are logged, if nested ones count as part of them, and if reading the
// clock is a system call or the runtime does not show which have left their threads.

const (
	sampleEach = 200 * time.Microsecond // average time between two measured tasks of a site
	fewest     = 3                      // if one in fewer would be measured, all are
	mostSkips  = 64                     // if one in more would be measured, one in mostSkips is: sizes may change
	longTask   = 100 * time.Microsecond // a task of this length represents only itself
	paceTasks  = 4096                   // tasks after which their pace is judged again
)

// pace determines which tasks of a site are measured.
type pace struct {
	every  atomic.Int32 // one in every is measured; 0: all are
	blocks atomic.Bool  // most of them leave their threads
	parts  atomic.Bool  // one of them contained another task or used Pause: all are measured

	_    [120]byte    // left changes with each task, and processors fetch lines in pairs
	left atomic.Int64 // tasks until the next measured one
	gap  atomic.Int64 // left when the last one was drawn
	owed atomic.Int64 // earlier tasks that no measured one represents
	_    [104]byte

	// Of the tasks counted since the last judgment; guarded by the lock of the cell.
	tasks, gone int64 // gone: have left their threads
	since       int64 // tick
	ran         int64 // cycles of those that are not gone
}

// next returns the next task of the pool, which executes the function.
func (u *usualSite) next(r *Recorder, pool *poolName, fn uintptr) job {
	usual, others, skipped := u.draw(fn)
	if skipped {
		return job{site: usual, skipped: true}
	}
	return u.drawn(r, pool, fn, usual, others)
}

// draw reports whether the next task, which executes the function, is not measured, as is known
// only of one of the usual site. Its results are in registers: those of next would take as long
// as the rest of what is done for a task that is not measured.
func (u *usualSite) draw(fn uintptr) (usual *site, others uint32, skipped bool) {
	s := u.Load()
	if s == nil || s.key.fn != fn {
		return nil, 0, false
	}
	others, skipped = s.pace.next()
	return s, others, skipped
}

// drawn returns the task for which draw returned these results. Its call chain is captured, as its
// site is not the usual one, or it is measured.
func (u *usualSite) drawn(r *Recorder, pool *poolName, fn uintptr, usual *site, others uint32) job {
	j := job{others: others, site: u.site(r, pool, fn, chains.Capture())} // the only call: a second one would be another chain
	if usual == nil {
		j.others, j.skipped = j.site.pace.next()
	}
	if !j.skipped {
		j.log = r.submitting()
	}
	return j
}

// next reports whether the next task is not measured. For one that is, others is the number of tasks
// that it represents besides itself.
func (p *pace) next() (others uint32, skipped bool) {
	switch {
	case p.every.Load() == 0 || trace.IsEnabled():
		return 0, false
	case p.left.Add(-1) != 0:
		return 0, true
	}
	return p.draw(), false
}

// draw draws the next task to be measured. Only the submitter of the one before calls it: until it
// returns, left is not positive, and no other task is drawn.
func (p *pace) draw() (others uint32) {
	n := p.gap.Load() - 1 + p.owed.Swap(0)
	gap, left := int64(0), int64(0)
	for left <= 0 { // tasks were submitted in this time
		next := 1 + rand.Int64N(2*int64(max(p.every.Load(), 1))-1)
		gap += next
		p.gap.Store(gap)
		left = p.left.Add(next)
	}
	if n < 0 {
		p.owed.Add(n)
		return 0
	}
	return uint32(n)
}

// inParts notes that a task of the site contains another one, or has used Pause.
func (p *pace) inParts() {
	if !p.parts.Load() { // storing is not cheap
		p.parts.Store(true)
	}
}

// unrepresented returns the number of tasks that no measured one represents so far. It is negative if
// tasks were measured that another one represents: they took long after it had been drawn.
func (p *pace) unrepresented() int64 {
	return p.gap.Load() - max(p.left.Load(), 0) + p.owed.Load()
}

// judge decides, from the tasks counted since the last time, how many of the next ones are measured.
// notes are the latest of them. The caller holds the lock of the cell.
func (s *site) judge(notes []note) {
	p, r := &s.pace, s.rec
	if s.key.pool == nil || r.Log > 0 || r.AggregateNested || !cycles.TurnsKnown() || r.clock.Info().Costs >= cheapReading {
		return
	}
	if p.parts.Load() {
		p.every.Store(0)
		return
	}
	for i := range notes {
		n := &notes[i]
		tasks := 1 + int64(n.others)
		p.tasks += tasks
		if n.kind&noteLeft == 0 {
			p.ran += n.self * tasks
		} else {
			p.gone += tasks
		}
	}
	now := notes[len(notes)-1].first + notes[len(notes)-1].wall
	if p.since == 0 {
		p.since = now
	}
	if p.tasks < paceTasks {
		return
	}
	took, blocks := now-p.since, 2*p.gone > p.tasks
	if !blocks { // the time may be that of other programs
		took = min(took, p.ran*p.tasks/(p.tasks-p.gone))
	}
	every := r.sampleEach * p.tasks / max(took, 1)
	if every < fewest {
		every = 0
	}
	p.every.Store(int32(min(every, mostSkips)))
	p.blocks.Store(blocks)
	p.tasks, p.gone, p.ran, p.since = 0, 0, 0, now
}

// execute calls the function of a task of the site that is not measured.
func (s *site) execute(f func() error) error {
	if s.pace.blocks.Load() {
		return f()
	}
	start := s.rec.clock.Glance()
	err := f()
	s.checkBrief(&start)
	return err
}

// checkBrief counts a task that was not measured if it was long.
func (s *site) checkBrief(start *cycles.Mark) {
	if !s.rec.clock.Brief(start, s.rec.longTask) {
		s.tookLong(start)
	}
}

// tookLong counts a task that was not measured, if it was long for other reasons than that other
// programs had the processor.
func (s *site) tookLong(start *cycles.Mark) {
	r := s.rec
	end := r.clock.End(start)
	n := note{site: s, first: start.Wall, wall: end.Wall - start.Wall, kind: noteSkipped}
	if r.anywhere || end.Stayed(start) {
		counted := min(end.CPU-start.CPU, n.wall)
		if counted < r.longTask {
			return
		}
		n.self, n.off = max(counted-r.bias, 0), max(n.wall-counted, 0)
	} else {
		n.kind |= noteLeft
	}
	s.pace.owed.Add(-1)
	s.add([]note{n})
}

// alone makes a long task represent only itself, and a later one the others, if other long tasks
// count by themselves.
//
//go:norace
func (n *note) alone() {
	if n.others == 0 || n.wall < n.site.rec.longTask || n.site.pace.blocks.Load() {
		return
	}
	n.site.pace.owed.Add(int64(n.others))
	n.others = 0
}
