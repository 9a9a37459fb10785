//go:build race

package contention

import (
	"sync"
	"testing"
	"time"
)

// Under the race detector, the shipped code runs: RLock and RUnlock are one instruction, too. But
// the race detector sees no order among readers.
func init() {
	fatal["two readers write"] = fatalCase{func() {
		var rw RWMutex
		x := 0
		read := func() { rw.RLock(); x++; rw.RUnlock() }
		go read()
		time.Sleep(50 * time.Millisecond)
		read()
	}, "WARNING: DATA RACE"}
}

// The race detector sees an order between writers and readers, and among writers. Otherwise this
// test fails.
func TestRaceDetectorSeesLockOrder(t *testing.T) {
	collecting(t, Options{})
	var rw RWMutex
	x := 0
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 500 {
				if j%4 == i {
					rw.Lock()
					x++
					rw.Unlock()
				} else {
					rw.RLock()
					if x < 0 {
						t.Error("x is negative")
					}
					rw.RUnlock()
				}
			}
		})
	}
	wg.Wait()
	if w := rw.mu.Word.Load(); x != 4*125 || w != 0 {
		t.Errorf("counted %d, the word is %d", x, w)
	}
}
