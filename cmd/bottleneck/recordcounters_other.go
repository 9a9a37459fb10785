//go:build !unix

package main

import "os"

// forwarded are the signals that a recorded program is handed: none on this system.
func forwarded(bool) []os.Signal { return nil }
