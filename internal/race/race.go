//go:build race

// Package race has what the module needs of the race detector: whether it is on, and the functions
// that declare an order of accesses. Without the detector, these do nothing.
package race

import (
	"runtime"
	"unsafe"
)

// Enabled reports whether the race detector is on.
const Enabled = true

// Slowdown is a bound of how many times slower short code is for the race detector.
const Slowdown = 10

// The following are those of package runtime.

func Disable()                      { runtime.RaceDisable() }
func Enable()                       { runtime.RaceEnable() }
func Acquire(p unsafe.Pointer)      { runtime.RaceAcquire(p) }
func Release(p unsafe.Pointer)      { runtime.RaceRelease(p) }
func ReleaseMerge(p unsafe.Pointer) { runtime.RaceReleaseMerge(p) }
