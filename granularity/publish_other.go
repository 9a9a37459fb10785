//go:build !amd64 || race

package granularity

import "sync/atomic"

// publish stores the value so that a thread that sees it, with an atomic load, also sees all
// earlier writes.
func publish(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
