package quanta

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Joining samples with quanta
//
// The kernel's records contain thread and time; the trace contains the intervals in which a
// goroutine had a thread. Both use the same clock, CLOCK_MONOTONIC, with an error of at most 64 ns.
// So an event belongs to the quantum of its thread at its time or, if it happened in the scheduler
// or on a thread without a goroutine, to the counter's Remainder.
//
// The switches of a thread determine when it had a processor. The part of a quantum in which its
// thread had one is its task-clock; in the rest of its duration, the operating system had
// descheduled the thread.

// joiner adds counters to a recording.
type joiner struct {
	rec    *Recording
	zero   int64 // monotonic clock at the beginning of the recording
	meta   *archive.Meta
	rows   map[int64][]int32 // rows in the order of time, by thread
	within []bool            // whether counting covered the whole row, by row
}

func newJoiner(r *Recording, zero int64, m *archive.Meta) *joiner {
	j := &joiner{rec: r, zero: zero, meta: m, rows: map[int64][]int32{}, within: make([]bool, r.Len())}
	for i := range r.Len() {
		if th := r.Thread[i]; th >= 0 {
			j.rows[th] = append(j.rows[th], int32(i))
			from, to := j.span(int32(i))
			j.within[i] = from >= m.Begin && to <= m.End
		}
	}
	return j
}

// span returns the time of a row by the monotonic clock.
func (j *joiner) span(row int32) (from, to int64) {
	from = j.zero + j.rec.Begin[row]
	return from, from + j.rec.Duration[row]
}

// column returns a counter that is 0 in rows that were counted, and Unknown in others.
func (j *joiner) column(c Counter) *Counter {
	c.Values = make([]int64, j.rec.Len())
	for i, ok := range j.within {
		if !ok {
			c.Values[i] = Unknown
		}
	}
	return &c
}

func (j *joiner) add(c *Counter) { j.rec.Counters = append(j.rec.Counters, *c) }

// settle sets the remainder: the part of the total that is in no quantum.
func (c *Counter) settle() {
	c.Remainder = c.Total
	for _, v := range c.Values {
		if v != Unknown {
			c.Remainder -= v
		}
	}
}

// join adds all counters of the samples.
func (j *joiner) join(s *archive.Samples) {
	const source = "switches of threads"
	for _, name := range j.meta.Switched {
		switch name {
		case archive.TaskClock:
			j.taskClock(s, source)
		case archive.CtxSwitches, archive.Preemptions:
			j.moments(s, name, source, func(t *archive.Thread) []int64 { return t.Leavings(name == archive.Preemptions) })
		case archive.Migrations:
			j.moments(s, name, source, func(t *archive.Thread) []int64 { return t.Moved })
		}
	}
	for n, e := range j.meta.Hits {
		c := j.moments(s, e.Name, e.From("every single event"), func(t *archive.Thread) []int64 { return t.Hits[n] })
		c.Total = e.Total // the kernel's count, including lost records
		c.settle()
	}
	for n, events := range j.meta.Groups {
		j.uniform(s, n, events)
	}
	j.rec.Warnings = append(j.rec.Warnings, s.Warnings()...)
}

// moments adds a counter of single events of threads. Each event belongs to the quantum in which it
// happened.
func (j *joiner) moments(s *archive.Samples, name, source string, of func(*archive.Thread) []int64) *Counter {
	c := j.column(Counter{Name: name, Source: source, Accuracy: Exact})
	for id, t := range s.Threads {
		times := of(t)
		c.Total += int64(len(times))
		rows := j.rows[id]
		for _, at := range times {
			for len(rows) > 0 {
				if _, to := j.span(rows[0]); to > at {
					break
				}
				rows = rows[1:]
			}
			if len(rows) == 0 {
				break
			}
			if from, _ := j.span(rows[0]); from <= at && c.Values[rows[0]] != Unknown {
				c.Values[rows[0]]++
			}
		}
	}
	c.settle()
	j.add(c)
	return &j.rec.Counters[len(j.rec.Counters)-1]
}

