//go:build !race

package tracewaits

const raceEnabled = false
