package counters

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Dividing uniform counters
//
// A group of counters is read now and then: whenever its thread leaves a processor, if the kernel
// permits that, and once a period while it has one. What was counted between two readings is
// divided among the quanta that the thread executed meanwhile, and what it did without a goroutine,
// by the time for which they had a processor: counters of a thread stand still without one. It is
// as if the counter had grown evenly between the readings, so the result is interpolated; the
// longer a quantum lasts, the more of it is as read. Shares are whole numbers: what rounding takes
// from one is carried to the next, so that they add up to what was read.

// uniform adds the counters of a group.
func (j *joiner) uniform(s *samples, group int, events []eventMeta) {
	cols := make([]*Counter, len(events))
	how := j.meta.readings()
	for i, e := range events {
		c := Counter{Name: e.Name, Source: e.source(how), Accuracy: Interpolated}
		if e.Name == taskClock {
			c.Unit = "ns"
		}
		c.Values = make([]int64, j.rec.Len())
		for row := range c.Values {
			c.Values[row] = Unknown
		}
		cols[i] = &c
	}
	scaled := 1.0
	for id, t := range s.threads {
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
		j.rec.Warnings = append(j.rec.Warnings, fmt.Sprintf("%s shared the hardware with other counters and counted for as little as %.0f %% of the time: they are scaled up, as if the rest had been the same.", namesOf(events), 100*scaled))
	}
}

// readings says when groups were read.
func (m *meta) readings() string {
	how := "readings of the thread's counter"
	if m.AtSwitches {
		how += " at switches"
	}
	return how + " and every " + time.Duration(m.Period).String()
}

func namesOf(events []eventMeta) (s string) {
	for i, e := range events {
		if i > 0 {
			s += ", "
		}
		s += e.Name
	}
	return s
}

// divide divides what one thread's readings say. It returns the smallest part of the time for which
// the events really counted, 1 if always.
func (j *joiner) divide(cols []*Counter, t *thread, group int, rows []int32) (scaled float64) {
	rs := t.readings[group]
	scaled = 1
	if len(rs) < 2 {
		return scaled
	}
	first, last := rs[0].time, rs[len(rs)-1].time
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
			if _, to := j.span(rows[0]); to > a.time {
				break
			}
			rows = rows[1:]
		}
		enabled, running := b.enabled-a.enabled, b.running-a.running
		if b.enabled > a.enabled && running < enabled {
			scaled = min(scaled, float64(running)/float64(enabled))
		}
		parts, all := j.parts(t, a.time, b.time, rows)
		for i, c := range cols {
			d := delta(a.values[i], b.values[i], enabled, running)
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

// parts returns how the time between two readings, as far as the thread had a processor, is divided
// among rows.
func (j *joiner) parts(t *thread, from, to int64, rows []int32) (parts []partOf, all int64) {
	on := later(j.on(t), from)
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

// fractionBits is the precision of what rounding carries on.
const fractionBits = 16

// rounding is where the next division begins to round, in units of 2^-16: another place each time,
// evenly spread, so that small shares, which are mostly rounded to nothing, get their due on
// average. It is not random: the same samples give the same shares.
type rounding int64

// share divides d among the parts of all; what is left belongs to no row.
//
// With E the exact share of the parts so far and c what rounding has left over, the next part gets
// the whole number in its difference of E and c, and c is what remains. E ends at d, a whole
// number: so c ends where it began, and all sums are exact.
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

// delta is the change of a counter between two readings, scaled if it shared the hardware
// meanwhile.
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
