//go:build !linux

package diagnose_test

import "time"

// block takes 2 ms; there is no system call that blocks for a given time on all systems.
func block() { time.Sleep(2e6) }
