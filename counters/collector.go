package counters

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// collector collects the kernel's records of a process until it is stopped.
type collector struct {
	plan    plan
	sampler *perfevent.Sampler // nil if there is nothing to sample, or nothing could be sampled
	meta    archive.Meta
	enc     archive.Encoder
	buf     []byte
	n       int64 // total bytes
	max     int64
	write   func([]byte) error // consumes a buffer that is full enough; nil keeps all data
	err     error
	late    int           // threads whose groups were opened late
	pause   time.Duration // time between reads of the rings
}

const flushBytes = 1 << 18

func newCollector(p plan, warnings []string, max int64) *collector {
	return &collector{plan: p, max: max, meta: archive.Meta{Format: archive.Format, Start: time.Now().Round(0), System: runtime.GOOS + "/" + runtime.GOARCH, Warnings: warnings}}
}

// open begins to count. It adds refused events to meta.Warnings.
func (c *collector) open(pid int, period time.Duration) {
	if period <= 0 {
		period = time.Millisecond
	}
	if !c.plan.sampled() {
		return
	}
	opt := perfevent.SamplerOptions{PID: pid, Hits: c.plan.hits, Group: c.plan.group, Period: period}
	s, refused, err := perfevent.NewSampler(opt)
	if err != nil {
		c.warn("%s: not counted: %s.", strings.Join(c.plan.names(), ", "), perfevent.Reason(perfevent.Spec{}, err))
		return
	}
	c.refuse(refused)
	c.sampler = s
	c.meta.Begin = now() // every thread is followed from here on
	c.meta.Switched, c.meta.Hits = c.plan.switched, eventsOf(s.Hits())
	for _, g := range s.Groups() {
		c.meta.Groups = append(c.meta.Groups, eventsOf(g))
	}
	c.meta.AtSwitches, c.meta.Period, c.meta.Extra = s.AtSwitches(), int64(period), s.Extra()
	c.follow()
	c.late = 0 // the threads that existed before are followed from the beginning
}

// refuse warns of refused events, with one warning per reason.
func (c *collector) refuse(refused []perfevent.Refusal) {
	var reasons []string
	names := map[string][]string{}
	for _, r := range refused {
		why := perfevent.Reason(r.Spec, r.Err)
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], r.Spec.Name)
	}
	for _, why := range reasons {
		c.warn("%s: not counted: %s.", strings.Join(names[why], ", "), why)
	}
}

func (c *collector) warn(format string, args ...any) {
	c.meta.Warnings = append(c.meta.Warnings, fmt.Sprintf(format, args...))
}

// step sleeps for a while and collects the available records. The more there are, the less it
// sleeps. It sleeps like a goroutine, because a system call that waits for records would keep a P
// for a part of the time.
func (c *collector) step() {
	const soonest, latest = time.Millisecond, 20 * time.Millisecond
	c.pause = cmp.Or(c.pause, latest/4)
	time.Sleep(c.pause)
	if c.sampler == nil {
		return
	}
	switch fill := c.sampler.Fill(); {
	case fill > 0.2:
		c.pause = max(soonest, c.pause/2)
	case fill < 0.05:
		c.pause = min(latest, c.pause+soonest)
	}
	c.follow()
	c.sampler.Drain(c.take)
	if c.write != nil && len(c.buf) >= flushBytes {
		c.flush()
	}
}

func (c *collector) flush() {
	c.fail(c.write(c.buf))
	c.buf = c.buf[:0]
}

// follow finds new threads and opens their counters. They begin with a reading of zeros.
func (c *collector) follow() {
	if len(c.meta.Groups) == 0 {
		return
	}
	c.fail(c.sampler.Follow(func(tid int) {
		c.late++
		for n, g := range c.meta.Groups {
			c.take(&perfevent.Record{Kind: perfevent.Reading, Event: n, CPU: -1, Thread: tid, Time: now(), Values: make([]uint64, c.meta.Extra+len(g))})
		}
	}))
}

func (c *collector) take(r *perfevent.Record) {
	if c.n > c.max {
		return
	}
	before := len(c.buf)
	c.buf = c.enc.Append(c.buf, r)
	if c.n += int64(len(c.buf) - before); c.n > c.max {
		c.fail(fmt.Errorf("the records of events take more than %d bytes: count less, or for a shorter time", c.max))
	}
}

// fail keeps the first error.
func (c *collector) fail(err error) { c.err = cmp.Or(c.err, err) }

// close ends the counting and collects the remaining records.
func (c *collector) close() error {
	if c.sampler == nil {
		return c.err
	}
	c.meta.End = now()
	c.sampler.Stop()
	c.sampler.Drain(c.take)
	c.fail(c.sampler.Final(c.take))
	clock, hits, groups, err := c.sampler.Totals()
	if c.fail(err); err == nil {
		c.totals(clock, hits, groups)
	}
	if c.late > 0 {
		c.warn("%s while it was recorded: %s are not known for the first milliseconds.", format.Plural(c.late, "thread began", "threads began"), archive.Names(slices.Concat(c.meta.Groups...)))
	}
	return errors.Join(c.err, c.sampler.Close())
}

func (c *collector) totals(clock perfevent.Count, hits, groups []perfevent.Count) {
	for i := range c.meta.Hits {
		c.meta.Hits[i].Total = archive.Clamp(hits[i].Value)
	}
	c.meta.Clock = &archive.Event{Name: archive.TaskClock, Total: archive.Clamp(clock.Value)}
	for _, g := range c.meta.Groups {
		for i := range g {
			g[i].Total, groups = archive.Clamp(groups[0].Value), groups[1:]
		}
	}
}

func eventsOf(specs []perfevent.Spec) []archive.Event {
	out := make([]archive.Event, len(specs))
	for i, s := range specs {
		out[i] = archive.Event{Name: s.Name, User: s.ExcludeKernel}
	}
	return out
}
