//go:build !unix && !windows

package granularity

// processUsage returns nothing: this system does not count.
func processUsage() usage { return usage{} }

// threadSwitches returns 0: this system has no counts for threads.
func threadSwitches() int64 { return 0 }
