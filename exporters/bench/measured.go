package bench

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Which part of the trace is the measured loop?
//
// Package testing calls runtime.ReadMemStats whenever the benchmark's timer starts, stops or is
// reset while it runs (StartTimer, StopTimer, ResetTimer, the first and the last b.Loop). That
// stops the world, for a reason that the trace names, on the benchmark's goroutine: a mark. It does
// not tell which of the three it was. But the timer is off at the end, so the last mark was a stop,
// the one before it a start or a reset, and so on backwards in pairs, until a reset has set the
// elapsed time to 0. Since b.Elapsed tells the sum, the pairs are those whose lengths sum to it.
// The program may read memory statistics after the loop, too: some of the last marks may be left
// out.

// mark is a call of ReadMemStats.
type mark struct{ begin, end timeline.Time }

// span is a stretch of the trace.
type span struct{ from, to timeline.Time }

// marks is an observer that finds them.
type marks struct {
	timeline.Base
	goroutine int64 // the benchmark's, known from the log message; 0 before it
	all       []mark
}

// What the log message at the beginning of a trace says.
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
		m.all = append(m.all, mark{begin: r.Time, end: r.Time})
	} else if n := len(m.all); n > 0 {
		m.all[n-1].end = r.Time
	}
}

// mostAfter is how many marks after the loop may belong to the program.
const mostAfter = 8

// errNoLoop says that the measured part was not found.
var errNoLoop = errors.New("the trace does not show when the benchmark's timer ran")

// measured returns the stretches during which the timer ran, which sum to about elapsed.
func measured(all []mark, elapsed time.Duration) ([]span, error) {
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
	// The marks lie outside of what the timer measures by the time it takes to stop the world,
	// on a busy machine by more.
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
