//go:build !unix

package granularity

import "github.com/bottleneck-go/bottleneck/internal/proctime"

// processUsage returns the processor time that the process has used so far: this system does not
// count a process's context switches.
func processUsage() usage {
	cpu := proctime.Self()
	return usage{known: cpu > 0, cpu: cpu}
}
