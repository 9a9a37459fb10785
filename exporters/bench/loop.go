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
	if _, err := timeline.Read(context.Background(), bytes.NewReader(r.data.Bytes()), timeline.Options{Spans: spans}, o); err != nil {
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
func measured(all []mark, elapsed time.Duration) ([][2]timeline.Time, error) {
	var spans [][2]timeline.Time
	on, from := false, timeline.Time(0)
	for _, m := range all {
		switch {
		case m.by == reset:
			spans, from, on = nil, m.end, true
		case m.by == start:
			from, on = m.end, true
		case m.by == stop && on:
			spans, on = append(spans, [2]timeline.Time{from, m.begin}), false
		}
	}
	first, best, sum := len(spans), timeline.Time(1<<62), timeline.Time(0)
	for i := len(spans) - 1; i >= 0; i-- {
		sum += spans[i][1] - spans[i][0]
		if off := max(sum-timeline.Time(elapsed), timeline.Time(elapsed)-sum); off < best {
			first, best = i, off
		}
	}
	if first == len(spans) {
		return nil, errNoLoop
	}
	return spans[first:], nil
}
