// Package series counts tasks over time in bounded memory.
//
// The run is cut into bins of equal width, a power of two of ticks. When the run outgrows the bins,
// pairs of them are folded and the width doubles.
package series

// Bins is how many bins there are.
const Bins = 256

// Series counts the tasks of one class.
type Series struct {
	Shift uint // the width of a bin is 2 to the power of it
	Bins  [Bins]Bin
}

// Bin is a stretch of the run.
type Bin struct {
	Ended uint64
	Busy  int64 // ticks
}

// Add counts n tasks that ran from start to end, in ticks since the recorder began.
func (s *Series) Add(start, end int64, n uint64) {
	if bin := uint64(end) >> s.Shift; bin < Bins && uint64(start)>>s.Shift == bin && start <= end {
		s.Bins[bin].Ended += n // as most do
		s.Bins[bin].Busy += (end - start) * int64(n)
		return
	}
	start = max(start, 0)
	end = max(end, start)
	for end>>s.Shift >= Bins {
		s.Fold()
	}
	last := end >> s.Shift
	s.Bins[last].Ended += n
	for bin := start >> s.Shift; bin < last; bin++ {
		edge := (bin + 1) << s.Shift
		s.Bins[bin].Busy += (edge - start) * int64(n)
		start = edge
	}
	s.Bins[last].Busy += (end - start) * int64(n)
}

// Each calls f for the bins of a run of that length, in ticks. The last one ends with the run.
func (s *Series) Each(length int64, f func(i int, start, end int64)) {
	width := int64(1) << s.Shift
	for i := int64(0); i < Bins && i*width < length; i++ {
		f(int(i), i*width, min((i+1)*width, length))
	}
}

// Fold doubles the width of the bins.
func (s *Series) Fold() {
	for i := range Bins / 2 {
		a, b := s.Bins[2*i], s.Bins[2*i+1]
		s.Bins[i] = Bin{a.Ended + b.Ended, a.Busy + b.Busy}
	}
	clear(s.Bins[Bins/2:])
	s.Shift++
}
