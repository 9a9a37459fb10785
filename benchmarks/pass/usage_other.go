//go:build !unix

package main

import (
	"math"
	"os"
	"time"
)

// processorTimeNow stands in for the processor time of this process: the time.
func processorTimeNow() time.Duration { return time.Since(started) }

var started = time.Now()

// peakMemory is not known on this system.
func peakMemory(*os.ProcessState) float64 { return math.NaN() }
