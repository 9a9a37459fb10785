package bottle

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Latency is a histogram of scheduling latencies: how long goroutines of the application were ready
// each time until they ran. It has each latency of at least 1 ns whose beginning and end are in the
// trace; a latency belongs to the graph in which it ended. If only parts of the time are read, as
// with Options.During, latencies are cut at their bounds, as all intervals are. The runtime's
// metric /sched/latencies:seconds has the same buckets, but one in eight of the latencies, and also
// those of the runtime's goroutines.
type Latency struct {
	// Count is the number of latencies, Total their sum and Max the longest one.
	Count int64         `json:"count"`
	Total time.Duration `json:"total_ns"`
	Max   time.Duration `json:"max_ns"`
	// Cut is the number of latencies that are not included, because they began before the trace
	// or before a gap in it, or had not ended at the end.
	Cut int64 `json:"cut"`
	// Buckets are the numbers of latencies by length, without empty ones at the end. Bucket i has
	// those from LatencyBound(i-1) to below LatencyBound(i).
	Buckets []int64 `json:"buckets"`
}

// latencyBuckets is the number of buckets. The last one is for latencies of more than 39 hours.
const latencyBuckets = 161

// latencyBucket returns the bucket of a latency: the four quarters of the powers of two from 256 ns
// on, and four buckets of 64 ns below.
func latencyBucket(d time.Duration) int {
	if d < 256 {
		return int(max(d, 0) >> 6)
	}
	n := bits.Len64(uint64(d))
	return min(4*(n-8)+int(d>>(n-3))&3, latencyBuckets-1)
}

// LatencyBound returns the end of bucket i of a [Latency].
func LatencyBound(i int) time.Duration {
	if i++; i < 4 {
		return time.Duration(i) << 6
	}
	return time.Duration(4+i%4) << (i/4 + 5)
}

// inThePast is the beginning of a state that began before the trace, or before or in a gap.
const inThePast = math.MinInt64

// observe adds the interval from began to the transition, if it is a latency.
func (l *Latency) observe(t *timeline.Transition, began timeline.Time) {
	switch d := time.Duration(t.End - began); {
	case t.State != timeline.Runnable || t.G.Kind != timeline.Application || t.End == began:
	case began == inThePast || t.To == timeline.Unknown:
		l.Cut++
	default:
		l.Count++
		l.Total += d
		l.Max = max(l.Max, d)
		i := latencyBucket(d)
		l.grow(i + 1)
		l.Buckets[i]++
	}
}

// grow makes room for n buckets.
func (l *Latency) grow(n int) {
	if n > len(l.Buckets) {
		l.Buckets = append(l.Buckets, make([]int64, n-len(l.Buckets))...)
	}
}

// add adds each latency of another histogram n times.
func (l *Latency) add(o *Latency, n int) {
	l.Count += int64(n) * o.Count
	l.Total += time.Duration(n) * o.Total
	l.Max = max(l.Max, o.Max)
	l.Cut += int64(n) * o.Cut
	l.grow(len(o.Buckets))
	for i, in := range o.Buckets {
		l.Buckets[i] += int64(n) * in
	}
}

// Quantile returns an upper bound of the latency that the share q of all does not exceed: the end
// of its bucket, at most a quarter more, from 256 ns on. It returns 0 if there is no latency.
func (l *Latency) Quantile(q float64) time.Duration {
	left := q * float64(l.Count)
	for i, n := range l.Buckets {
		if left -= float64(n); left <= 0 && n > 0 {
			return min(LatencyBound(i), l.Max)
		}
	}
	return l.Max
}

// String returns the median, the 99th percentile and the maximum as a sentence, or "" without any.
func (l *Latency) String() string {
	if l.Count == 0 {
		return ""
	}
	return fmt.Sprintf("Goroutines of the application were ready %s until they ran: at most %s in half of the cases, %s in 99%% of them, %s in all.",
		format.Plural(l.Count, "time", "times"), format.Duration(l.Quantile(0.5)), format.Duration(l.Quantile(0.99)), format.Duration(l.Max))
}

// checkValid returns an error if the numbers contradict each other.
func (l *Latency) checkValid() error {
	for _, n := range []int64{l.Count, int64(l.Total), int64(l.Max), l.Cut} {
		if n < 0 || n > math.MaxInt64/2 {
			return fmt.Errorf("latency: a time or number is out of range: %d", n)
		}
	}
	if l.Max > l.Total || len(l.Buckets) > latencyBuckets {
		return fmt.Errorf("latency: the longest is %d ns of %d, in %d buckets", l.Max, l.Total, len(l.Buckets))
	}
	left := l.Count
	for _, n := range l.Buckets {
		if n < 0 || n > left {
			return fmt.Errorf("latency: the buckets do not sum to the count, %d", l.Count)
		}
		left -= n
	}
	if left != 0 {
		return fmt.Errorf("latency: %d of %d are in no bucket", left, l.Count)
	}
	return nil
}
