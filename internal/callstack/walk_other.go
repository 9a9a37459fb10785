//go:build !(amd64 || arm64) || purego

package callstack

import (
	"runtime"
	"unsafe"
)

// CaptureAbove is Capture; see the version with assembly.
func (t *Table) CaptureAbove(unsafe.Pointer) *Chain { return t.Capture() }

// Capture returns the call chain of its caller.
func (t *Table) Capture() *Chain {
	var buf [MaxDepth]uintptr
	n := runtime.Callers(1, buf[:])
	var hash uint64
	for _, pc := range buf[:n] {
		hash = mix(hash, uint64(pc))
	}
	if c := t.find(hash); c != nil {
		return c
	}
	if t.full() {
		return t.drop()
	}
	return t.insert(hash, buf[:n])
}

// Without assembly the goroutine's descriptor is not accessible.
func gword(uintptr) uint64 { return 0 }

const haveG = false

// mix folds one program counter into a hash. The multiplication spreads the low
// bits upwards and the shift brings the high ones back, so that order matters.
func mix(hash, pc uint64) uint64 {
	hash = (hash ^ pc) * 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}
