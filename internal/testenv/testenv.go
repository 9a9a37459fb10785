// Package testenv adapts tests to the machine that they run on.
package testenv

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// The race detector lets each process sleep for a second before it exits. Tests start hundreds of
// processes of their own, in which it has seen everything by then.
func init() {
	if race.Enabled && os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
}

// All reports whether missing requirements are failures: BOTTLENECK_REQUIRE_ALL=1 is set, as in
// continuous integration.
func All() bool { return os.Getenv("BOTTLENECK_REQUIRE_ALL") == "1" }

// Missing skips a test, with the reason, on a machine that lacks something the test needs, such as a
// browser. If All, the test fails instead.
func Missing(t testing.TB, why ...any) {
	t.Helper()
	if All() {
		t.Fatal(why...)
	}
	t.Skip(why...)
}

// Program returns the path of a program that the test requires.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, " is needed: ", err)
	}
	return path
}

// Rounds returns how often a test repeats work that uses one goroutine: n times, or n/8 under the
// race detector, which is some ten times slower and finds nothing more in the rest. The tests also
// run without it.
func Rounds(n int) int {
	if race.Enabled {
		return max(1, n/8)
	}
	return n
}

// Some returns the inputs that a test tries with one goroutine: all, or under the race detector the
// first and every eighth after it.
func Some[T any](all []T) []T {
	if !race.Enabled {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 8 {
		some = append(some, all[i])
	}
	return some
}

// BriefFuzzing has a fuzz target try only a few executions to shorten an input, unless
// -fuzzminimizetime is set. Call it before f.Fuzz. By default, go test -fuzz shortens each input
// that reaches new code byte by byte, for up to a minute, before it goes on: a target whose seeds are
// files of some kilobytes executes next to nothing else.
func BriefFuzzing(f *testing.F) {
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
