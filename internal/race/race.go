//go:build race

// Package race has whether the race detector is on, which tests ask to do less of what one
// goroutine computes.
package race

// Enabled reports whether the race detector is on.
const Enabled = true

// Slowdown is a bound of how many times slower short code is for the race detector.
const Slowdown = 10
