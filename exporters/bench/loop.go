package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A benchmark's trace, and the measured loop in it.
//
// Package testing calls runtime.ReadMemStats whenever a running benchmark's timer starts, stops or
// is reset (StartTimer, StopTimer, ResetTimer, the first and the last b.Loop). The call stops the
// world on the benchmark's goroutine, and the trace records the reason. Each call is a mark, and
// its call stack identifies the caller. The timer runs from a start to a stop; a reset discards
// what was before it.

// maxTrace bounds the memory of a trace.
const maxTrace = 64 << 20

// recording is a trace in memory.
type recording struct {
	mu      sync.Mutex
	data    bytes.Buffer
	lost    int64 // bytes that did not fit
	stopped bool
}

// record starts a trace and logs the benchmark's goroutine in it.
func record() (*recording, error) {
	r := &recording{}
	if err := trace.Start(r); err != nil {
		return nil, err
	}
	trace.Log(context.Background(), logCategory, logMessage)
	return r, nil
}

// Write stores data of the tracer, and counts what does not fit: an error would not stop it.
func (r *recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 || r.data.Len()+len(p) > maxTrace {
		r.lost += int64(len(p))
		return len(p), nil
	}
	return r.data.Write(p)
}

func (r *recording) stop() {
	if !r.stopped {
		r.stopped = true
		host.Note()
		trace.Stop()
	}
}

// graph reads the trace twice: for the marks of the timer, and for the graph of the measured part.
func (r *recording) graph(elapsed time.Duration) (*bottle.Graph, error) {
	if r.lost > 0 {
		return nil, fmt.Errorf("the trace has %d MB, more than %d: run the benchmark for a shorter time, with -benchtime", (int64(r.data.Len())+r.lost)>>20, maxTrace>>20)
	}
	m := &marks{}
	if _, err := timeline.Read(context.Background(), bytes.NewReader(r.data.Bytes()), timeline.Options{}, m); err != nil {
		return nil, err
	}
	spans, err := measured(m.all, elapsed)
	if err != nil {
		return nil, err
	}
	o := bottle.NewObserver(bottle.Options{})
	if _, err := timeline.Read(context.Background(), bytes.NewReader(r.data.Bytes()), timeline.Options{}, &clip{to: o, spans: spans}); err != nil {
		return nil, err
	}
	g := o.Graph()
	g.CPUs = host.Processors()
	return g, nil
}

// mark is a call of runtime.ReadMemStats.
type mark struct {
	begin, end timeline.Time
	by         caller
}

// caller is the innermost method of package testing that called ReadMemStats; "" is the program.
type caller string

const (
	start caller = "testing.(*B).StartTimer"
	stop  caller = "testing.(*B).StopTimer"
	reset caller = "testing.(*B).ResetTimer"
)

func callerOf(s *timeline.Stack) caller {
	if len(s.Code()) == 0 {
		return ""
	}
	for _, f := range s.Frames {
		if by := caller(f.Func); by == start || by == stop || by == reset {
			return by
		}
	}
	return ""
}

// span is an interval of the trace.
type span struct{ from, to timeline.Time }

// marks is an observer that collects the marks.
type marks struct {
	timeline.Base
	goroutine int64 // the benchmark's goroutine, from the log message; 0 before it
	all       []mark
}

// The category and text of the log message at the beginning of a trace.
const (
	logCategory = "bottleneck"
	logMessage  = "benchmark"
)

const memStats = "stop-the-world (read mem stats"

// Log implements [timeline.Observer].
func (m *marks) Log(l *timeline.Log) {
	if l.Category == logCategory && l.Message == logMessage && l.G != nil {
		m.goroutine = l.G.ID
	}
}

// Range implements [timeline.Observer].
func (m *marks) Range(r *timeline.Span) {
	if r.G == nil || m.goroutine == 0 || r.G.ID != m.goroutine || !strings.HasPrefix(r.Name, memStats) {
		return
	}
	if r.Begin {
		m.all = append(m.all, mark{begin: r.Time, end: r.Time, by: callerOf(r.Stack)})
	} else if n := len(m.all); n > 0 {
		m.all[n-1].end = r.Time
	}
}

// errNoLoop reports that the measured part was not found.
var errNoLoop = errors.New("the trace does not show when the benchmark's timer ran")

// measured returns the spans in which the timer ran. A reset while it is off leaves no mark, so
// they are the last spans that sum to about elapsed.
func measured(all []mark, elapsed time.Duration) ([]span, error) {
	var spans []span
	on, from := false, timeline.Time(0)
	for _, m := range all {
		switch {
		case m.by == reset:
			spans, from, on = nil, m.end, true
		case m.by == start:
			from, on = m.end, true
		case m.by == stop && on:
			spans, on = append(spans, span{from, m.begin}), false
		}
	}
	first, best, sum := len(spans), timeline.Time(1<<62), timeline.Time(0)
	for i := len(spans) - 1; i >= 0; i-- {
		sum += spans[i].to - spans[i].from
		if off := max(sum-timeline.Time(elapsed), timeline.Time(elapsed)-sum); off < best {
			first, best = i, off
		}
	}
	if first == len(spans) {
		return nil, errNoLoop
	}
	return spans[first:], nil
}

// clip forwards selected spans of a trace to an observer as if nothing happened between them. It
// maps a time outside the spans to the next edge, so that events there take no time. It forwards
// all other information, so that the states of goroutines stay correct.
type clip struct {
	timeline.Base
	to    timeline.Observer
	spans []span
	next  int           // the first span that has not ended
	done  timeline.Time // total length of the spans that have ended
}

// at maps a time. Its arguments must not decrease.
func (c *clip) at(t timeline.Time) timeline.Time {
	for c.next < len(c.spans) && t >= c.spans[c.next].to {
		c.done += c.spans[c.next].to - c.spans[c.next].from
		c.next++
	}
	if c.next == len(c.spans) || t <= c.spans[c.next].from {
		return c.done
	}
	return c.done + t - c.spans[c.next].from
}

// Begin implements [timeline.Observer].
func (c *clip) Begin(_ timeline.Time, version int) { c.to.Begin(0, version) }

// Transition implements [timeline.Observer]. A bottle graph does not use the start.
func (c *clip) Transition(t *timeline.Transition) {
	moved := *t
	moved.End = c.at(t.End)
	moved.Start = min(t.Start, moved.End)
	c.to.Transition(&moved)
}

// Named implements [timeline.Observer].
func (c *clip) Named(g *timeline.Goroutine, t timeline.Time) { c.to.Named(g, c.at(t)) }

// Label implements [timeline.Observer].
func (c *clip) Label(g *timeline.Goroutine, t timeline.Time) { c.to.Label(g, c.at(t)) }

// Range implements [timeline.Observer].
func (c *clip) Range(r *timeline.Span) {
	moved := *r
	moved.Time = c.at(r.Time)
	moved.Start = min(r.Start, moved.Time)
	c.to.Range(&moved)
}

// Region implements [timeline.Observer].
func (c *clip) Region(r *timeline.Span) {
	moved := *r
	moved.Time = c.at(r.Time)
	c.to.Region(&moved)
}

// Metric implements [timeline.Observer].
func (c *clip) Metric(t timeline.Time, name string, value uint64, stopped bool) {
	c.to.Metric(c.at(t), name, value, stopped)
}

// End implements [timeline.Observer].
func (c *clip) End(t timeline.Time) { c.to.End(c.at(t)) }
