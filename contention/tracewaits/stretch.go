package tracewaits

import "github.com/bottleneck-go/bottleneck/timeline"

// stretch is a time in which a goroutine was in one state, or in one of several states.
type stretch struct{ start, end timeline.Time }

// firstActive returns the first instant since t at which g, which is active now, may have been
// active.
func (g *tracedGoroutine) firstActive(t timeline.Time) timeline.Time {
	first, end := g.since, g.past.end
	for i := len(g.past.segs) - 1; end > t; i-- {
		if i < 0 {
			if end > g.past.first {
				return t // too long ago
			}
			break
		}
		s := &g.past.segs[i]
		if end = s.start; s.active {
			first = min(first, end)
		}
	}
	return max(first, t)
}

// heldFor returns the part of the time from a to b, which is now, in which g was not runnable: for
// the rest, neither it nor what it waited for was to blame.
func (g *tracedGoroutine) heldFor(a, b timeline.Time) timeline.Time {
	d, end := b-a, g.past.end
	for i := len(g.past.segs) - 1; i >= 0 && end > a; i-- {
		s := &g.past.segs[i]
		if s.did == doingRunnable {
			d -= end - max(s.start, a)
		}
		end = s.start
	}
	return d
}

// heldSince returns the instant since which g was not runnable for a total of d before b, which is
// now.
func (g *tracedGoroutine) heldSince(b, d timeline.Time) timeline.Time {
	end := g.past.end
	for i := len(g.past.segs) - 1; i >= 0 && b-end < d; i-- {
		s := &g.past.segs[i]
		if s.did == doingRunnable {
			d -= b - end
			b = s.start
		}
		end = s.start
	}
	return b - d
}
