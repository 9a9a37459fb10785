package tracewaits

import "github.com/bottleneck-go/bottleneck/timeline"

// stretch is a time in which a goroutine was in one state, or in one of several states.
type stretch struct{ start, end timeline.Time }

// firstActive returns the first instant since t at which the goroutine, which is active now, may
// have been active.
func (p *past) firstActive(t timeline.Time) timeline.Time {
	first, end := p.end, p.end
	for i := len(p.segs) - 1; end > t; i-- {
		if i < 0 {
			if end > p.first {
				return t // too long ago
			}
			break
		}
		if end = p.start(i); p.segs[i].active() {
			first = end
		}
	}
	return max(first, t)
}

// activeSince returns the instant since which the goroutine, which is active now, has been active.
func (p *past) activeSince() timeline.Time {
	i := len(p.segs)
	for i > 0 && p.segs[i-1].active() {
		i--
	}
	if i < len(p.segs) {
		return p.start(i)
	}
	return p.end
}

// ranSince returns how long the goroutine ran from t to its latest transition; some time over most
// if that is longer.
func (p *past) ranSince(t, most timeline.Time) (ran timeline.Time) {
	end := p.end
	for i := len(p.segs) - 1; i >= 0 && end > t && ran <= most; i-- {
		start := p.start(i)
		if p.segs[i].did() == doingRunning {
			ran += end - max(start, t)
		}
		end = start
	}
	return ran
}

// heldFor returns the part of the time from a to b, which is now, in which the goroutine was not
// runnable: for the rest, neither it nor what it waited for was to blame.
func (p *past) heldFor(a, b timeline.Time) timeline.Time {
	d, end := b-a, p.end
	for i := len(p.segs) - 1; i >= 0 && end > a; i-- {
		start := p.start(i)
		if p.segs[i].did() == doingRunnable {
			d -= end - max(start, a)
		}
		end = start
	}
	return d
}

// heldSince returns the instant since which the goroutine was not runnable for a total of d before
// b, which is now.
func (p *past) heldSince(b, d timeline.Time) timeline.Time {
	end := p.end
	for i := len(p.segs) - 1; i >= 0 && b-end < d; i-- {
		start := p.start(i)
		if p.segs[i].did() == doingRunnable {
			d -= b - end
			b = start
		}
		end = start
	}
	return b - d
}
