package perfevent

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Event is one open counting event of one thread. Its methods must not be called concurrently.
type Event struct {
	fd   int
	page []byte // the kernel's control page, nil without [Event.MapUser]
	spec Spec
	buf  [3]uint64 // Read's buffer: on the stack it would escape to the heap
}

// OpenThread opens the event for the calling thread, to which the caller must have locked its
// goroutine, and starts counting. If the kernel denies counting in kernel mode (EACCES, EPERM), it
// tries again without it; see Spec.
func OpenThread(spec Spec) (*Event, error) { return open(spec, 0) }

// OpenChildren opens an event that counts the processes that the calling thread starts from now on,
// each from when it executes its program, with all its threads and descendants. [Event.Read] sums
// them. The caller must have locked its goroutine to the thread until the processes were started.
func OpenChildren(spec Spec) (*Event, error) {
	return open(spec, unix.PerfBitDisabled|unix.PerfBitInherit|unix.PerfBitEnableOnExec)
}

// open opens an event of the calling thread.
func open(spec Spec, bits uint64) (*Event, error) {
	const thisThread, anyCPU, noGroup = 0, -1, -1
	fd, granted, err := openGranted(spec, func(spec Spec) (int, error) {
		attr := attrOf(spec)
		attr.Bits |= bits
		return openEvent(attr, thisThread, anyCPU, noGroup)
	})
	if err != nil {
		return nil, fmt.Errorf("perfevent: open %s: %w", spec.Name, err)
	}
	return &Event{fd: fd, spec: granted}, nil
}

// openGranted opens an event, without counting in kernel mode if that is denied.
func openGranted(spec Spec, open func(Spec) (int, error)) (int, Spec, error) {
	fd, err := open(spec)
	if !spec.ExcludeKernel && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)) {
		spec.ExcludeKernel = true
		if user, userErr := open(spec); userErr == nil {
			return user, spec, nil
		}
	}
	return fd, spec, err
}

// attrOf returns the attributes of an event that only counts. perf_event_open(2) documents the
// fields.
func attrOf(spec Spec) unix.PerfEventAttr {
	a := unix.PerfEventAttr{Type: spec.Type, Config: spec.Config, Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	if spec.ExcludeKernel {
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return a
}

// openEvent opens one event of a thread, on one processor or on any (cpu −1).
func openEvent(attr unix.PerfEventAttr, tid, cpu, group int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(attr))
	return unix.PerfEventOpen(&attr, tid, cpu, group, unix.PERF_FLAG_FD_CLOEXEC)
}

// Spec returns what the event counts, with ExcludeKernel as granted.
func (e *Event) Spec() Spec { return e.spec }

// Read returns the count so far, in about 0.35 µs. It fails only if the event was closed.
//
// Goroutines read a locked thread's event one after the other. The thread itself orders these
// reads, which the race detector cannot see.
//
//go:norace
func (e *Event) Read() (Count, error) {
	// Reading a counter never blocks, so the scheduler need not be involved.
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(e.fd), uintptr(unsafe.Pointer(&e.buf)), unsafe.Sizeof(e.buf))
	if errno != 0 {
		return Count{}, fmt.Errorf("perfevent: read %s: %w", e.spec.Name, errno)
	}
	if n != unsafe.Sizeof(e.buf) {
		return Count{}, fmt.Errorf("perfevent: read %s: %d bytes of %d", e.spec.Name, n, unsafe.Sizeof(e.buf))
	}
	return Count{Value: e.buf[0], Enabled: e.buf[1], Running: e.buf[2]}, nil
}

// MapUser maps the event's control page, as [Event.ReadUser] requires.
func (e *Event) MapUser() error {
	if e.page != nil {
		return nil
	}
	page, err := unix.Mmap(e.fd, 0, unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("perfevent: map %s: %w", e.spec.Name, err)
	}
	e.page = page
	return nil
}

// ReadUser returns the count without entering the kernel, in 25–80 ns. It reports false if the
// kernel or the processor does not permit that, and while the event is not on a counter. It must be
// called on the event's own thread, after MapUser.
func (e *Event) ReadUser() (value uint64, ok bool) {
	if e.page == nil {
		return 0, false
	}
	return readPage(unsafe.Pointer(&e.page[0]))
}

// Close stops counting. The event must not be used afterwards.
func (e *Event) Close() error {
	var err error
	if e.page != nil {
		err = unix.Munmap(e.page)
		e.page = nil
	}
	return errors.Join(err, unix.Close(e.fd))
}

// Where the reasons are found; tests replace these.
var (
	paranoidFile = "/proc/sys/kernel/perf_event_paranoid"
	statusFile   = "/proc/self/status"
)

// Reason describes briefly why the system refused an event and what to do about it.
func Reason(spec Spec, err error) string {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return denied(err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP):
		if spec.Hardware() {
			return "the machine has no performance monitoring unit (most virtual machines have none), or one that does not count this"
		}
		return "the kernel has no such event"
	case errors.Is(err, os.ErrNotExist):
		return "the system lists no such event"
	case errors.Is(err, unix.ENOSYS):
		return "this kernel has no perf_event_open"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "too many open files: an event needs one for each thread and processor (see ulimit -n)"
	case errors.Is(err, unix.EBUSY):
		return "another program uses the counters"
	}
	return err.Error()
}

// denied distinguishes a seccomp filter from a lack of permission: both return EPERM.
func denied(err error) string {
	level := "unknown"
	if b, e := os.ReadFile(paranoidFile); e == nil {
		level = strings.TrimSpace(string(b))
	}
	if b, e := os.ReadFile(statusFile); e == nil && errors.Is(err, unix.EPERM) && strings.Contains(string(b), "\nSeccomp:\t2") {
		return fmt.Sprintf("a seccomp filter, such as a container's default one, forbids perf_event_open (kernel.perf_event_paranoid is %s)", level)
	}
	return fmt.Sprintf("not permitted: kernel.perf_event_paranoid is %s; lower it, or grant CAP_PERFMON", level)
}
