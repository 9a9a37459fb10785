package cycles

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rseq clock: thread CPU time at the price of reading the TSC.
//
// A thread may register a struct rseq with the kernel (rseq(2), Linux 4.18) and
// store in its rseq_cs the address of a descriptor of a restartable sequence of code. When the
// kernel preempts, migrates or signals the thread, it compares the interrupted
// instruction with the descriptor's range. If it lies outside, the sequence
// is over, and the kernel sets rseq_cs to 0. We use only that last effect: our
// descriptor names a range that is never executed, so rseq_cs is a marker that
// stands exactly as long as the thread has not been off the processor. Hence:
//
//  1. set the marker, then read the TSC, the thread's CPU clock, and the TSC again;
//  2. if the marker went, the three do not belong together: repeat; also, a few times, if the two TSCs are much
//     farther apart than they need be: an interrupt or the hypervisor came between, which no marker tells;
//  3. keep offset = CPU time − TSC (midway between the two);
//  4. from now on read the TSC; if the marker stands *after* that, thread CPU
//     time = offset + TSC, else start over at 1.
//
// The marker is left standing when a task ends and its thread is unlocked: the
// next task on the thread, often one of the same pool, then needs no new anchor (400 ns).
// That is safe as long as a marker cannot outlive its thread in an area
// that a new thread takes for its own. The kernel vouches for it: it zeroes area.life at the
// thread's exit. Where it cannot, because a C library uses that mechanism, [Thread.Leave] clears
// the marker before the thread is unlocked, and step 1 asks the kernel again whether this very
// thread is registered.
//
// fork and exec: the child of a fork that shares memory (Go's own way to start
// processes) has no registration, and exec drops it, so that a child never writes
// to its parent's areas.

// rseq is struct rseq of linux/rseq.h in its first, 32-byte, version.
type rseq struct {
	cpuIDStart uint32
	cpuID      uint32
	cs         uint64 // the marker: 0 or the address of the descriptor
	flags      uint32
	_          [3]uint32
}

// descriptor is struct rseq_cs of linux/rseq.h, followed by what its addresses
// point to. All of it is plain data: nothing here is ever executed.
type descriptor struct {
	version, flags uint32
	start          uint64 // of the range of code
	length         uint64 // of the range
	abort          uint64 // where the kernel would send a thread that it interrupts in the range

	code      [8]byte // the range
	_         [20]byte
	signature uint32  // must stand before the abort address
	landing   [8]byte // the abort address
	_         [24]byte
}

// rseqSignature is what glibc uses on x86; any number will do.
const rseqSignature = 0x53053053

// States of an area's registration.
const (
	rseqNew = iota
	rseqRegistered
	rseqRefused
)

// marker returns the address of the process's only descriptor, made at first use.
var marker = sync.OnceValue(func() uint64 {
	mem, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	d := (*descriptor)(unsafe.Pointer(&mem[0]))
	*d = descriptor{
		start:     uint64(uintptr(unsafe.Pointer(&d.code))),
		length:    1,
		abort:     uint64(uintptr(unsafe.Pointer(&d.landing))),
		signature: rseqSignature,
	}
	return uint64(uintptr(unsafe.Pointer(d)))
})

// register makes the area the calling thread's. It is repeated where nothing
// tells that the area's thread is still the calling one.
func (a *area) register() error {
	if a.state == rseqRegistered && a.kept == 1 {
		return nil
	}
	if noThreadState.Load() {
		return errors.New("rseq: switched off, by " + NoThreadState + " or an option")
	}
	if a.state == rseqRefused || marker() == 0 {
		return errors.New("the thread's registration was refused before")
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RSEQ, uintptr(unsafe.Pointer(&a.rseq)), unsafe.Sizeof(a.rseq), 0, rseqSignature, 0, 0)
	switch errno {
	case 0, unix.EBUSY: // EBUSY: this very area is this thread's already
		a.state = rseqRegistered
		return nil
	case unix.EINVAL:
		a.state = rseqRefused
		return errors.New("rseq: the C library has registered an area of its own")
	}
	a.state = rseqRefused
	return fmt.Errorf("rseq: %w", errno)
}

// standing reports whether the thread has stayed on the processor since the anchor.
func (a *area) standing() bool { return atomic.LoadUint64(&a.rseq.cs) != 0 }

// drop clears the marker.
func (a *area) drop() { atomic.StoreUint64(&a.rseq.cs, 0) }

// threadClock reads the calling thread's CPU clock, in nanoseconds, 300 ns.
func (a *area) threadClock() int64 {
	unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&a.time)), 0)
	return a.time.Nano()
}

// anchorTicks is the least that the three readings of an anchor took while the clock was probed; 0
// before.
var anchorTicks atomic.Int64

// anchor sets the marker and the offset. The returned ticks are the first and
// the last that offset holds for. If the thread is disturbed time and again, or its
// registration is refused, it reports that no marker stands; the offset is then
// as good as one reading of the thread clock.
func (a *area) anchor(base *Timebase) (first, last int64, standing bool) {
	registered := a.register() == nil
	loose := 8 * anchorTicks.Load()
	for try := range 32 {
		if registered {
			atomic.StoreUint64(&a.rseq.cs, marker())
		}
		first = ticks()
		cpu := a.threadClock()
		last = ticks()
		a.offset = base.FromNS(cpu) - (first + (last-first)/2)
		if !registered || a.standing() && (last-first <= loose || try >= 4 || loose == 0) {
			break
		}
	}
	return first, last, a.standing()
}

