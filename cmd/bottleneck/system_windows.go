package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableEscapes makes the console obey escape sequences and reports whether it does.
func enableEscapes(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// canSuspend reports whether the process can be stopped for a while.
func canSuspend() bool { return false }

// forwarded are the signals that a recorded program is handed: none on this system.
func forwarded(bool) []os.Signal { return nil }
