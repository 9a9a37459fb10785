//go:build linux && !amd64

package cycles

import "golang.org/x/sys/unix"

// libcThreads: whether the program's threads belong to a C library. Only
// the build tells here, so that a program that might is taken for one that does.
const libcThreads = cgoBuild

// identity is the number of the calling thread.
func identity() uintptr {
	tid, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	return tid
}

// identifyByNumber has nothing to do: it is the identity.
func identifyByNumber() {}

// here returns no identity of the thread: there is no FS base.
func here() (thread, g uintptr, tick int64) { return 0, Goroutine(), 0 }

// numberAndTick returns the calling thread's identity and then the tick.
func numberAndTick() (id uintptr, tick int64) {
	id = identity()
	return id, ticks()
}
