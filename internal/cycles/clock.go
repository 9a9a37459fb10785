package cycles

import (
	"runtime"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// A Clock reads one source. Its methods may be called from any number of goroutines.
type Clock struct {
	info Info
	base *Timebase
	spec perfevent.Spec // of the event, for sources that are perf events
	bias int64          // what two readings right after each other differ by at least
	rseq bool           // info.Source == RseqClock
}

// A Mark is one reading of a clock.
type Mark struct {
	// Wall is the reading of the constant-rate counter, see [Timebase].
	Wall int64
	// CPU is the number of cycles that the thread has executed so far. Only
	// differences on the same thread mean anything.
	CPU int64
	// Thread is the thread that was read.
	Thread *Thread
	// Turn shows whether the goroutine has left its thread between two readings, see
	// [Mark.Stayed].
	Turn Turn
}

// Start and Stop are in rseq_linux.go and other.go.

// Info describes the clock.
func (c *Clock) Info() Info { return c.info }

// Timebase returns the timebase of Mark.Wall.
func (c *Clock) Timebase() *Timebase { return c.base }

// readSlow reads a source other than the rseq clock. What belongs to the thread is only touched
// while the goroutine is locked to it.
func (c *Clock) readSlow() Mark {
	p, unlock := lockHere()
	defer unlock()
	th := threads.current()
	wall := ticks()
	return Mark{Wall: wall, CPU: c.read(th, wall), Thread: th, Turn: p.turn}
}

// Elapsed returns the cycles that were executed and the ticks that passed
// between two readings. It reports false, and the ticks for the cycles, when
// the readings came from different threads: the goroutine was not locked.
func (c *Clock) Elapsed(start, stop *Mark) (cycles, wall int64, ok bool) {
	wall = max(stop.Wall-start.Wall, 0)
	if start.Thread != stop.Thread {
		return wall, wall, false
	}
	return max(stop.CPU-start.CPU-c.bias, 0), wall, true
}

// read returns what the source counted so far on the thread, which is the calling one.
func (c *Clock) read(th *Thread, wall int64) int64 {
	switch c.info.Source {
	case ThreadClock:
		return c.threadTime(th)
	case WallTSC:
		return wall
	}
	e := th.event.Load()
	if e == nil || e.Spec() != c.spec {
		e = c.openOn(th)
	}
	if e == nil {
		return 0
	}
	if c.info.Source == RefCyclesRDPMC {
		if v, ok := e.ReadUser(); ok {
			return int64(v)
		}
	}
	count, err := e.Read()
	if err != nil {
		return 0
	}
	return int64(count.Value)
}

// openOn opens the clock's event on the calling thread; nil when the system has
// no descriptors left, and the thread's cycles then read as 0.
func (c *Clock) openOn(th *Thread) *perfevent.Event {
	e, err := perfevent.OpenThread(c.spec)
	if err != nil {
		return nil
	}
	if c.info.Source == RefCyclesRDPMC {
		if e.MapUser() != nil {
			e.Close()
			return nil
		}
	}
	if old := th.event.Swap(e); old != nil {
		old.Close()
	}
	return e
}

// place is where a goroutine is at an instant.
type place struct {
	thread uintptr // identity; 0: not known without a system call
	turn   Turn
	tick   int64  // of the time-stamp counter; 0 where thread is
	marker uint64 // the word rseq_cs of the C library's area; 0 without one
}

// lockHere locks the calling goroutine to its thread for a reading and returns where it is, in the
// turn that it had before.
func lockHere() (p place, unlock func()) {
	locked := here().turn & turnLocked
	runtime.LockOSThread()
	p = here()
	p.turn = p.turn&^turnLocked | locked
	return p, runtime.UnlockOSThread
}
