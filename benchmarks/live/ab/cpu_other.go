//go:build !unix

package ab

import "time"

// cpuTime is 0: the processor time of the process is not read here.
func cpuTime() time.Duration { return 0 }
