//go:build !unix && !windows

package proctime

import "time"

// Self returns 0: the processor time is unknown on this system.
func Self() time.Duration { return 0 }

// Switches returns zeros: this system does not count the context switches of a process.
func Switches() (voluntary, involuntary uint64) { return 0, 0 }
