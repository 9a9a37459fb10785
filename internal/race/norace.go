//go:build !race

package race

const Enabled = false

const Slowdown = 1
