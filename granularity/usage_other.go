//go:build !unix && !windows

package granularity

// processUsage returns nothing: this system does not count.
func processUsage() usage { return usage{} }
