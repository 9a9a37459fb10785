//go:build !unix

package main

import (
	"math"
	"os"
	"time"
)

// processorTimeNow returns the wall time in place of the processor time of this process.
func processorTimeNow() time.Duration { return time.Since(started) }

var started = time.Now()

// peakMemory returns 0: it is unknown on this system.
func peakMemory(*os.ProcessState) float64 { return math.NaN() }
