//go:build !unix

package usage

import (
	"os"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// addRusage adds nothing: this system counts only times.
func addRusage(speedup.Counts, *os.ProcessState) {}
