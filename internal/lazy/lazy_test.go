package lazy

import (
	"sync"
	"testing"
)

// TestGet: all callers get the value of one call.
func TestGet(t *testing.T) {
	var v Value[int]
	var all sync.WaitGroup
	calls := 0
	for range 10 {
		all.Go(func() {
			if got := v.Get(func() int { calls++; return calls }); got != 1 {
				t.Errorf("got %d", got)
			}
		})
	}
	all.Wait()
}
