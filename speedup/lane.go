package speedup

import (
	"cmp"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Lane is what one worker did while it lived. Its times by family sum to To − From exactly.
//
// Time in which a worker is ready but has no processor is in the family scheduling, regardless of
// which goroutines have the processors. While there is a processor for each ready worker, it is in
// the family of the preceding wait.
type Lane struct {
	Goroutine int64         // its ID; 0 for folded lanes
	Func      string        // start function
	Folded    int           // number of workers that are folded into this lane; 0 for a single one
	From, To  time.Duration // from the beginning of the trace
	// Time is indexed by family. For folded lanes it is the sum.
	Time [NumFamilies]time.Duration
}

// maxLanes bounds the lanes that are kept separately, so that memory does not grow with goroutines.
const maxLanes = 64

// lane is a lane under construction.
type lane struct {
	Lane
	since timeline.Time
	globe globe // value at since
}

// globe counts the time so far in which all lanes were in the same component, regardless of their
// workers, and the time in which there was a processor for each ready worker.
type globe struct {
	gc, runtime, sequential, free timeline.Time
}

// settle accounts for the time until now, in which the worker was in its own component, or in the
// component before if it is ready.
func (l *lane) settle(now timeline.Time, at globe, own, before Component) {
	dt := now - l.since
	gc, rt, seq := at.gc-l.globe.gc, at.runtime-l.globe.runtime, at.sequential-l.globe.sequential
	l.Time[GarbageCollection] += time.Duration(gc)
	l.Time[RuntimeFamily] += time.Duration(rt)
	l.Time[SequentialPart] += time.Duration(seq)
	dt -= gc + rt + seq
	family := own.Family()
	if own == ready {
		free := at.free - l.globe.free
		l.Time[before.Family()] += time.Duration(free)
		family, dt = Scheduling, dt-free
	}
	l.Time[family] += time.Duration(dt)
	l.since, l.globe = now, at
}

// foldLanes keeps the longest-lived lanes and folds the others into the last one.
func foldLanes(lanes []Lane, most int) []Lane {
	order.Stable(lanes, func(a, b Lane) int {
		if (a.Folded > 0) != (b.Folded > 0) {
			return cmp.Compare(a.Folded, b.Folded)
		}
		return cmp.Or(cmp.Compare(b.To-b.From, a.To-a.From), cmp.Compare(a.Goroutine, b.Goroutine))
	})
	if len(lanes) <= most {
		return lanes
	}
	rest := lanes[most-1]
	rest.Folded, rest.Goroutine = max(1, rest.Folded), 0
	for _, l := range lanes[most:] {
		rest.Folded += max(1, l.Folded)
		rest.From, rest.To = min(rest.From, l.From), max(rest.To, l.To)
		if rest.Func != l.Func {
			rest.Func = ""
		}
		for f := range l.Time {
			rest.Time[f] += l.Time[f]
		}
	}
	return append(lanes[:most-1], rest)
}