// probeRseq registers the calling thread and shows that the marker tells the
// truth: sleeping must clear it every time, and it must stand through 20 µs of spinning (not every
// time: other threads may take the processor), during which the TSC and the thread clock must
// agree.
func probeRseq(th *Thread, base *Timebase) error {
	if base.Hz == 1e9 && !haveTSC {
		return errNoTSC
	}
	a := th.area
	if err := a.register(); err != nil {
		return err
	}
	defer a.drop()
	if err := a.probeSleep(base); err != nil {
		return err
	}
	least := int64(math.MaxInt64)
	for range 20 {
		if first, last, ok := a.anchor(base); ok {
			least = min(least, last-first)
		}
	}
	if least != math.MaxInt64 {
		anchorTicks.Store(least)
	}
	var stood bool
	for range 200 {
		_, from, ok := a.anchor(base)
		if !ok {
			continue
		}
		spinUntil(from + base.FromNS(20_000))
		now := ticks()
		if !a.standing() {
			continue
		}
		stood = true
		if off := base.NS(now+a.offset) - a.threadClock(); off < 5_000 && off > -20_000 {
			return nil
		}
	}
	if !stood {
		return errors.New("rseq: the marker never stood through 20 µs")
	}
	return errors.New("rseq: while the marker stood, the TSC and the thread clock disagreed")
}

// probeSleep shows that sleeping clears the marker. Only a sleep counts in which the thread left
// its processor, as the system's count of switches tells: one that is interrupted by the hypervisor
// can be over before it has begun, and then rightly leaves the marker standing.
func (a *area) probeSleep(base *Timebase) error {
	slept := 0
	for try := 0; try < 30 && slept < 3; try++ {
		if _, _, ok := a.anchor(base); !ok {
			continue
		}
		before := switches()
		unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
		standing := a.standing() // before anything else can clear it
		if switches() == before {
			continue
		}
		if standing {
			return errors.New("rseq: a sleep left the marker standing (Linux 6.19 and later)")
		}
		slept++
	}
	if slept == 0 {
		return errors.New("rseq: no sleep took the thread off its processor")
	}
	return nil
}

// switches returns how often the calling thread has given up its processor.
func switches() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0
	}
	return int64(usage.Nvcsw)
}

// Start reads the clock at the begin of a measurement: what the reading itself
// costs is left out as far as possible. The goroutine must be locked to its thread.
func (c *Clock) Start() Mark { return c.StartOn(nil) }

// StartOn is Start where the thread to be read is most likely the given one, which saves
// looking it up. It may be nil.
func (c *Clock) StartOn(likely *Thread) Mark {
	if !c.rseq {
		return c.readSlow()
	}
	id, g, tick := here()
	th := likely
	if th == nil || th.id != id {
		th = threads.lately(id)
	}
	if th != nil && th.id == id && th.alive() && th.area.standing() {
		return Mark{Wall: tick, CPU: th.area.offset + tick, Thread: th, Goroutine: g}
	}
	return c.startAnew(id, g, tick)
}

// startAnew is Start where no marker stands: the work of setting it comes before the reading.
func (c *Clock) startAnew(id, g uintptr, tick int64) Mark {
	if id == 0 {
		id, tick = numberAndTick()
	}
	th := threads.find(id)
	if th == nil {
		th = threads.register(id)
	}
	if !th.area.standing() {
		_, tick, _ = th.area.anchor(c.base)
	}
	return Mark{Wall: tick, CPU: th.area.offset + tick, Thread: th, Goroutine: g}
}

// Stop reads the clock at the end of a measurement, as Start does at its begin.
// The thread at the begin is most likely the one to be read, which saves looking it up.
func (c *Clock) Stop(likely *Thread) Mark {
	if !c.rseq {
		return c.readSlow()
	}
	id, g, tick := here()
	if th := likely; th != nil && th.id == id && th.alive() && th.area.standing() {
		return Mark{Wall: tick, CPU: th.area.offset + tick, Thread: th, Goroutine: g}
	}
	return c.stopAnew(id, g, tick)
}

// stopAnew is Stop on another thread, or where no marker stands: the work of setting it comes after
// the reading.
func (c *Clock) stopAnew(id, g uintptr, tick int64) Mark {
	if id == 0 {
		id, tick = numberAndTick()
	}
	th := threads.find(id)
	if th == nil {
		th = threads.register(id)
	}
	if !th.area.standing() {
		tick, _, _ = th.area.anchor(c.base)
	}
	return Mark{Wall: tick, CPU: th.area.offset + tick, Thread: th, Goroutine: g}
}

// Leave must be called before the goroutine unlocks from the thread, when no
// measurement is under way there any more.
func (th *Thread) Leave() {
	if th.area.kept == 0 {
		th.area.drop()
	}
}
