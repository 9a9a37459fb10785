//go:build linux || darwin

package timeline

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuClock measures the CPU time of a thread. The goroutine must be locked to it.
type cpuClock struct{ start time.Duration }

func startCPUClock() cpuClock { return cpuClock{threadCPU()} }

func (c *cpuClock) spent() time.Duration { return threadCPU() - c.start }

func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
