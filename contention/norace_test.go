//go:build !race

package contention

const raceEnabled = false
