// Package require skips a test, with the reason, on a machine that lacks something the test needs,
// such as a browser. If BOTTLENECK_REQUIRE_ALL=1 is set, as in continuous integration, the test
// fails instead.
package require

import (
	"os"
	"os/exec"
	"testing"
)

// All reports whether missing requirements are failures.
func All() bool { return os.Getenv("BOTTLENECK_REQUIRE_ALL") == "1" }

// Missing skips or fails a test that cannot run on this machine.
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
