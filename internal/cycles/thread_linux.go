package cycles

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// area is the thread state outside the Go heap, because the kernel writes to it at any time until
// the thread exits. The memory is never returned to the system. Only its own thread accesses it,
// except for `life`.
type area struct {
	rseq     rseq     // must be first: the kernel requires 32-byte alignment
	sequence sequence // the marker's target; aligned likewise

	// offset is thread CPU time − TSC, in ticks, when the marker was last set:
	// while the marker stands, thread CPU time = offset + TSC.
	offset int64
	time   unix.Timespec // destination of the thread clock
	state  uint32        // of the registration: rseqNew, …
	life   uint32        // 0 once the thread has exited
	kept   uint32        // 1: the kernel will zero life
	_      [128 - 2*32 - 8 - 16 - 12]byte
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
// without a C library, it asks the kernel to zero life when the thread exits (set_tid_address(2)),
// unless that is disabled. Go's runtime does not use that address; a C library does, to join its
// threads.
func (a *area) enter() (tid int) {
	tid = unix.Gettid()
	atomic.StoreUint32(&a.life, uint32(tid))
	if !libcThreads && !noThreadState.Load() {
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
