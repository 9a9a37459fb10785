package granularity

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/series"
)

// Quantiles are within 1 % of those of the sorted values, for all distributions. Sums, extremes
// and counts are exact.
func TestHistogramAgainstSortedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() uint64{
		"constant":    func() uint64 { return 12345 },
		"small":       func() uint64 { return rng.Uint64N(100) },
		"uniform":     func() uint64 { return rng.Uint64N(1e6) },
		"exponential": func() uint64 { return uint64(rng.ExpFloat64() * 1e5) },
		"wide":        func() uint64 { return uint64(math.Exp(rng.Float64() * 32)) },
		"two peaks":   func() uint64 { return []uint64{300, 7e6}[rng.IntN(2)] + rng.Uint64N(50) },
	} {
		var h, even, odd Histogram
		var all []uint64
		var sum float64
		for i := range 20000 {
			v := draw()
			all = append(all, v)
			sum += float64(v)
			h.Add(v)
			[]*Histogram{&even, &odd}[i%2].Add(v)
		}
		slices.Sort(all)
		even.Merge(&odd)
		for _, got := range []*Histogram{&h, &even} {
			for _, q := range []float64{0, .01, .25, .5, .75, .9, .99, .999, 1} {
				want := float64(all[min(max(int(math.Ceil(q*20000))-1, 0), 19999)])
				if v := got.Quantile(q); math.Abs(v-want) > 0.01*want+0.5 {
					t.Errorf("%s: quantile %g is %g, want %g within 1 %%", name, q, v, want)
				}
			}
			if got.Count() != 20000 || got.Min() != all[0] || got.Max() != all[19999] || math.Abs(got.Sum()/sum-1) > 1e-12 {
				t.Errorf("%s: count %d, min %d, max %d, sum %g; want 20000, %d, %d, %g", name, got.Count(), got.Min(), got.Max(), got.Sum(), all[0], all[19999], sum)
			}
			checkCDF(t, name, got, all)
		}
	}
}

// point is a point of a distribution.
type point struct{ Value, Fraction float64 }

func pointsOf(h *Histogram) (points []point) {
	for value, fraction := range h.CDF() {
		points = append(points, point{value, fraction})
	}
	return points
}

// checkCDF compares each point of the distribution with a count.
func checkCDF(t *testing.T, name string, h *Histogram, sorted []uint64) {
	t.Helper()
	points := pointsOf(h)
	if p := points[len(points)-1]; p.Fraction != 1 || p.Value != float64(sorted[len(sorted)-1]) {
		t.Errorf("%s: the distribution ends at %+v; want everything at %d", name, p, sorted[len(sorted)-1])
	}
	for i, p := range points[1:] {
		if p.Value <= points[i].Value || p.Fraction < points[i].Fraction {
			t.Fatalf("%s: the distribution falls from %+v to %+v", name, points[i], p)
		}
		n, _ := slices.BinarySearch(sorted, uint64(p.Value)+1)
		if want := float64(n) / float64(len(sorted)); math.Abs(want-p.Fraction) > 1e-9 {
			t.Fatalf("%s: %g of the values are at most %g; want %g", name, p.Fraction, p.Value, want)
		}
	}
}

func TestHistogramBuckets(t *testing.T) {
	for _, v := range []uint64{0, 1, 63, 64, 65, 127, 128, 129, 1000, 1 << 20, 1<<20 - 1, 1<<63 + 5, math.MaxUint64} {
		p, slot := bucket(v)
		lo, hi := bounds(p, slot)
		if v < lo || v > hi {
			t.Errorf("%d is counted in [%d, %d]", v, lo, hi)
		}
		if v < 128 && lo != hi || float64(hi-lo)/2 > 0.008*float64(lo)+0.01 {
			t.Errorf("the bucket of %d is too wide: [%d, %d]", v, lo, hi)
		}
	}
}

func TestHistogramEmpty(t *testing.T) {
	var h, other Histogram
	h.Merge(&other)
	if h.Quantile(.5) != 0 || h.Mean() != 0 || pointsOf(&h) != nil || h.Count() != 0 {
		t.Errorf("an empty histogram has numbers: %+v", h)
	}
	h.Add(7)
	if h.Quantile(.5) != 7 || len(pointsOf(&h)) != 1 {
		t.Errorf("one value: median %g, distribution %v", h.Quantile(.5), pointsOf(&h))
	}
}

func TestHistogramBucketsInUse(t *testing.T) {
	var h Histogram
	h.AddN(7, 3)
	h.Add(1000)
	h.Add(1003)
	if got, want := maps.Collect(h.Buckets()), (map[uint64]uint64{7: 3, 1001: 2}); !maps.Equal(got, want) {
		t.Errorf("buckets %v; want %v", got, want)
	}
}

