//go:build !amd64 || race

package granularity

import "sync"

// shardLock guards a shard.
type shardLock struct{ sync.Mutex }
