package browser

import (
	"sync"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// Test starts a browser for a test. Where there is none, the test is skipped; with
// BOTTLENECK_REQUIRE_ALL=1 it fails.
func Test(t testing.TB) *Browser {
	t.Helper()
	b, err := Start()
	if err != nil {
		require.Missing(t, err)
	}
	return b
}

// Shared is one browser for all tests of a package, started by the first of them. The zero value is
// ready; TestMain closes it.
type Shared struct {
	mu sync.Mutex
	b  *Browser
}

// Test is like the function [Test], but starts a browser at most once.
func (s *Shared) Test(t testing.TB) *Browser {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock() // deferred, because a skipped test leaves by runtime.Goexit
	if s.b == nil {
		s.b = Test(t)
	}
	return s.b
}

// Close ends the browser if a test started it.
func (s *Shared) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b != nil {
		s.b.Close()
		s.b = nil
	}
}
