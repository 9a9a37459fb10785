package cycles

import "time"

// monotonic returns the runtime's monotonic clock at t, from the start of the process. It steps by 0.5 to 15 ms.
func monotonic(t time.Time) int64 { return int64(t.Sub(start)) }

// What the counter is calibrated against, and by how many seconds it steps, at most.
const (
	monotonicName = "QueryPerformanceCounter"
	monotonicStep = 1e-6
)
