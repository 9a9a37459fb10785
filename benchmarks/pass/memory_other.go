//go:build !unix

package main

import (
	"math"
	"os"
)

// peakMemory is not known on this system.
func peakMemory(*os.ProcessState) float64 { return math.NaN() }
