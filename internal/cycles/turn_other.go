//go:build !amd64 && !arm64 && !386

package cycles

var harmless [256]bool

// turn is not known.
func turn() Turn { return 0 }

func findTurn() {}

// TurnsKnown reports whether it is known when a goroutine has left its thread.
func TurnsKnown() bool { return false }
