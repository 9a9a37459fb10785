package callstack

import (
	"bytes"
	"runtime"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/background"
)

// Goroutine IDs. The runtime exposes a goroutine's ID only in the text of [runtime.Stack], which
// takes 5–15 µs. It keeps the ID in a word of the goroutine's descriptor, the g, whose position has
// changed between Go versions. So the position is determined at first use: several goroutines each
// record which words of their g hold the ID from runtime.Stack. Exactly one word must match in all
// of them; otherwise IDs are permanently unknown.

const (
	goidUntried = 0
	goidUnknown = -1

	// How much of the g to search, which is larger than 400 B in every Go version since 1.18,
	// and in how many goroutines.
	gWords      = 40
	gGoroutines = 6
)

// goidOffset is the offset of the id in the g, or goidUntried or goidUnknown.
// The first words of the g are its stack bounds, so 0 is never an offset.
var goidOffset atomic.Int64

// Goid returns the ID of the calling goroutine as printed in stack traces. It returns 0 if the ID
// is not cheaply available: without assembly, or if the runtime's layout is not recognized. It
// takes about 2 ns, and about 100 µs the first time.
func Goid() uint64 {
	off := goidOffset.Load()
	if off > 0 {
		return gword(uintptr(off))
	}
	return goidSlow(off)
}

// GoidChecked reports whether the position of the IDs has been searched for, if there is one.
func GoidChecked() bool { return !haveG || goidOffset.Load() != goidUntried }

func goidSlow(off int64) uint64 {
	if off == goidUnknown || !haveG {
		return 0
	}
	off = findGoid()
	goidOffset.Store(off) // every search finds the same offset
	if off < 0 {
		return 0
	}
	return gword(uintptr(off))
}

// findGoid returns the offset of the id in the g, or goidUnknown.
func findGoid() int64 {
	matches := make(chan uint64, gGoroutines)
	for range gGoroutines {
		background.Go(func() { matches <- goidMatches() })
	}
	common := ^uint64(0)
	for range gGoroutines {
		common &= <-matches
	}
	if common == 0 || common&(common-1) != 0 {
		return goidUnknown
	}
	off := int64(0)
	for ; common > 1; common >>= 1 {
		off += 8
	}
	return off
}

// goidMatches returns the set of words of the caller's g that hold its id.
func goidMatches() uint64 {
	id := stackGoid()
	if id == 0 {
		return 0
	}
	var set uint64
	for w := range gWords {
		if gword(uintptr(w)*8) == id {
			set |= 1 << w
		}
	}
	return set
}

// GoidSlowly returns the ID of the calling goroutine, even where [Goid] returns 0; it then takes
// 5–15 µs.
func GoidSlowly() uint64 {
	if id := Goid(); id != 0 {
		return id
	}
	return stackGoid()
}

// stackGoid reads the id from the first line of the stack's text: "goroutine 7 [running]:".
func stackGoid() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text, ok := bytes.CutPrefix(text, []byte("goroutine "))
	if !ok {
		return 0
	}
	var id uint64
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		id = 10*id + uint64(c-'0')
	}
	return id
}
