//go:build amd64 || arm64 || 386

package cycles

// Goroutine returns the address of the calling goroutine's structure in the runtime, 2 ns. It
// identifies living goroutines; later ones get the same structure again. On processors other than
// amd64, arm64 and 386 it is the number of the goroutine.
func Goroutine() uintptr { return getg() }

// Reused: a later goroutine may get what Goroutine returns.
const Reused = true

// getg returns the address of the calling goroutine's structure.
//
//go:noescape
func getg() uintptr
