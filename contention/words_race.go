//go:build race

package contention

import (
	"runtime"
	"unsafe"
)

// The race detector must not take one reader of a lock for ordered after another, as the atomic
// operations on the word would have it: only a writer and others are.

const raceDetector = true

func raceDisable()                      { runtime.RaceDisable() }
func raceEnable()                       { runtime.RaceEnable() }
func raceAcquire(p unsafe.Pointer)      { runtime.RaceAcquire(p) }
func raceRelease(p unsafe.Pointer)      { runtime.RaceRelease(p) }
func raceReleaseMerge(p unsafe.Pointer) { runtime.RaceReleaseMerge(p) }
