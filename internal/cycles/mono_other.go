//go:build !linux

package cycles

import "time"

// monotonic returns the runtime's monotonic clock at t, from the start of the process.
func monotonic(t time.Time) int64 { return int64(t.Sub(start)) }
