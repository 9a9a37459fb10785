package cycles

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/lazy"
)

// A thread's identity on linux/amd64 is its FS base, which user code reads in 4.5 ns if the kernel
// has enabled that (Linux 5.9, HWCAP2 bit 1). Without a C library it is the address of the
// runtime's own thread data. With a C library, the stacks of exited threads are reused at once and
// nothing shows the exit (thread.go), so the thread ID must be the identity. The runtime
// keeps it in m.procid. If it is not found there, a system call returns it, in 90 ns.
var (
	fsgsbase    = hasFSGSBase()
	libcThreads = fsgsbase && fsSelf() || !fsgsbase && cgoBuild
	// Without an address for the kernel to zero, the exit of a thread cannot be detected, and
	// another thread can get its FS base.
	//lint:ignore U1000 hereAt reads it
	byFS = fsgsbase && !libcThreads && !noThreadState
	//lint:ignore U1000 hereAt reads it
	procidAt uintptr // offset of the thread ID in the runtime's thread structure; 0: not found
	//lint:ignore U1000 hereAt reads it
	libcCS uintptr // offset of rseq_cs of the C library's area from the FS base; 0: not found
)

func identity() uintptr {
	if id := here().thread; id != 0 {
		return id
	}
	return gettid()
}

func gettid() uintptr {
	tid, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	return tid
}

// here returns where the calling goroutine is, and then reads the time-stamp counter and the
// marker. All values are from one thread, because a goroutine is not moved while it executes
// assembly.
func here() (p place) {
	p.thread, p.turn, p.tick, p.marker = hereAt()
	return p
}

// hereAt implements here. thread is 0 if its identity is unknown without a system call, and marker
// is 0 if it is not in the C library's area.
//
//go:noescape
func hereAt() (thread uintptr, turn Turn, tick int64, marker uint64)

// hasFSGSBase looks for HWCAP2_FSGSBASE in the auxiliary vector of the process. If the vector
// cannot be read, it returns false.
func hasFSGSBase() bool {
	const atHWCAP2, hwcap2FSGSBase = 26, 1 << 1
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return false
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.NativeEndian.Uint64(auxv) == atHWCAP2 {
			return binary.NativeEndian.Uint64(auxv[8:])&hwcap2FSGSBase != 0
		}
	}
	return false
}

// fsSelf reports whether the word at the FS base is its own address. The ABI requires that of a C
// library's threads; the Go runtime's own threads have 0 there.
//
//go:noescape
func fsSelf() bool

// fsBase returns the FS base.
//
//go:noescape
func fsBase() uintptr

// mAt is the offset of the pointer to a goroutine's thread in its descriptor.
const mAt = 6 * unsafe.Sizeof(uintptr(0))

// findProcid finds where the runtime keeps a thread's ID, in programs with a C library: the word
// that is equal to the ID on two threads. The presumed thread structure is read by a system call,
// which fails on invalid addresses instead of crashing.
func findProcid() {
	if !libcThreads {
		return
	}
	const words = 32
	numbers := func() (is [words]bool) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		g := getg() + mAt
		at := **(**uintptr)(unsafe.Pointer(&g))
		var m [words]uintptr
		size := int(unsafe.Sizeof(m))
		local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&m))}
		local.SetLen(size)
		n, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{local}, []unix.RemoteIovec{{Base: at, Len: size}}, 0)
		if n != size || err != nil {
			return is
		}
		for i, word := range m {
			is[i] = word == gettid()
		}
		return is
	}
	runtime.LockOSThread() // the goroutine must run on another thread
	defer runtime.UnlockOSThread()
	there := make(chan [words]bool)
	background.Go(func() { there <- numbers() })
	a, b := numbers(), <-there
	for i := range words {
		if a[i] && b[i] {
			procidAt = uintptr(i) * unsafe.Sizeof(uintptr(0))
			return
		}
	}
}

// findLibcRseq finds the area that the C library has registered for its threads, at the same
// distance from every FS base. The kernel returns EBUSY for that area and EINVAL for any other
// address.
func findLibcRseq() error { return libcRseq.Get(searchLibcRseq) }

var libcRseq lazy.Value[error]

func searchLibcRseq() error {
	if !fsgsbase {
		return errors.New("rseq: the kernel does not let user code read the FS base")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := newArea()
	switch errno := rseqCall(uintptr(unsafe.Pointer(&own.rseq)), 0); errno {
	case unix.EINVAL: // a different area is registered
	case 0:
		rseqCall(uintptr(unsafe.Pointer(&own.rseq)), rseqUnregister)
		return errors.New("rseq: the C library has registered no area")
	default:
		return errno
	}
	// It is in the thread's descriptor above the FS base, or among its variables below.
	const align, far = 32, 8192
	base := fsBase()
	for off := uintptr(0); off < far; off += align {
		for _, off := range [...]uintptr{off, -off} {
			if rseqCall(base+off, 0) == unix.EBUSY {
				libcCS = off + unsafe.Offsetof(own.rseq.cs)
				return nil
			}
		}
	}
	return errors.New("rseq: the C library has registered an area that was not found")
}

// libcArea returns the area that the C library has registered for the calling thread.
func libcArea() uintptr { return fsBase() + libcCS - unsafe.Offsetof(rseq{}.cs) }
