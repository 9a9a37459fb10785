//go:build unix

// Package proctime returns the processor time of the process.
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
