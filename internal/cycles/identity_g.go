//go:build !linux && (amd64 || arm64)

package cycles

// A locked goroutine and its thread are one, so where threads have no cheap
// identity the goroutine's structure serves: the runtime reuses such
// structures for later goroutines but never frees them.
func identity() uintptr { return getg() }

// Leave must be called before the goroutine unlocks from the thread, when no
// measurement is under way there any more.
func (th *Thread) Leave() {}
