package contention

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// OtherLocks is the name of the entry for all locks beyond Options.MaxLocks.
const OtherLocks = "[other locks]"

// SeveralLocks is the name of an entry of Profile.Locks that stands for several locks which
// a trace cannot tell apart.
const SeveralLocks = "[several locks]"

// lockInfo is who a lock is. It outlives the lock in the accounts of a session.
type lockInfo struct {
	id      uint64
	name    atomic.Pointer[string]
	created atomic.Pointer[callstack.Chain]
	first   atomic.Pointer[callstack.Chain] // the first waiter's
}

var lockIDs atomic.Uint64

func newLockInfo() *lockInfo { return &lockInfo{id: lockIDs.Add(1)} }

// creation holds the call chains of the New functions, which may be called before Start.
var creation lazyTable

type lazyTable struct {
	once sync.Once
	t    *callstack.Table
}

func (l *lazyTable) table() *callstack.Table {
	l.once.Do(func() { l.t = callstack.NewTable(1 << 12) })
	return l.t
}

// firstSeen remembers the call chain of the lock's first waiter.
func (a *account) firstSeen(chain *callstack.Chain) {
	if a.info.first.Load() == nil {
		a.info.first.CompareAndSwap(nil, chain)
	}
}

// className returns the class of a lock, given the frames of its creation if it was
// made by a New function, and those of its first waiter.
func className(created, first []Frame) string {
	if len(created) > 0 {
		return created[0].Func + ":" + strconv.Itoa(created[0].Line)
	}
	if len(first) > 0 {
		return symbol.Receiver(first[0].Func)
	}
	return ""
}
