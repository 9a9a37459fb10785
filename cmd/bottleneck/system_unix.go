//go:build unix

package main

import (
	"os"
	"syscall"

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

// forwarded are the signals that a recorded program is handed. Those that a terminal sends by key
// it sends to the program itself.
func forwarded(terminal bool) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	if !terminal {
		signals = append(signals, os.Interrupt, syscall.SIGQUIT)
	}
	return signals
}
