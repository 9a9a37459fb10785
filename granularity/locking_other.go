//go:build !linux

package granularity

// threadSwitches returns 0: this system has no counts for threads.
func threadSwitches() int64 { return 0 }
