// Package require says what becomes of a test on a machine that lacks what the test is made of, a
// browser for instance: it is skipped, with the reason. Where BOTTLENECK_REQUIRE_ALL=1 is set, as
// in continuous integration, it fails.
package require

import (
	"os"
	"os/exec"
	"testing"
)

// All tells whether nothing may be missing.
func All() bool { return os.Getenv("BOTTLENECK_REQUIRE_ALL") == "1" }

// Missing ends a test that cannot run here.
func Missing(t testing.TB, why ...any) {
	t.Helper()
	if All() {
		t.Fatal(why...)
	}
	t.Skip(why...)
}

// Program returns the path of a program, which must be there.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name, " is needed: ", err)
	}
	return path
}
