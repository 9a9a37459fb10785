package cycles

// threadTime returns the thread's CPU time in ticks.
func (c *Clock) threadTime(th *Thread) int64 { return c.base.FromNS(th.area.threadClock()) }

const threadClockName = "CLOCK_THREAD_CPUTIME_ID"
