//go:build !amd64 && !arm64 && !386

package cycles

import (
	"bytes"
	"runtime"
	"strconv"
)

// Goroutine returns the ID of the calling goroutine as printed by the runtime: "goroutine 12
// [running]:". It takes microseconds; nothing faster is available on these processors. IDs are
// never reused.
func Goroutine() uintptr {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	number, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return uintptr(id)
}

// Reused reports whether a later goroutine may get the same value of Goroutine.
const Reused = false

var harmless [256]bool

// turn returns 0: the state is unknown.
func turn() Turn { return 0 }

func findTurn() {}

// TurnsKnown reports whether it can be detected that a goroutine has left its thread.
func TurnsKnown() bool { return false }
