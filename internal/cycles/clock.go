package cycles

import (
	"runtime"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// A Clock reads one source. It is safe for concurrent use.
type Clock struct {
	info Info
	base *Timebase
	spec perfevent.Spec // of the event, for sources that are perf events
	rseq bool           // info.Source == RseqClock
}

// A Mark is one reading of a clock.
type Mark struct {
	// Wall is the reading of the constant-rate counter, see [Timebase].
	Wall int64
	// CPU is the number of cycles that the thread has executed so far. Only differences on the
	// same thread are meaningful.
	CPU int64
	// Thread is the thread that was read.
	Thread *Thread
	// Turn shows whether the goroutine left its thread between two readings; see [Mark.Stayed].
	Turn Turn
}

// Info describes the clock.
func (c *Clock) Info() Info { return c.info }

// readSlow reads a source other than the rseq clock. Thread state is accessed only while the
// goroutine is locked to the thread.
func (c *Clock) readSlow() Mark {
	p, unlock := lockHere()
	defer unlock()
	th := threads.current()
	wall := ticks()
	return Mark{Wall: wall, CPU: c.read(th, wall), Thread: th, Turn: p.turn}
}

// read returns the source's count so far on the thread, which is the calling one.
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

// openOn opens the clock's event on the calling thread. It returns nil if the system has no
// descriptors left; the thread's cycles then read as 0.
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

// place is the location of a goroutine at an instant.
type place struct {
	thread uintptr // identity; 0 if unknown without a system call
	turn   Turn
	tick   int64  // of the time-stamp counter; 0 where thread is
	marker uint64 // the word rseq_cs of the C library's area; 0 without one
}

// lockHere locks the calling goroutine to its thread for a reading. It returns the goroutine's
// place, with the turn from before the lock.
func lockHere() (p place, unlock func()) {
	locked := here().turn & turnLocked
	runtime.LockOSThread()
	p = here()
	p.turn = p.turn&^turnLocked | locked
	return p, runtime.UnlockOSThread
}
