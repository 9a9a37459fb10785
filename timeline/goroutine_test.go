package timeline

import (
	"strconv"
	"testing"
	"unsafe"
)

// A program may have millions of goroutines. What few of them need is in rare.
func TestSizeOfGoroutine(t *testing.T) {
	if size := unsafe.Sizeof(Goroutine{}); strconv.IntSize == 64 && size > 240 {
		t.Errorf("a Goroutine has %d bytes, more than the class of 240 of the allocator", size)
	}
}
