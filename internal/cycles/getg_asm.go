//go:build amd64 || arm64

package cycles

// Goroutine returns the address of the calling goroutine's structure in the runtime, 2 ns. It
// tells living goroutines apart; later ones get the same structure again. It
// returns 0 on processors other than amd64 and arm64.
func Goroutine() uintptr { return getg() }

// getg returns the address of the calling goroutine's structure.
//
//go:noescape
func getg() uintptr
