package granularity

// Tasks over time. The run is cut into bins of equal width, a power of two of
// ticks; each bin counts the tasks that ended in it and the time for which
// tasks were under way. When the run outgrows the bins, pairs of them are folded and the
// width doubles: the memory stays the same however long the run is.

const seriesBins = 512

// seriesShift is the first width of a bin: 2^22 ticks are 2 ms at 2 GHz.
const seriesShift = 22

// series counts the tasks of one class.
type series struct {
	shift uint // the width of a bin is 2 to the power of it
	bins  [seriesBins]seriesBin
}

type seriesBin struct {
	ended uint64
	busy  int64 // ticks
}

// add counts a task that ran from start to end, in ticks since the recorder began.
func (s *series) add(start, end int64) {
	if bin := uint64(end) >> s.shift; bin < seriesBins && uint64(start)>>s.shift == bin && start <= end {
		s.bins[bin].ended++ // as most do
		s.bins[bin].busy += end - start
		return
	}
	start = max(start, 0)
	end = max(end, start)
	for end>>s.shift >= seriesBins {
		s.fold()
	}
	last := end >> s.shift
	s.bins[last].ended++
	for bin := start >> s.shift; bin < last; bin++ {
		edge := (bin + 1) << s.shift
		s.bins[bin].busy += edge - start
		start = edge
	}
	s.bins[last].busy += end - start
}

// fold doubles the width of the bins.
func (s *series) fold() {
	for i := range seriesBins / 2 {
		a, b := s.bins[2*i], s.bins[2*i+1]
		s.bins[i] = seriesBin{a.ended + b.ended, a.busy + b.busy}
	}
	clear(s.bins[seriesBins/2:])
	s.shift++
}

// active returns the part of the bin in which at least one task was under way, at most: tasks at
// the same time count as one after the other.
func (s *series) active(bin int) float64 {
	return min(1, float64(s.bins[bin].busy)/float64(int64(1)<<s.shift))
}
