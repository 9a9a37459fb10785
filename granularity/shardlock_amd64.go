//go:build !race

package granularity

import (
	"runtime"
	"sync/atomic"
)

// shardLock guards a shard, nearly always against nobody: it is a thread's own but for
// snapshots, and threads beyond the number of shards. Only Lock is an atomic operation: on this
// processor, stores are seen in the order in which they are made, so that a plain one, after
// all others, releases it; that halves what the lock costs a task. Elsewhere, and for
// the race detector, it is a sync.Mutex.
type shardLock struct{ held int32 }

// Lock takes the lock.
func (l *shardLock) Lock() {
	if !atomic.CompareAndSwapInt32(&l.held, 0, 1) {
		l.wait()
	}
}

// Unlock releases it.
func (l *shardLock) Unlock() { l.held = 0 }

// wait gives the processor to others, one of which has the lock.
func (l *shardLock) wait() {
	for !atomic.CompareAndSwapInt32(&l.held, 0, 1) {
		runtime.Gosched()
	}
}
