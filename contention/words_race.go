//go:build race

package contention

import (
	"runtime"
	"unsafe"
)

// The atomic operations on the word order the readers of a lock, but the race detector must only
// see the order of writers and others.

const raceDetector = true

func raceDisable()                      { runtime.RaceDisable() }
func raceEnable()                       { runtime.RaceEnable() }
func raceAcquire(p unsafe.Pointer)      { runtime.RaceAcquire(p) }
func raceRelease(p unsafe.Pointer)      { runtime.RaceRelease(p) }
func raceReleaseMerge(p unsafe.Pointer) { runtime.RaceReleaseMerge(p) }
