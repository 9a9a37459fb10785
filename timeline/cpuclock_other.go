//go:build !linux && !darwin

package timeline

import "time"

const cpuSource = "wall clock"

// cpuClock measures wall time, an upper bound of the processor time of a thread.
type cpuClock struct{ start time.Time }

func startCPUClock() cpuClock { return cpuClock{time.Now()} }

func (c *cpuClock) spent() time.Duration { return time.Since(c.start) }
