//go:build !linux

package granularity

// threadSwitches returns 0: this system does not count for threads.
func threadSwitches() int64 { return 0 }
