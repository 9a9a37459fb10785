//go:build !unix && !windows

package proctime

import "time"

// Self returns 0: the processor time is unknown on this system.
func Self() time.Duration { return 0 }
