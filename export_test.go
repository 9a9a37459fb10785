package bottleneck

import "time"

// Hurry returns c with bursts of another length, and the gaps that go with them.
func Hurry(c *Continuous, burst time.Duration) *Continuous {
	c.burst = burst
	return c
}
