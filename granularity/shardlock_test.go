package granularity

import (
	"sync"
	"testing"
)

// The lock lets in one at a time, and what was written in it is seen by the next.
func TestShardLock(t *testing.T) {
	var l shardLock
	var a, b int
	var wg sync.WaitGroup
	const goroutines, times = 8, 20_000
	for range goroutines {
		wg.Go(func() {
			for range times {
				l.Lock()
				a++
				if b++; a != b {
					t.Errorf("%d and %d: another one was in it", a, b)
				}
				l.Unlock()
			}
		})
	}
	wg.Wait()
	if a != goroutines*times {
		t.Errorf("%d increments, want %d", a, goroutines*times)
	}
}
