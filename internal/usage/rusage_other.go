//go:build !unix

package usage

import (
	"os"
)

// addRusage adds nothing: this system counts only times.
func addRusage(map[string]float64, *os.ProcessState) {}
