//go:build !linux

package cycles

import (
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// monotonic returns the runtime's monotonic clock at t, from the start of the process. On Windows
// it steps by 0.5 to 15 ms.
func monotonic(t time.Time) int64 { return int64(t.Sub(start)) }

// What the counter is calibrated against, and by how many seconds it steps, at most.
const (
	monotonicName = monotime.Source
	monotonicStep = 1e-6
)
