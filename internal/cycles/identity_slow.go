//go:build !linux && !amd64 && !arm64

package cycles

import (
	"bytes"
	"runtime"
	"strconv"
	"sync/atomic"
)

// identity is the number of the calling goroutine, as the runtime prints it:
// "goroutine 12 [running]:". It costs microseconds; such machines have no better one.
func identity() uintptr {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	number, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return uintptr(id)
}

// Leave must be called before the goroutine unlocks from the thread, when no
// measurement is under way there any more. Numbers of goroutines never come again,
// so the entry is given up here.
func (th *Thread) Leave() { atomic.StoreUint32(&th.area.life, 0) }
