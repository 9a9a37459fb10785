package counters

import (
	"runtime/metrics"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Counters of the runtime are read every few milliseconds, for the whole process. A level is that
// of the last reading before the end of the quantum. What was allocated between two readings is
// divided among all the quanta of the program that ran between them, by overlap: interpolated, and
// coarse, since a trace does not tell who allocated.

// metricSample is one reading.
type metricSample struct {
	// Wall is in ns since 1970, and as long after the first one as the monotonic clock says,
	// even if the clock of the wall was set.
	Wall   int64    `json:"t"`
	Values []uint64 `json:"v"`
}

// runtimeMetric is a counter that comes from runtime/metrics.
type runtimeMetric struct {
	name  string // of the runtime
	unit  string
	level bool
}

var metricOf = map[string]runtimeMetric{
	"goroutines":         {"/sched/goroutines:goroutines", "", true},
	"heap-allocs":        {"/gc/heap/allocs:bytes", "bytes", false},
	"heap-alloc-objects": {"/gc/heap/allocs:objects", "", false},
}

// metricReader reads runtime metrics into samples.
type metricReader struct {
	buf     []metrics.Sample
	samples []metricSample
	start   time.Time
}

func newMetricReader(names []string) *metricReader {
	r := &metricReader{start: time.Now()}
	for _, n := range names {
		r.buf = append(r.buf, metrics.Sample{Name: metricOf[n].name})
	}
	return r
}

func (r *metricReader) read() {
	if len(r.buf) == 0 {
		return
	}
	metrics.Read(r.buf)
	s := metricSample{Wall: r.start.UnixNano() + int64(time.Since(r.start)), Values: make([]uint64, len(r.buf))}
	for i := range r.buf {
		if r.buf[i].Value.Kind() == metrics.KindUint64 {
			s.Values[i] = r.buf[i].Value.Uint64()
		}
	}
	r.samples = append(r.samples, s)
}

// addMetrics adds the counters of a session's readings.
func addMetrics(r *Recording, names []string, samples []metricSample) {
	if len(samples) == 0 || r.Start.IsZero() {
		return
	}
	zero := r.Start.UnixNano()
	for i, name := range names {
		m := metricOf[name]
		c := Counter{Name: name, Unit: m.unit, Level: m.level, Source: "runtime/metrics", Values: make([]int64, r.Len())}
		if m.level {
			c.Accuracy = Observed
			levelOfMetric(r, &c, i, zero, samples)
		} else {
			c.Accuracy = Interpolated
			divideMetric(r, &c, i, zero, samples)
		}
		r.Counters = append(r.Counters, c)
	}
}

func levelOfMetric(r *Recording, c *Counter, i int, zero int64, samples []metricSample) {
	ends := rowsByEnd(r)
	k := -1
	for _, row := range ends {
		for k+1 < len(samples) && samples[k+1].Wall-zero <= r.Begin[row]+r.Duration[row] {
			k++
		}
		c.Values[row] = Unknown
		if k >= 0 {
			c.Values[row] = clampInt(samples[k].Values[i])
		}
	}
}

// divideMetric divides what was counted between two readings among the quanta between them.
func divideMetric(r *Recording, c *Counter, i int, zero int64, samples []metricSample) {
	first, last := samples[0].Wall-zero, samples[len(samples)-1].Wall-zero
	for row := range c.Values {
		if r.Begin[row] < first || r.Begin[row]+r.Duration[row] > last {
			c.Values[row] = Unknown
		}
	}
	next, active := 0, []int32(nil)
	var divide rounding
	for k := 1; k < len(samples); k++ {
		from, to := samples[k-1].Wall-zero, samples[k].Wall-zero
		for next < r.Len() && r.Begin[next] < to {
			if r.Groups[r.Group[next]].Kind != timeline.GC { // the collector does not allocate from the heap
				active = append(active, int32(next))
			}
			next++
		}
		var parts []partOf
		var all int64
		left := active[:0]
		for _, row := range active {
			end := r.Begin[row] + r.Duration[row]
			if w := min(end, to) - max(r.Begin[row], from); w > 0 {
				parts = append(parts, partOf{row, w})
				all += w
			}
			if end > to {
				left = append(left, row)
			}
		}
		active = left
		d := int64(0)
		if a, b := samples[k-1].Values[i], samples[k].Values[i]; b > a {
			d = clampInt(b - a)
		}
		c.Total += d
		divide.share(c, d, parts, all)
	}
	c.settle()
}
