//go:build unix

package workload

import (
	"syscall"
	"time"
)

// processTime returns the processor time of the process so far, in user and in system mode, or 0 if
// unknown.
func processTime() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
