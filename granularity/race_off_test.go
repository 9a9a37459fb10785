//go:build !race

package granularity

// slow is the slowdown of measuring a task by the race detector: none without it.
const slow = 1
