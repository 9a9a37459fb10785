//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// enableEscapes reports whether the terminal supports escape sequences. All do, except those that
// call themselves dumb.
func enableEscapes(*os.File) bool { return true }

// canSuspend reports whether there is a shell that can resume a stopped process. Such a shell gives
// the command its own process group.
func canSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

// forwarded returns the signals to forward to a recorded program. A terminal sends the signals of
// keys to the program itself.
func forwarded(terminal bool) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	if !terminal {
		signals = append(signals, os.Interrupt, syscall.SIGQUIT)
	}
	return signals
}
