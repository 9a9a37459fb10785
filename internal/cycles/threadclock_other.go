//go:build !linux && !darwin && !windows

package cycles

// threadTime returns 0: there is no thread clock that Go reaches without a C library.
func (c *Clock) threadTime(*Thread) int64 { return 0 }

const threadClockName = "none on this system"
