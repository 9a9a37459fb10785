package browser

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// Test starts a browser for a test. Where there is none, the test is skipped; with BOTTLENECK_REQUIRE_ALL=1 it fails.
func Test(t testing.TB) *Browser {
	t.Helper()
	b, err := Start()
	if err != nil {
		require.Missing(t, err)
	}
	return b
}
