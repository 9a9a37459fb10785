//go:build race

package contention

const raceEnabled = true
