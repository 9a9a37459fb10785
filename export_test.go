package bottleneck

import "time"

// Hurry returns c with bursts of another length and gaps to match.
func Hurry(c *Continuous, burst time.Duration) *Continuous {
	c.burst = burst
	return c
}

// SetMostKept sets how much Analyze keeps of a trace, until the returned function is called.
func SetMostKept(n int64) func() {
	before := mostKept
	mostKept = n
	return func() { mostKept = before }
}
