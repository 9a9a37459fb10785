//go:build !linux && !darwin && !windows

package memory

// total returns the memory of the machine in bytes: here it is not known.
func total() int64 { return 0 }
