package browser

import (
	"os"
	"testing"
)

// Test starts a browser for a test. Where there is none, the test is skipped; with BOTTLENECK_REQUIRE_ALL=1 it fails.
func Test(t testing.TB) *Browser {
	t.Helper()
	b, err := Start()
	if err != nil {
		if os.Getenv("BOTTLENECK_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return b
}
