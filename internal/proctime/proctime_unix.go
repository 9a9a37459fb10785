//go:build unix

// Package proctime returns the processor time and the context switches of the process.
package proctime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Self returns the processor time of this process so far, in user and in system mode, or 0 if it
// is unknown.
func Self() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Switches returns how often the threads of this process have left their processors so far, to wait
// and because they were preempted, or zeros if that is unknown.
func Switches() (voluntary, involuntary uint64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return uint64(u.Nvcsw), uint64(u.Nivcsw)
}
