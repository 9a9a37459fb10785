package cycles

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bottleneck-go/bottleneck/internal/lazy"
)

// The rseq clock: thread CPU time at the cost of reading the TSC.
//
// A thread may register a struct rseq with the kernel (rseq(2), Linux 4.18) and store in its
// rseq_cs the address of a descriptor of a restartable sequence of code. When the kernel preempts,
// migrates or signals the thread outside that code, it sets rseq_cs to 0. Here the code is never
// executed, so rseq_cs is a marker that remains set exactly as long as the thread has not been off
// the processor. Hence:
//
//  1. set the marker, then read the TSC, the thread's CPU clock, and the TSC again;
//  2. if the marker is cleared, repeat; also repeat, a few times, if the two TSCs are much farther
//     apart than necessary: an interrupt or the hypervisor intervened;
//  3. keep offset = CPU time − TSC (midway between the two);
//  4. from now on read the TSC; if the marker is set *after* that, thread CPU
//     time = offset + TSC, else start over at 1.
//
// The marker remains set when a task ends, so the next task on the thread needs no new anchor (400
// ns). A new thread must not take the marker of a dead one for its own:
//
//   - Without a C library the area is ours. The kernel zeroes area.life when the thread exits.
//   - glibc (2.35 and later) has registered an area in each thread's memory; its position is searched
//     for once. Each thread's marker is the address of its own sequence, and its ID identifies it.
//
// Fork and exec drop the registration, so a child never writes to its parent's areas.

// rseq is struct rseq of linux/rseq.h in its first, 32-byte, version.
type rseq struct {
	cpuIDStart uint32
	cpuID      uint32
	cs         uint64 // the marker: 0 or the address of the descriptor
	flags      uint32
	_          [3]uint32
}

// sequence is struct rseq_cs of linux/rseq.h. Everything that it points to is plain data, never
// executed.
type sequence struct {
	version, flags uint32
	start          uint64 // of the range of code
	length         uint64 // of the range
	abort          uint64 // where the kernel would send a thread interrupted in the range
}

// noCode is the code range of all sequences.
type noCode struct {
	code      [8]byte // the range
	_         [20]byte
	signature uint32  // must stand before the abort address
	landing   [8]byte // the abort address
}

// rseqSignature is the value glibc uses on x86; any number works.
const rseqSignature = 0x53053053

// States of an area's registration.
const (
	rseqNew = iota
	rseqRegistered
	rseqRefused
)

// neverExecuted is the process's only noCode, allocated at first use; nil if the system has no
// memory.
func neverExecuted() *noCode { return theCode.Get(newCode) }

var theCode lazy.Value[*noCode]

func newCode() *noCode {
	mem, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	c := (*noCode)(unsafe.Pointer(&mem[0]))
	c.signature = rseqSignature
	return c
}

// marker returns the value of rseq_cs while the marker is set.
func (a *area) marker() uint64 { return uint64(uintptr(unsafe.Pointer(&a.sequence))) }

// rseqCall is the system call rseq for the calling thread. unix.EBUSY means that this area is
// already registered.
func rseqCall(at uintptr, flags uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_RSEQ, at, unsafe.Sizeof(rseq{}), flags, rseqSignature, 0, 0)
	return errno
}

// register prepares the area for the calling thread, once.
func (a *area) register() error {
	switch {
	case a.state == rseqRegistered:
		return nil
	case noThreadState:
		return errSwitchedOff
	case a.state == rseqRefused:
		return errors.New("the thread's registration was refused before")
	}
	code := neverExecuted()
	if code == nil {
		return errors.New("rseq: no memory")
	}
	a.state = rseqRefused
	at := uintptr(unsafe.Pointer(&a.rseq))
	if libcThreads {
		if err := findLibcRseq(); err != nil {
			return err
		}
		at = libcArea()
	}
	switch errno := rseqCall(at, 0); {
	case errno == unix.EBUSY: // by the C library, as expected, or by us
	case errno == 0 && !libcThreads:
	case errno == 0:
		rseqCall(at, rseqUnregister)
		return errors.New("rseq: the C library has not registered this thread")
	case errno == unix.EINVAL:
		return errors.New("rseq: another area is registered")
	default:
		return fmt.Errorf("rseq: %w", errno)
	}
	a.sequence = sequence{
		start:  uint64(uintptr(unsafe.Pointer(&code.code))),
		length: 1,
		abort:  uint64(uintptr(unsafe.Pointer(&code.landing))),
	}
	a.state = rseqRegistered
	return nil
}

const rseqUnregister = 1 // RSEQ_FLAG_UNREGISTER

var errSwitchedOff = errors.New("rseq: switched off by " + NoThreadState)

// cs returns the word rseq_cs of the calling thread, which owns area a.
func (a *area) cs() *uint64 {
	if libcThreads {
		at := libcArea() + unsafe.Offsetof(a.rseq.cs)
		return *(**uint64)(unsafe.Pointer(&at)) // the memory is the C library's
	}
	return &a.rseq.cs
}

