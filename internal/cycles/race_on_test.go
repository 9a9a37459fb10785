//go:build race

package cycles

// raceSlow is by how much the race detector slows the reading of a clock.
const raceSlow = 10
