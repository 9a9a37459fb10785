//go:build race

package tracewaits

const raceEnabled = true