// taskClock adds the counter archive.TaskClock, the time in which a quantum really had a processor.
func (j *joiner) taskClock(s *archive.Samples, source string) {
	c := j.column(Counter{Name: archive.TaskClock, Unit: "ns", Source: source, Accuracy: Exact})
	for id, rows := range j.rows {
		on := j.on(s.Threads[id])
		for _, row := range rows {
			if c.Values[row] == Unknown {
				continue
			}
			from, to := j.span(row)
			for len(on) > 0 && on[0].To <= from {
				on = on[1:]
			}
			c.Values[row] = overlap(on, from, to)
		}
	}
	if j.meta.Clock != nil {
		c.Total = j.meta.Clock.Total
	} else {
		for _, t := range s.Threads {
			for _, o := range t.On {
				c.Total += o.To - o.From
			}
		}
	}
	c.settle()
	j.add(c)
}

// on returns when a thread that executed quanta had a processor. A thread that was never switched
// had one all the time.
func (j *joiner) on(t *archive.Thread) []archive.Stretch {
	if t == nil || t.Still {
		return []archive.Stretch{{From: j.meta.Begin, To: j.meta.End}}
	}
	return t.On
}

// overlap returns how much of an interval is in stretches, which are in order.
func overlap(on []archive.Stretch, from, to int64) (sum int64) {
	for _, o := range on {
		if o.From >= to {
			break
		}
		sum += max(0, min(o.To, to)-max(o.From, from))
	}
	return sum
}

// Dividing uniform counters
//
// A group of counters is read when its thread leaves a processor, if the kernel permits that, and
// once a period while the thread has one. The count between two readings is divided among the
// quanta that the thread executed between them, and its time without a goroutine, in proportion to
// the time on a processor, as if the counter had grown evenly. Shares are integers: rounding errors
// are carried to the next share, so that the shares add up to the count.

// uniform adds the counters of a group.
func (j *joiner) uniform(s *archive.Samples, group int, events []archive.Event) {
	cols := make([]*Counter, len(events))
	how := readings(j.meta)
	for i, e := range events {
		c := Counter{Name: e.Name, Source: e.From(how), Accuracy: Interpolated}
		if e.Name == archive.TaskClock {
			c.Unit = "ns"
		}
		c.Values = slices.Repeat([]int64{Unknown}, j.rec.Len())
		cols[i] = &c
	}
	scaled := 1.0
	for id, t := range s.Threads {
		scaled = min(scaled, j.divide(cols, t, group, j.rows[id]))
	}
	for i, c := range cols {
		if scaled >= 0.99 {
			c.Total = events[i].Total
		}
		c.settle()
		j.add(c)
	}
	if scaled < 0.99 {
		j.rec.Warnings = append(j.rec.Warnings, fmt.Sprintf("%s shared the hardware with other counters and counted for as little as %.0f %% of the time: they are scaled up, as if the rest had been the same.", archive.Names(events), 100*scaled))
	}
}

// readings returns a description of when groups were read.
func readings(m *archive.Meta) string {
	how := "readings of the thread's counter"
	if m.AtSwitches {
		how += " at switches"
	}
	return how + " and every " + time.Duration(m.Period).String()
}

// divide divides the counts of one thread's readings. It returns the smallest part of the time for
// which the events were really counted, 1 if always.
func (j *joiner) divide(cols []*Counter, t *archive.Thread, group int, rows []int32) (scaled float64) {
	rs := t.Readings[group]
	scaled = 1
	if len(rs) < 2 {
		return scaled
	}
	first, last := rs[0].Time, rs[len(rs)-1].Time
	for _, row := range rows {
		if from, to := j.span(row); from >= first && to <= last {
			for _, c := range cols {
				c.Values[row] = 0
			}
		}
	}
	roundings := make([]rounding, len(cols))
	for k := 1; k < len(rs); k++ {
		a, b := &rs[k-1], &rs[k]
		for len(rows) > 0 {
			if _, to := j.span(rows[0]); to > a.Time {
				break
			}
			rows = rows[1:]
		}
		enabled, running := b.Enabled-a.Enabled, b.Running-a.Running
		if b.Enabled > a.Enabled && running < enabled {
			scaled = min(scaled, float64(running)/float64(enabled))
		}
		parts, all := j.parts(t, a.Time, b.Time, rows)
		for i, c := range cols {
			d := delta(a.Values[i], b.Values[i], enabled, running)
			c.Total += d
			roundings[i].share(c, d, parts, all)
		}
	}
	return scaled
}

