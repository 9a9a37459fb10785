package tracetasks

import (
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// mostSamples is the maximum number of samples; beyond it, neighbors are merged.
const mostSamples = 4096

// traceMachine computes the samples of a trace: what goroutines used in each interval of 100 ms, or
// in longer ones if there would be too many.
type traceMachine struct {
	now         timeline.Time
	running     int // goroutines on a processor
	mostRunning int
	width       time.Duration // of a sample
	sample      granularity.Sample
	samples     []granularity.Sample
	pauses      []granularity.GCPause
	run         granularity.Sample
	stops       int // the world is stopped
	stoppedAt   timeline.Time
}

func (m *traceMachine) begin(t timeline.Time) {
	m.now, m.width = t, granularity.SampleEvery
}

// advance accounts for the time up to t, sample by sample.
func (m *traceMachine) advance(t timeline.Time) {
	if dt := time.Duration(t - m.now); m.stops == 0 && 0 <= dt && dt < m.width-m.sample.Wall { // the usual case
		m.now = t
		m.sample.Wall += dt
		m.sample.CPU += dt * time.Duration(m.running)
		return
	}
	for m.now < t {
		step := min(t-m.now, timeline.Time(m.width-m.sample.Wall))
		m.sample.Wall += time.Duration(step)
		if m.stops > 0 {
			m.sample.Paused += time.Duration(step)
		} else {
			m.sample.CPU += time.Duration(step) * time.Duration(m.running)
		}
		m.now += step
		if m.sample.Wall == m.width {
			m.closeSample()
		}
	}
}

func (m *traceMachine) closeSample() {
	s := m.sample
	s.At = int64(m.now)
	m.run.Add(&s)
	m.samples = append(m.samples, s)
	m.sample = granularity.Sample{}
	if len(m.samples) < mostSamples {
		return
	}
	m.samples = granularity.FoldSamples(m.samples)
	m.width *= 2
}

func (m *traceMachine) transition(t *timeline.Transition) {
	before, after := t.State.Runs(), t.To.Runs()
	if before == after {
		return
	}
	m.advance(t.End)
	switch {
	case before && !after:
		m.running = max(0, m.running-1)
		if t.State.IsC() && t.To.IsC() {
			break // it continues but no longer counts
		}
		if t.To == timeline.Runnable {
			m.sample.Involuntary++
		} else if t.To.Alive() {
			m.sample.Voluntary++
		}
	case after && !before:
		m.running++
		m.mostRunning = max(m.mostRunning, m.running)
	}
}

// stopped tracks the collector's stops of the world.
func (m *traceMachine) stopped(e *timeline.Span) {
	if !strings.HasPrefix(e.Name, "stop-the-world (GC") {
		return
	}
	m.advance(e.Time)
	switch {
	case e.Begin:
		if m.stops++; m.stops == 1 {
			m.stoppedAt = e.Time
		}
	case m.stops > 0:
		if m.stops--; m.stops == 0 {
			m.pauses = append(m.pauses, granularity.GCPause{At: int64(e.Time), Length: time.Duration(e.Time - m.stoppedAt)})
		}
	}
}

func (m *traceMachine) finish(t timeline.Time) {
	m.advance(t)
	if m.sample.Wall > 0 {
		m.closeSample()
	}
}
