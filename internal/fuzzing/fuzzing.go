// Package fuzzing keeps fuzz targets at their work. By default, go test -fuzz shortens each input
// that reaches new code byte by byte, for up to a minute, before it goes on: a target whose seeds
// are files of some kilobytes executes next to nothing else.
package fuzzing

import (
	"flag"
	"testing"
)

// Brief has a fuzz target try only a few executions to shorten an input, unless -fuzzminimizetime
// says otherwise. Call it before f.Fuzz.
func Brief(f *testing.F) {
	f.Helper()
	given := false
	flag.Visit(func(fl *flag.Flag) { given = given || fl.Name == minimizeTime })
	if !given {
		if err := flag.Set(minimizeTime, "10x"); err != nil {
			f.Fatal(err)
		}
	}
}

const minimizeTime = "test.fuzzminimizetime"
