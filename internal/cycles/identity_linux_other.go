//go:build linux && !amd64

package cycles

import (
	"errors"

	"golang.org/x/sys/unix"
)

// libcThreads reports whether the program's threads belong to a C library. It depends on the build
// only: a program that may be linked with a C library counts as linked.
const libcThreads = cgoBuild

// identity returns the ID of the calling thread.
func identity() uintptr {
	tid, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	return tid
}

// here returns no thread identity: there is no FS base.
func here() place { return place{turn: turn()} }

// findLibcRseq fails: the area is located on amd64 only.
func findLibcRseq() error { return errors.New("rseq: the C library's area is used on amd64 only") }

func libcArea() uintptr { return 0 }

func findProcid() {}
