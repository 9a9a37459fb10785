//go:build race

package granularity

// slow is by how much the race detector slows the measuring of a task.
const slow = 10
