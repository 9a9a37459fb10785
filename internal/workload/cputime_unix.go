//go:build unix

package workload

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has got so far, in user
// and in system mode; 0 if it is not known.
func processTime() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
