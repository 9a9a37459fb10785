//go:build !unix

package ab

import "time"

// cpuTime returns 0: the processor time of the process is not read on this system.
func cpuTime() time.Duration { return 0 }
