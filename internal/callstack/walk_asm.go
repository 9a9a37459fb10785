//go:build (amd64 || arm64) && !purego

package callstack

import "unsafe"

// Capture returns the call chain of its caller.
func (t *Table) Capture() *Chain { return t.CaptureAbove(nil) }

// CaptureAbove is Capture, but distinguishes chains only by the calls above the caller's frame that
// holds the variable at frame. A profiler thus gets one chain for its user's call, wherever in its
// own code it captures the chain. If frame is not on the stack, it is ignored. The portable version
// always ignores it.
func (t *Table) CaptureAbove(frame unsafe.Pointer) *Chain {
	hash := walk(MaxDepth, frame)
	if c := t.find(hash); c != nil {
		return c
	}
	return t.callers(hash)
}

// walk hashes the return addresses on the chain of frame pointers of the calling
// goroutine, at most depth of them, starting with the frame that holds above. It never
// reads outside the goroutine's stack, whatever the frame pointers hold.
//
//go:noescape
func walk(depth int, above unsafe.Pointer) uint64

// gword returns the 8 bytes at the given offset of the goroutine's descriptor.
//
//go:noescape
func gword(offset uintptr) uint64

const haveG = true
