package cycles

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// A thread's identity on linux/amd64 is its FS base, which user code reads in
// 4.5 ns where the kernel has enabled that (Linux 5.9, HWCAP2 bit 1). Without a
// C library it is the address of the runtime's own data for the thread. With one,
// exited threads' stacks are reused at once and nothing tells us of the exit
// (thread_linux.go), so that the thread's number must be the identity: 90 ns.
var (
	fsgsbase    = hasFSGSBase()
	libcThreads = fsgsbase && fsSelf() || !fsgsbase && cgoBuild
	//lint:ignore U1000 here reads it
	byFS = fsgsbase && !libcThreads && !noThreadState.Load()
)

// identifyByNumber makes the thread's number its identity: an FS base can come again with another
// thread, and without an address for the kernel to zero nothing tells.
func identifyByNumber() { byFS = false }

func identity() uintptr {
	if id, _, _ := here(); id != 0 {
		return id
	}
	return gettid()
}

// numberAndTick is what to call where here returns no identity.
func numberAndTick() (id uintptr, tick int64) {
	id = gettid()
	return id, rdtsc()
}

func gettid() uintptr {
	tid, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	return tid
}

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

// here reads the FS base, the address of the goroutine's structure and then the time-stamp counter.
// The base is 0 where it is not to be used as an identity.
//
//go:noescape
func here() (thread, goroutine uintptr, tick int64)

// fsSelf reports whether the word at the FS base is its own address: the ABI
// demands that of a C library's threads, and the Go runtime's own threads have 0 there.
//
//go:noescape
func fsSelf() bool
