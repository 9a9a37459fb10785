package ledger

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// A thread on which others run, too, is not that of one goroutine, even if they never wait.
func TestThreadOfOneGoroutine(t *testing.T) {
	for _, others := range []bool{false, true} {
		var th threads
		one, other := &member{g: &timeline.Goroutine{ID: 1}, group: 5}, &member{g: &timeline.Goroutine{ID: 2}, group: 6}
		for range 2 * pinnedSlices {
			th.ran(one, 7, true)
			if others {
				th.ran(other, 7, false)
			}
		}
		if th.pinned[5] == others || th.pinned[6] {
			t.Errorf("others: %v, pinned: %v", others, th.pinned)
		}
	}
}
