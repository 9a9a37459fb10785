package bench

import (
	"errors"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// This file finds the measured loop in the trace.
//
// Package testing calls runtime.ReadMemStats whenever a running benchmark's timer starts, stops or
// is reset (StartTimer, StopTimer, ResetTimer, the first and the last b.Loop). The call stops the
// world on the benchmark's goroutine, and the trace records the reason. Each call is a mark, and
// its call stack identifies the caller. The timer runs from a start to a stop; a reset discards
// what was before it.

// mark is a call of runtime.ReadMemStats.
type mark struct {
	begin, end timeline.Time
	by         caller
}

// caller identifies the function that called ReadMemStats.
type caller uint8

const (
	program caller = iota
	start
	stop
	reset
)

// callerOf returns the caller, identified by the innermost function of package testing.
func callerOf(s *timeline.Stack) caller {
	if s.Leaf() == nil {
		return program
	}
	for _, f := range s.Frames {
		switch f.Func {
		case "testing.(*B).StartTimer":
			return start
		case "testing.(*B).StopTimer":
			return stop
		case "testing.(*B).ResetTimer":
			return reset
		}
	}
	return program
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
func (m *marks) Range(r *timeline.Range) {
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

// measured returns the spans in which the timer ran, between starts and stops; they sum to about
// elapsed. A reset while the timer is off leaves no mark, so only the last spans that sum to it
// count.
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
