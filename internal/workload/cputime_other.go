//go:build !unix

package workload

import "time"

// processTime returns 0: the processor time is unknown on this system.
func processTime() time.Duration { return 0 }
