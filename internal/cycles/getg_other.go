//go:build !amd64 && !arm64 && !386

package cycles

import (
	"bytes"
	"runtime"
	"strconv"
)

// Goroutine returns the number of the calling goroutine, as the runtime prints it: "goroutine 12
// [running]:". It takes microseconds; such processors have no better one. The number never comes
// again.
func Goroutine() uintptr {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	number, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return uintptr(id)
}

// Reused: a later goroutine may get what Goroutine returns.
const Reused = false