// standing reports whether the calling thread has stayed on the processor since the anchor.
func (a *area) standing() bool {
	return a.state == rseqRegistered && atomic.LoadUint64(a.cs()) == a.marker()
}

// drop clears the marker.
func (a *area) drop() {
	if a.state == rseqRegistered {
		atomic.StoreUint64(a.cs(), 0)
	}
}

// threadClock reads the calling thread's CPU clock, in nanoseconds. It takes 300 ns.
func (a *area) threadClock() int64 {
	unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&a.time)), 0)
	return a.time.Nano()
}

// anchorTicks is the least duration of an anchor's three readings during the probe; 0 before.
var anchorTicks atomic.Int64

// anchor sets the marker and the offset. It returns the first and the last ticks for which the
// offset holds. If standing is false, the offset is as good as one reading of the thread clock.
func (a *area) anchor(base *Timebase) (first, last int64, standing bool) {
	registered := a.register() == nil
	loose := 8 * anchorTicks.Load()
	for try := range 32 {
		if registered {
			atomic.StoreUint64(a.cs(), a.marker())
		}
		first = ticks()
		cpu := a.threadClock()
		last = ticks()
		a.offset = base.FromNS(cpu) - (first + (last-first)/2)
		a.least, a.glances = a.offset+first, 0
		if !registered || a.standing() && (last-first <= loose || try >= 4 || loose == 0) {
			break
		}
	}
	return first, last, a.standing()
}

