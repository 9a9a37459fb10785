package bottleneck

import "time"

// Hurry returns c with bursts of another length, and the gaps that go with them.
func Hurry(c *Continuous, burst time.Duration) *Continuous {
	c.burst = burst
	return c
}

// SetMostKept sets what Analyze keeps of a trace, until the function that it returns is called.
func SetMostKept(n int64) func() {
	before := mostKept
	mostKept = n
	return func() { mostKept = before }
}
