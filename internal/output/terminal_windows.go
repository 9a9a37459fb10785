package output

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes enables escape sequences on the console and reports whether that succeeded.
func enableEscapes(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
