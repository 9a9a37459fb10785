//go:build !windows

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// enableEscapes reports whether the terminal obeys escape sequences, as all do
// that do not call themselves dumb.
func enableEscapes(*os.File) bool { return true }

// canSuspend reports whether there is a shell that lets a stopped process go on: it has given a
// process group of its own to the command.
func canSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}
