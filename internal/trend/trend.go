// Package trend decides whether the memory of a long-running program is flat.
package trend

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Trend describes a measure after the first quarter of the time, in which windows and buffers fill.
// All values are in bytes.
type Trend struct {
	N          int
	Least, Max float64
	Growth     float64 // from the first to the last measurement, by the median of the slopes between any two (Theil and Sen)
	Low, High  float64 // its 95 % confidence interval, by Kendall's test
	Span       time.Duration
}

// Of returns the trend of measurements at equal intervals.
func Of(v []uint64, every time.Duration) Trend {
	v = v[len(v)/4:]
	t := Trend{N: len(v), Span: every * time.Duration(max(0, len(v)-1))}
	if len(v) == 0 {
		return t
	}
	t.Least, t.Max = float64(slices.Min(v)), float64(slices.Max(v))
	var slopes []float64
	for i := range v {
		for j := range i {
			slopes = append(slopes, (float64(v[i])-float64(v[j]))/float64(i-j))
		}
	}
	if len(slopes) > 0 {
		slices.Sort(slopes)
		n, last := float64(len(v)), len(slopes)-1
		cut := int((float64(len(slopes)) - 1.96*math.Sqrt(n*(n-1)*(2*n+5)/18)) / 2)
		cut = max(0, min(cut, last/2))
		t.Growth, t.Low, t.High = slopes[len(slopes)/2]*(n-1), slopes[cut]*(n-1), slopes[last-cut]*(n-1)
	}
	return t
}

// Flat reports whether the growth may be below a tenth of the smallest measurement, or below 4 MB.
func (t Trend) Flat() bool { return t.Low <= max(t.Least/10, 4<<20) }

func (t Trend) String() string {
	return fmt.Sprintf("%.1f to %.1f MB in %d measurements over %v after the first quarter, trend %+.1f MB in that time (95 %%: %+.1f to %+.1f)", t.Least/1e6, t.Max/1e6, t.N, t.Span, t.Growth/1e6, t.Low/1e6, t.High/1e6)
}
