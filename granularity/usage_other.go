//go:build !unix && !windows

package granularity

// processUsage returns nothing: this system does not tell.
func processUsage() usage { return usage{} }