func TestHistogramMemory(t *testing.T) {
	var h Histogram
	for e := range 64 {
		h.Add(1 << e)
		h.Add(1<<e + 1<<e/3)
	}
	if n := len(h.pages); n > 59 {
		t.Errorf("%d pages of 512 B; want at most 59", n)
	}
}

// Bins keep tasks and time however often they are folded.
func TestSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s := &series.Series{Shift: seriesShift}
	var busy int64
	for range 3000 {
		start := rng.Int64N(1 << 36)
		length := int64(math.Exp(rng.Float64() * 22))
		s.Add(start, start+length, 1)
		busy += length
	}
	var ended uint64
	var sum int64
	for _, b := range s.Bins {
		ended += b.Ended
		sum += b.Busy
	}
	if ended != 3000 || sum != busy {
		t.Errorf("%d tasks, %d ticks in the bins; want 3000, %d", ended, sum, busy)
	}
	if s.Shift <= seriesShift {
		t.Error("a long run did not widen the bins")
	}
}

func TestSeriesBins(t *testing.T) {
	const bin = int64(1) << seriesShift
	s := &series.Series{Shift: seriesShift}
	s.Add(0, 2*bin, 1)                 // two whole bins
	s.Add(3*bin, 3*bin+bin/2, 1)       // half a bin …
	s.Add(3*bin+bin/4, 3*bin+bin/2, 1) // … and a quarter
	s.Add(4*bin, 5*bin-1, 1)
	s.Add(4*bin, 5*bin-1, 1)
	busy := []float64{1, 1, 0, 0.75, 2}
	s.Each(4*bin+bin/2, func(i int, start, end int64) {
		if math.Abs(float64(s.Bins[i].Busy)/float64(bin)-busy[i]) > 1e-6 {
			t.Errorf("bin %d is busy for %d ticks; want %g of %d", i, s.Bins[i].Busy, busy[i], bin)
		}
		if i > 4 || start != int64(i)*bin || end != min(start+bin, 4*bin+bin/2) {
			t.Errorf("bin %d is from %d to %d", i, start, end)
		}
	})
	if s.Bins[3].Ended != 2 || s.Bins[2].Ended != 1 {
		t.Errorf("tasks ended in bins 2 and 3: %d, %d; want 1, 2", s.Bins[2].Ended, s.Bins[3].Ended)
	}
}

// TestHistogramBinary: what AppendBinary wrote gives an equal histogram, and nothing else does.
func TestHistogramBinary(t *testing.T) {
	var empty, some, read Histogram
	for v := uint64(1); v < 1e12; v = v*3 + 7 {
		some.AddN(v, 1+v%5)
	}
	for _, h := range []*Histogram{&empty, &some} {
		data, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		read.Add(1)
		if err := read.UnmarshalBinary(data); err != nil || !slices.Equal(pointsOf(&read), pointsOf(h)) || read.Sum() != h.Sum() || read.Min() != h.Min() || read.Count() != h.Count() {
			t.Errorf("%d values, sum %v: %v", read.Count(), read.Sum(), err)
		}
		for n := 1; n < len(data); n++ {
			if err := read.UnmarshalBinary(data[:n]); err == nil {
				t.Errorf("the first %d of %d bytes are a histogram", n, len(data))
			}
		}
	}
}

// A packed histogram has the same values, and changes of a copy do not change it.
func TestHistogramPacked(t *testing.T) {
	var h, more Histogram
	for v := uint64(1); v < 1e12; v = v*3 + 7 {
		h.AddN(v, 1+v%5)
		more.Add(v / 2)
	}
	packed := h
	packed.pack()
	same := func(what string, got, want *Histogram) {
		t.Helper()
		if !slices.Equal(pointsOf(got), pointsOf(want)) || got.Count() != want.Count() || got.Sum() != want.Sum() || got.Min() != want.Min() || got.Max() != want.Max() {
			t.Errorf("%s: %v; want %v", what, pointsOf(got), pointsOf(want))
		}
	}
	same("packed", &packed, &h)
	var sum, want Histogram
	sum.Merge(&packed)
	same("merged into an empty one", &sum, &h)
	sum.Merge(&more)
	want.Merge(&h)
	want.Merge(&more)
	same("merged", &sum, &want)
	same("the packed one afterwards", &packed, &h)
	later := sum.since(packed)
	if later.Count() != more.Count() || later.Sum() != more.Sum() {
		t.Errorf("%d values were added, of the sum %v; want %d, %v", later.Count(), later.Sum(), more.Count(), more.Sum())
	}
	few := packed
	few.drop(3)
	if few.Count() != h.Count()-3 {
		t.Errorf("%d values are left of %d", few.Count(), h.Count())
	}
	same("the packed one at last", &packed, &h)
}