// probeRseq registers the calling thread and verifies the marker. Sleeping must clear it every
// time. It must remain set through 20 µs of spinning (not every time: other threads may take the
// processor), during which the TSC and the thread clock must agree.
func probeRseq(th *Thread, base *Timebase) error {
	if base.Hz == 1e9 && !haveTSC {
		return errNoTSC
	}
	if noThreadState {
		return errSwitchedOff
	}
	a := th.area
	if err := sleeps.Get(a.probeSleep); err != nil {
		return err
	}
	if err := a.register(); err != nil {
		return err
	}
	defer a.drop()
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

// sleeps is the result of probeSleep, which depends on the kernel only.
var sleeps lazy.Value[error]

// prepareRseq begins the probe, if the rseq clock may be used.
func prepareRseq() {
	if !haveTSC || noThreadState {
		return
	}
	th, unlock := lockThread()
	defer unlock()
	sleeps.Get(th.area.probeSleep)
}

// probeSleep registers the calling thread and verifies that sleeping clears the marker. A sleep
// counts only if the thread left its processor, according to the system's count of switches.
func (a *area) probeSleep() error {
	if err := a.register(); err != nil {
		return err
	}
	defer a.drop()
	slept := 0
	for try := 0; try < 30 && slept < 2; try++ {
		before := Switches()
		if atomic.StoreUint64(a.cs(), a.marker()); !a.standing() {
			continue
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
		standing := a.standing() // before anything else can clear it
		if Switches() == before {
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

// Switches returns how often the calling thread has left its processor, or 0 if unknown, in about 0.5
// µs.
func Switches() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0
	}
	return int64(usage.Nvcsw) + int64(usage.Nivcsw)
}

// Start reads the clock at the start of a measurement. It excludes the cost of the reading as well
// as possible.
func (c *Clock) Start() Mark {
	if !c.rseq {
		return c.readSlow()
	}
	p := here()
	if th := threads.lately(p.thread); th != nil && th.id == p.thread && th.alive() && th.stands(p.marker) {
		return Mark{Wall: p.tick, CPU: th.area.offset + p.tick, Thread: th, Turn: p.turn}
	}
	return c.anew(false)
}

// Stop reads the clock at the end of a measurement, like Start at its start. likely is the thread
// at the start, which usually saves a lookup.
func (c *Clock) Stop(likely *Thread) Mark {
	if !c.rseq {
		return c.readSlow()
	}
	p := here()
	return c.stop(&p, likely)
}

// stop is Stop at a place that has just been read.
func (c *Clock) stop(p *place, likely *Thread) Mark {
	if th := likely; th != nil && th.id == p.thread && th.alive() && th.stands(p.marker) {
		m := Mark{Wall: p.tick, CPU: th.area.offset + p.tick, Thread: th, Turn: p.turn}
		if t := turn(); t != p.turn && t&p.turn&turnLocked == 0 {
			m.Turn = 0 // it may have left the thread before the offset was read
		}
		return m
	}
	return c.anew(true)
}

// mostGlances is the number of glances without an anchor after which a thread gets one.
const mostGlances = 8

// Glance is Start for a measurement that is probably not needed, because what follows is likely to
// be Brief. It takes 10 ns even if the thread was off its processor. CPU is then a lower bound, by
// what the thread has executed since the last reading or, more often, by some µs.
func (c *Clock) Glance() Mark {
	if !c.rseq {
		return c.readSlow()
	}
	p := here()
	th := threads.lately(p.thread)
	if th == nil || th.id != p.thread || !th.alive() {
		return c.anew(false)
	}
	a := th.area
	m := Mark{Wall: p.tick, CPU: a.offset + p.tick, Thread: th, Turn: p.turn}
	if !th.stands(p.marker) {
		if a.glances++; a.glances > mostGlances {
			return c.anew(false)
		}
		m.CPU = a.least
	}
	return m
}

// Brief reports whether less than limit ticks have passed since Glance returned start on the same
// goroutine. If not, End completes the measurement.
func (c *Clock) Brief(start *Mark, limit int64) bool {
	if !c.rseq {
		return ticks()-start.Wall < limit
	}
	p := here()
	wall := p.tick - start.Wall
	if th := start.Thread; th.id == p.thread && p.turn == start.Turn && wall < limit {
		th.area.least = start.CPU + wall
	}
	return wall < limit
}

// stands reports whether the marker of the thread is set. The thread was the calling one when here
// returned the marker.
func (th *Thread) stands(marker uint64) bool {
	if !libcThreads {
		marker = atomic.LoadUint64(&th.area.rseq.cs)
	}
	return marker == th.area.marker()
}

// anew reads the clock if no marker is set, or the thread is not known yet. The marker is set
// before the reading, or after it at the end of a measurement. Thread state is accessed only while
// the goroutine is locked to the thread.
func (c *Clock) anew(end bool) Mark {
	p, unlock := lockHere()
	defer unlock()
	th := threads.current()
	if !th.area.standing() {
		first, last, _ := th.area.anchor(c.base)
		if p.tick = last; end {
			p.tick = first
		}
	}
	return Mark{Wall: p.tick, CPU: th.area.offset + p.tick, Thread: th, Turn: p.turn}
}

// area is the thread state outside the Go heap, because the kernel writes to it at any time until
// the thread exits. The memory is never returned to the system. Only its own thread accesses it,
// except for `life`.
type area struct {
	// A reading uses only this first cache line.
	rseq rseq // must be first: the kernel requires 32-byte alignment
	// offset is thread CPU time − TSC, in ticks, when the marker was last set:
	// while the marker stands, thread CPU time = offset + TSC.
	offset  int64
	least   int64  // lower bound of the thread's CPU time, in ticks
	state   uint32 // of the registration: rseqNew, …
	life    uint32 // 0 once the thread has exited
	kept    uint32 // 1: the kernel will zero life
	glances uint32 // without an anchor, since the last one

	sequence sequence      // the marker's target; aligned likewise
	time     unix.Timespec // destination of the thread clock
	_        [16]byte
}

const areasChunk = 64 << 10

var areaChunk []byte // the unused rest of the last chunk; guarded by threads.mu

// newArea returns a zeroed area off the heap. It panics if the system is out of memory, as the Go
// heap does.
func newArea() *area {
	const size = int(unsafe.Sizeof(area{}))
	if len(areaChunk) < size {
		mem, err := unix.Mmap(-1, 0, areasChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(fmt.Errorf("cycles: no memory for a thread's area: %w", err))
		}
		areaChunk = mem
	}
	a := (*area)(unsafe.Pointer(&areaChunk[0]))
	areaChunk = areaChunk[size:]
	return a
}

// enter takes ownership of the area for the calling thread and returns the thread ID. In a program
// without a C library, which would use that address itself, it asks the kernel to zero life when the
// thread exits (set_tid_address(2)), unless that is disabled.
func (a *area) enter() (tid int) {
	tid = unix.Gettid()
	atomic.StoreUint32(&a.life, uint32(tid))
	if !libcThreads && !noThreadState {
		if _, _, errno := unix.RawSyscall(unix.SYS_SET_TID_ADDRESS, uintptr(unsafe.Pointer(&a.life)), 0, 0); errno == 0 {
			a.kept = 1
		}
	}
	return tid
}

// sleepThread makes the calling thread sleep. time.Sleep takes up to 1 ms longer.
func sleepThread(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&t, nil)
}

// exists asks the system whether the thread lives if its life is not zeroed.
func (a *area) exists(tid int) bool {
	return a.kept == 1 || unix.Tgkill(os.Getpid(), tid, 0) == nil
}

// threadTime returns the thread's CPU time in ticks.
func (c *Clock) threadTime(th *Thread) int64 { return c.base.FromNS(th.area.threadClock()) }

const threadClockName = "CLOCK_THREAD_CPUTIME_ID"

// monotonic returns CLOCK_MONOTONIC at t, to within a system call.
func monotonic(t time.Time) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return int64(t.Sub(start))
	}
	return ts.Nano() - int64(time.Since(t))
}

// What the counter is calibrated against, and the step of that clock in seconds.
const (
	monotonicName = "CLOCK_MONOTONIC"
	monotonicStep = 1e-9
)
