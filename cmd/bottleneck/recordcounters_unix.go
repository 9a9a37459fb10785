//go:build unix

package main

import (
	"os"
	"syscall"
)

// forwarded are the signals that a recorded program is handed. Those that a terminal sends by key
// it sends to the program itself.
func forwarded(terminal bool) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	if !terminal {
		signals = append(signals, os.Interrupt, syscall.SIGQUIT)
	}
	return signals
}
