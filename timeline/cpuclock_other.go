//go:build !linux && !darwin

package timeline

import (
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// cpuClock measures wall time, an upper bound of the CPU time of a thread.
type cpuClock struct{ start int64 }

func startCPUClock() cpuClock { return cpuClock{monotime.Now()} }

func (c *cpuClock) spent() time.Duration { return time.Duration(monotime.Now() - c.start) }
