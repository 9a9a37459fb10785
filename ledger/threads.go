package ledger

import (
	"maps"
	"slices"
)

// A goroutine that is locked to a thread (runtime.LockOSThread) runs on that thread only, and
// nothing else runs there, so each of its wake-ups wakes a thread. No event shows the lock. It can
// be detected if goroutines wake each other often, because the scheduler usually runs a woken
// goroutine on the thread of its waker.

// threads finds goroutines that run on a thread of their own.
type threads struct {
	of     [256]turns // Threads with equal remainders count as one, which only finds fewer.
	pinned map[who]bool
}

// turns are the latest slices on a thread, all of one goroutine.
type turns struct {
	goroutine, n int64
}

// pinnedSlices is the number of slices from which a match is not attributed to chance.
const pinnedSlices = 1000

// ran records a slice of a goroutine, and whether it ended in a wait.
func (t *threads) ran(m *member, thread int64, waits bool) {
	if thread < 0 {
		return
	}
	here := &t.of[uint64(thread)%uint64(len(t.of))]
	if !waits {
		if here.goroutine != m.g.ID {
			*here = turns{m.g.ID, 0}
		}
		return
	}
	if m.thread != thread {
		m.thread, m.slicesThere = thread, 0
	}
	m.slicesThere = min(m.slicesThere+1, pinnedSlices+1)
	if here.n++; here.goroutine != m.g.ID {
		*here = turns{m.g.ID, 1}
	}
	if min(int64(m.slicesThere), here.n) == pinnedSlices && m.base == catCode {
		if t.pinned == nil {
			t.pinned = map[who]bool{}
		}
		t.pinned[m.group] = true
	}
}

// names returns the names of the goroutines found.
func (t *threads) names(g *groups) (names []string) {
	for w := range maps.Keys(t.pinned) {
		names = append(names, g.names[w])
	}
	slices.Sort(names)
	return names
}
