//go:build !race

package cycles

// raceSlow is the slowdown of a clock reading by the race detector: none without it.
const raceSlow = 1
