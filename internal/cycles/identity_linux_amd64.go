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

// A thread's identity on linux/amd64 is its FS base, which user code reads in
// 4.5 ns where the kernel has enabled that (Linux 5.9, HWCAP2 bit 1). Without a
// C library it is the address of the runtime's own data for the thread. With one,
// exited threads' stacks are reused at once and nothing shows the exit
// (thread_linux.go), so that the thread's number must be the identity. The runtime
// keeps that number (m.procid); where we do not find it there, a system call finds it, 90 ns.
var (
	fsgsbase    = hasFSGSBase()
	libcThreads = fsgsbase && fsSelf() || !fsgsbase && cgoBuild
	//lint:ignore U1000 hereAt reads it
	byFS = fsgsbase && !libcThreads && !noThreadState.Load()
	//lint:ignore U1000 hereAt reads it
	procidAt uintptr // of the number in the runtime's structure of a thread; 0: not found
	//lint:ignore U1000 hereAt reads it
	libcCS uintptr // the word rseq_cs of the C library's area, less the FS base; 0: not found
)

// identifyByNumber makes the thread's number its identity: an FS base can come again with another
// thread, and without an address for the kernel to zero nothing shows that.
func identifyByNumber() { byFS = false }

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

// here returns where the calling goroutine is and then reads the time-stamp counter and the marker.
// All of it is from one thread: a goroutine is not moved while it executes assembly.
func here() (p place) {
	p.thread, p.turn, p.tick, p.marker = hereAt()
	return p
}

// hereAt is here. The thread is 0 where its identity is not known without a system call, the marker
// where it is not in the C library's area.
//
//go:noescape
func hereAt() (thread uintptr, turn Turn, tick int64, marker uint64)

// hasFSGSBase looks for HWCAP2_FSGSBASE in the vector that the kernel gave to
// the process. What cannot be read counts as not enabled.
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

// fsSelf reports whether the word at the FS base is its own address: the ABI
// demands that of a C library's threads, and the Go runtime's own threads have 0 there.
//
//go:noescape
func fsSelf() bool

// fsBase returns the FS base.
//
//go:noescape
func fsBase() uintptr

// mAt is where a goroutine's structure has the pointer to that of its thread.
const mAt = 6 * unsafe.Sizeof(uintptr(0))

// findProcid finds where the runtime keeps the number of a thread, in programs with a C library:
// the word that is the number on two threads. What seems to be the runtime's structure of the
// thread is read by a system call, which fails where nothing is, instead of crashing.
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
	runtime.LockOSThread() // the goroutine must have another thread
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

// findLibcRseq finds the area that the C library has registered for its threads, all at the same
// distance from their FS bases. The kernel returns EBUSY for it, and EINVAL for any other address.
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
	case unix.EINVAL: // another one is
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
