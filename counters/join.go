package counters

import (
	"cmp"
	"slices"
)

// Joining samples with quanta
//
// The records of the kernel say thread and time; the trace says which goroutine had which thread
// from when to when. Both times are of one clock, CLOCK_MONOTONIC: the trace ties its own to it
// once a generation, and is within 64 ns of it. So an event belongs to the quantum of its thread at
// its time, or to none: then it happened in the scheduler, or on a thread without a goroutine, and
// is a part of the counter's Remainder.
//
// The switches of a thread tell when it had a processor. The time that a quantum shares with
// that is its task-clock: what is left of its duration, the operating system took the thread away
// from the goroutine.

// joiner adds counters to a recording.
type joiner struct {
	rec    *Recording
	zero   int64 // the monotonic clock at the beginning of the recording
	meta   *meta
	rows   map[int64][]int32 // by thread: its rows in the order of time
	within []bool            // by row: whether it was counted meanwhile
}

func newJoiner(r *Recording, zero int64, m *meta) *joiner {
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

// column makes a counter that is 0 where it was counted, and Unknown elsewhere.
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

// settle sets the remainder: what of the total is in no quantum.
func (c *Counter) settle() {
	c.Remainder = c.Total
	for _, v := range c.Values {
		if v != Unknown {
			c.Remainder -= v
		}
	}
}

// join adds all counters of the samples.
func (j *joiner) join(s *samples) {
	for _, name := range j.meta.Switched {
		switch name {
		case taskClock:
			j.taskClock(s)
		case ctxSwitches:
			j.moments(s, ctxSwitches, "switches of threads", func(t *thread) []int64 { return leavings(t, false) })
		case preemptions:
			j.moments(s, preemptions, "switches of threads", func(t *thread) []int64 { return leavings(t, true) })
		case migrations:
			j.moments(s, migrations, "switches of threads", func(t *thread) []int64 { return t.moved })
		}
	}
	for n, e := range j.meta.Hits {
		c := j.moments(s, e.Name, e.source("every single event"), func(t *thread) []int64 { return t.hits[n] })
		c.Total = e.Total // as the kernel counted, with what was lost
		c.settle()
	}
	for n, events := range j.meta.Groups {
		j.uniform(s, n, events)
	}
	j.rec.Warnings = append(j.rec.Warnings, s.warnings()...)
}

func leavings(t *thread, preempted bool) (times []int64) {
	for _, l := range t.left {
		if l.preempted || !preempted {
			times = append(times, l.time)
		}
	}
	return times
}

// moments adds a counter of single moments of threads. Each belongs to the quantum that it falls
// into.
func (j *joiner) moments(s *samples, name, source string, of func(*thread) []int64) *Counter {
	c := j.column(Counter{Name: name, Source: source, Accuracy: Exact})
	for id, t := range s.threads {
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

// taskClock adds the time for which a quantum really had a processor.
func (j *joiner) taskClock(s *samples) {
	c := j.column(Counter{Name: taskClock, Unit: "ns", Source: "switches of threads", Accuracy: Exact})
	for id, rows := range j.rows {
		on := j.on(s.threads[id])
		for _, row := range rows {
			if c.Values[row] == Unknown {
				continue
			}
			from, to := j.span(row)
			for len(on) > 0 && on[0].to <= from {
				on = on[1:]
			}
			c.Values[row] = overlap(on, from, to)
		}
	}
	if j.meta.Clock != nil {
		c.Total = j.meta.Clock.Total
	} else {
		for _, t := range s.threads {
			for _, o := range t.on {
				c.Total += o.to - o.from
			}
		}
	}
	c.settle()
	j.add(c)
}

// on returns when a thread that executed quanta had a processor. One that was never switched had it
// all the time.
func (j *joiner) on(t *thread) []stretch {
	if t == nil || t.still {
		return []stretch{{j.meta.Begin, j.meta.End}}
	}
	return t.on
}

// overlap returns how much of a time is in stretches, which are in order.
func overlap(on []stretch, from, to int64) (sum int64) {
	for _, o := range on {
		if o.from >= to {
			break
		}
		sum += max(0, min(o.to, to)-max(o.from, from))
	}
	return sum
}

// later finds the first stretch that ends after a time.
func later(on []stretch, t int64) []stretch {
	i, _ := slices.BinarySearchFunc(on, t, func(o stretch, t int64) int {
		if o.to <= t {
			return -1
		}
		return cmp.Compare(1, 0)
	})
	return on[i:]
}
