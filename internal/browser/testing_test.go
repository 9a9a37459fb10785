package browser

import "testing"

func TestNoSkipLeavesALockHeld(t *testing.T) {
	t.Setenv("BOTTLENECK_REQUIRE_ALL", "")
	t.Setenv("PATH", t.TempDir())
	var shared Shared
	for range 2 { // the second would wait for ever
		t.Run("without a browser", func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					t.Error("not skipped")
				}
			}()
			shared.Test(t)
			t.Error("a browser was found in an empty PATH")
		})
		if !shared.mu.TryLock() {
			t.Fatal("the skipped test left the lock held")
		}
		shared.mu.Unlock()
	}
	shared.Close()
}
