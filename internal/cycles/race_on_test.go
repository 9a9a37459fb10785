//go:build race

package cycles

// raceSlow is the slowdown of a clock reading by the race detector.
const raceSlow = 10
