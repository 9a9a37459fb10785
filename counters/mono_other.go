//go:build !linux

package counters

// now is not needed where there are no records to compare it with.
func now() int64 { return 0 }
