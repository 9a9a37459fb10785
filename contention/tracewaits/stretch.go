package tracewaits

import "github.com/bottleneck-go/bottleneck/timeline"

// stretch is a time in which a goroutine was in one state, or in one of several states.
type stretch struct{ start, end timeline.Time }

// stretches keeps the latest maxStretches stretches, in order of time.
type stretches struct {
	ring []stretch // up to maxStretches
	n    int       // number of all stretches so far
}

const maxStretches = 8

func (s *stretches) add(x stretch) {
	if len(s.ring) < maxStretches {
		s.ring = append(s.ring, x)
	} else {
		s.ring[s.n%maxStretches] = x
	}
	s.n++
}

// back returns the i-th stretch from the end, counting from 0, and whether it is kept.
func (s *stretches) back(i int) (stretch, bool) {
	if i >= len(s.ring) {
		return stretch{}, false
	}
	return s.ring[(s.n-1-i)%maxStretches], true
}

// firstActive returns the first instant since t at which g, which is active now, may have been
// active.
func (g *tracedGoroutine) firstActive(t timeline.Time) timeline.Time {
	first := g.since
	for i := range g.runs.n {
		s, ok := g.runs.back(i)
		if !ok {
			return t // too long ago
		}
		if s.end <= t {
			break
		}
		first = s.start
	}
	return max(first, t)
}

// heldFor returns the part of the time from a to b, which is now, in which g was not runnable.
func (g *tracedGoroutine) heldFor(a, b timeline.Time) timeline.Time {
	d := b - a
	for i := range g.gaps.n {
		s, ok := g.gaps.back(i)
		if !ok || s.end <= a {
			break
		}
		d -= s.end - max(s.start, a)
	}
	return d
}

// heldSince returns the instant since which g was not runnable for a total of d before b, which is
// now.
func (g *tracedGoroutine) heldSince(b, d timeline.Time) timeline.Time {
	for i := range g.gaps.n {
		s, ok := g.gaps.back(i)
		if !ok || b-s.end >= d {
			break
		}
		d -= b - s.end
		b = s.start
	}
	return b - d
}
