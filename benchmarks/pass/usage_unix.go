//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory returns the largest resident set of a finished process, in MB.
func peakMemory(ps *os.ProcessState) float64 {
	u, ok := ps.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(u.Maxrss) / 1e6 // in bytes there
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
