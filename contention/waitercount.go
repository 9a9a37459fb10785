package contention

import "sync/atomic"

// waiterCount counts the registered waiters of a lock: goroutines that wait, and the
// owner if it has waited itself, or has another reason to be stopped at its Unlock.
//
// It counts downwards in steps of 256, so that Unlock can tell it from the state of a
// sync.Mutex that is not locked; see fastpath_go126.go.
type waiterCount int32

const waiterStep = -1 << 8

// Load returns the number of registered waiters.
func (c *waiterCount) Load() int32 { return atomic.LoadInt32((*int32)(c)) / waiterStep }

// Add adds to the number of registered waiters, and returns it.
func (c *waiterCount) Add(n int32) int32 {
	return atomic.AddInt32((*int32)(c), n*waiterStep) / waiterStep
}
