//go:build !amd64 && !arm64 && !386

package cycles

var harmless [256]bool

// turn returns 0: the state is unknown.
func turn() Turn { return 0 }

func findTurn() {}

// TurnsKnown reports whether it can be detected that a goroutine has left its thread.
func TurnsKnown() bool { return false }
