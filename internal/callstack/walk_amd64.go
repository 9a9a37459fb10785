//go:build amd64 && !purego

package callstack

// Capture returns the call chain of its caller.
func (t *Table) Capture() *Chain {
	hash := walk(MaxDepth)
	if c := t.find(hash); c != nil {
		return c
	}
	return t.callers(hash)
}

// walk hashes the return addresses on the chain of frame pointers of the calling
// goroutine, at most depth of them. It never reads outside the goroutine's stack,
// whatever the frame pointers hold.
//
//go:noescape
func walk(depth int) uint64

// gword returns the 8 bytes at the given offset of the goroutine's descriptor.
//
//go:noescape
func gword(offset uintptr) uint64

const haveG = true
