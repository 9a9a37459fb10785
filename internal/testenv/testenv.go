// Package testenv adapts tests to the machine that they run on.
package testenv

import (
	"flag"
	"os"
	"os/exec"
	"testing"
)

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
