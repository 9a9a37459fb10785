//go:build linux && !amd64

package cycles

import (
	"errors"

	"golang.org/x/sys/unix"
)

// libcThreads: whether the program's threads belong to a C library. Only
// the build decides here, so that a program that might is taken for one that does.
const libcThreads = cgoBuild

// identity is the number of the calling thread.
func identity() uintptr {
	tid, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	return tid
}

// identifyByNumber has nothing to do: it is the identity.
func identifyByNumber() {}

// here returns no identity of the thread: there is no FS base.
func here() place { return place{turn: turn()} }

// findLibcRseq fails: the place of the area is looked for on amd64 only.
func findLibcRseq() error { return errors.New("rseq: the C library's area is used on amd64 only") }

func libcArea() uintptr { return 0 }

func findProcid() {}
