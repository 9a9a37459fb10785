package cycles

import (
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// blockCost returns what the job's blocking operation costs its thread, in ticks:
// nine in ten cost less by CLOCK_THREAD_CPUTIME_ID, and at least 10 µs.
func (j job) blockCost(base *Timebase) int64 {
	cost := base.FromNS(10_000)
	if j.block == nil {
		return cost
	}
	clock := func() int64 {
		var ts unix.Timespec
		unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
		return ts.Nano()
	}
	var mu sync.Mutex
	var costs []int64
	j.each(160/j.workers, func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		busy(j.spin)
		from := clock()
		j.block()
		ns := clock() - from
		mu.Lock()
		defer mu.Unlock()
		costs = append(costs, ns)
	})
	slices.Sort(costs)
	return max(cost, base.FromNS(costs[len(costs)*9/10]))
}

func childMain(string) {}
