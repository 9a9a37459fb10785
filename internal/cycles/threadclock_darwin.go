package cycles

import "golang.org/x/sys/unix"

// threadTime returns the calling thread's CPU time in ticks, or 0 if the system has no such clock.
func (c *Clock) threadTime(*Thread) int64 {
	const clockThreadCPUTimeID = 16 // <time.h>
	var ts unix.Timespec
	if unix.ClockGettime(clockThreadCPUTimeID, &ts) != nil {
		return 0
	}
	return c.base.FromNS(ts.Nano())
}

const threadClockName = "CLOCK_THREAD_CPUTIME_ID"
