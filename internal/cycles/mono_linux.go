package cycles

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC at t, to within a system call.
func monotonic(t time.Time) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return int64(t.Sub(start))
	}
	return ts.Nano() - int64(time.Since(t))
}

// What the counter is calibrated against, and by how many seconds it steps.
const (
	monotonicName = "CLOCK_MONOTONIC"
	monotonicStep = 1e-9
)
