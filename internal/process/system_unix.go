//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded returns the signals to forward to a program. A terminal sends those of keys itself.
func forwarded(terminal bool) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	if !terminal {
		signals = append(signals, os.Interrupt, syscall.SIGQUIT)
	}
	return signals
}

// inOurGroup reports whether a process runs in the process group of this one.
func inOurGroup(pid int) bool {
	group, err := unix.Getpgid(pid)
	return err == nil && pid > 0 && group == unix.Getpgrp()
}
