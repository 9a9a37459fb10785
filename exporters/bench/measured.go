package bench

import (
	"errors"
	"fmt"
	"slices"
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
//
// If the trace has no call stacks, the marks are paired. The timer is off at the end, so the last
// mark is a stop, the one before it a start or a reset, and so on backwards, until a reset sets the
// elapsed time to 0. The lengths of the pairs must sum to b.Elapsed. Because the program may also
// read memory statistics after the loop, some of the last marks may be ignored.

// mark is a call of runtime.ReadMemStats.
type mark struct {
	begin, end timeline.Time
	by         caller
}

// caller identifies the function that called ReadMemStats.
type caller uint8

const (
	unknown caller = iota // not in the trace
	program
	start
	stop
	reset
)

// callerOf returns the caller, identified by the innermost function of package testing.
func callerOf(s *timeline.Stack) caller {
	if s.Leaf() == nil {
		return unknown
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

// mostAfter is the maximum number of marks after the loop that may belong to the program.
const mostAfter = 8

// errNoLoop reports that the measured part was not found.
var errNoLoop = errors.New("the trace does not show when the benchmark's timer ran")

// measured returns the spans in which the timer ran; they sum to about elapsed.
func measured(all []mark, elapsed time.Duration) ([]span, error) {
	if len(all) > 0 && !slices.ContainsFunc(all, func(m mark) bool { return m.by == unknown }) {
		return told(all, elapsed)
	}
	return paired(all, elapsed)
}

// told returns the spans between starts and stops, by the callers of the marks. A reset while the
// timer is off leaves no mark, so only the last spans that sum to elapsed count.
func told(all []mark, elapsed time.Duration) ([]span, error) {
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

// paired returns the spans between paired marks that sum to about elapsed.
func paired(all []mark, elapsed time.Duration) ([]span, error) {
	best, bestAt, bestPairs := timeline.Time(1<<62), 0, 0
	for after := range min(mostAfter, len(all)) {
		sum := timeline.Time(0)
		for pairs, i := 1, len(all)-1-after; i >= 1; pairs, i = pairs+1, i-2 {
			sum += all[i].begin - all[i-1].end
			if off := max(sum-timeline.Time(elapsed), timeline.Time(elapsed)-sum); off < best {
				best, bestAt, bestPairs = off, len(all)-1-after, pairs
			}
		}
	}
	if bestPairs == 0 {
		return nil, errNoLoop
	}
	// The marks lie outside the measured time by the time that it takes to stop the world, and by
	// more on a busy machine.
	if allowed := timeline.Time(elapsed)/20 + timeline.Time(200*time.Millisecond)*timeline.Time(min(bestPairs, 5)); best > allowed {
		return nil, fmt.Errorf("%w: what it shows differs from the measured %v by %v", errNoLoop, elapsed, time.Duration(best))
	}
	spans := make([]span, bestPairs)
	for i := range spans {
		at := bestAt - 2*i
		spans[bestPairs-1-i] = span{all[at-1].end, all[at].begin}
	}
	return spans, nil
}
