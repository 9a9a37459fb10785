//go:build !linux && !darwin && !windows

package cycles

// threadTime returns 0: Go cannot read a thread clock without a C library here.
func (c *Clock) threadTime(*Thread) int64 { return 0 }

const threadClockName = "none on this system"
