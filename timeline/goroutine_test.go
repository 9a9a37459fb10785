package timeline

import (
	"strconv"
	"testing"
	"unsafe"
)

// A program may have millions of goroutines. What few of them need is in Extra.
func TestSizeOfGoroutine(t *testing.T) {
	if size := unsafe.Sizeof(Goroutine{}); strconv.IntSize == 64 && size > 128 {
		t.Errorf("a Goroutine has %d bytes, more than the class of 128 of the allocator", size)
	}
}