// partOf is the time that a row had a processor between two readings.
type partOf struct {
	row  int32
	time int64
}

// parts divides the time in which the thread had a processor between two readings among rows.
func (j *joiner) parts(t *archive.Thread, from, to int64, rows []int32) (parts []partOf, all int64) {
	on := j.on(t)
	on = on[sort.Search(len(on), func(i int) bool { return on[i].To > from }):]
	all = overlap(on, from, to)
	for _, row := range rows {
		a, b := j.span(row)
		if a >= to {
			break
		}
		if w := overlap(on, max(a, from), min(b, to)); w > 0 {
			parts = append(parts, partOf{row, w})
		}
	}
	return parts, all
}

// fractionBits is the precision of the rounding carry.
const fractionBits = 16

// rounding is the initial rounding error of the next division, in units of 2^-16. It differs each
// time, evenly spread, so that small shares, which mostly round to zero, are correct on average. It
// is not random: the same samples give the same shares.
type rounding int64

// share divides d among the parts of all; the rest belongs to no row.
//
// With E the exact share of the parts so far and c the rounding carry, the next part gets the whole
// number in its difference of E and c, and c is the remainder. E ends at d, an integer, so c ends
// where it began, and all sums are exact.
func (k *rounding) share(c *Counter, d int64, parts []partOf, all int64) {
	const golden = 0x9E37 // of 2^16: multiples of the golden ratio are spread most evenly
	*k = (*k + golden) & (1<<fractionBits - 1)
	over := int64(*k)
	d = min(d, 1<<(62-fractionBits)) // no counter counts more between two readings
	var time, exact int64
	for _, p := range parts {
		time += p.time
		upTo := muldiv(d<<fractionBits, min(time, all), all)
		have := upTo - exact + over
		exact, over = upTo, have&(1<<fractionBits-1)
		if c.Values[p.row] != Unknown {
			c.Values[p.row] += have >> fractionBits
		}
	}
}

// muldiv returns a·b/c, rounded down, for 0 ≤ b ≤ c.
func muldiv(a, b, c int64) int64 {
	if c <= 0 || a <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

// delta returns the change of a counter between two readings, scaled up if it shared the hardware.
func delta(a, b, enabled, running uint64) int64 {
	if b <= a {
		return 0
	}
	d := b - a
	if running > 0 && running < enabled-enabled/100 {
		d = uint64(float64(d) * float64(enabled) / float64(running))
	}
	return int64(min(d, math.MaxInt64/2))
}

// Counters of the runtime
//
// They are read every few milliseconds, for the whole process. A level is that of the last reading
// before the end of the quantum. Allocations between two readings are divided among all quanta of
// the program between them, by overlap: a trace does not identify the goroutines that allocate.

// addMetrics adds the counters of a session's readings.
func addMetrics(r *Recording, names []string, samples []archive.MetricSample) {
	if len(samples) == 0 || r.Start.IsZero() {
		return
	}
	zero := r.Start.UnixNano()
	for i, name := range names {
		m := archive.Metrics[name]
		c := Counter{Name: name, Unit: m.Unit, Level: m.Level, Source: "runtime/metrics", Values: make([]int64, r.Len())}
		if m.Level {
			c.Accuracy = Observed
			for row := range c.Values {
				end := r.Begin[row] + r.Duration[row]
				after := sort.Search(len(samples), func(k int) bool { return samples[k].Wall-zero > end })
				if c.Values[row] = Unknown; after > 0 {
					c.Values[row] = archive.Clamp(samples[after-1].Values[i])
				}
			}
		} else {
			c.Accuracy = Interpolated
			divideMetric(r, &c, i, zero, samples)
		}
		r.Counters = append(r.Counters, c)
	}
}

// divideMetric divides the count between two readings among the quanta between them.
func divideMetric(r *Recording, c *Counter, i int, zero int64, samples []archive.MetricSample) {
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
			// The collector does not allocate from the heap.
			if r.Groups[r.Group[next]].Kind != timeline.GC {
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
			d = archive.Clamp(b - a)
		}
		c.Total += d
		divide.share(c, d, parts, all)
	}
	c.settle()
}
