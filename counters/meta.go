package counters

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// meta says what samples are: it is a part of an archive, as JSON.
type meta struct {
	// Format is that of the archive.
	Format int `json:"format"`
	// Command is what ran; nil if the program recorded itself.
	Command []string  `json:"command,omitempty"`
	Start   time.Time `json:"start"`
	System  string    `json:"system"` // GOOS/GOARCH

	// Begin and End are between which times of CLOCK_MONOTONIC was counted, in ns. Begin is 0
	// if nothing was.
	Begin int64 `json:"begin,omitempty"`
	End   int64 `json:"end,omitempty"`

	Switched []string      `json:"switched,omitempty"` // the counters that follow from switches of threads
	Clock    *eventMeta    `json:"clock,omitempty"`    // the total of task-clock, counted on its own
	Hits     []eventMeta   `json:"hits,omitempty"`
	Groups   [][]eventMeta `json:"groups,omitempty"`
	// AtSwitches tells that groups were read at switches of threads, and Extra how many values a
	// reading has before those of the group. Period is how often they were read otherwise.
	AtSwitches bool  `json:"at_switches,omitempty"`
	Extra      int   `json:"extra,omitempty"`
	Period     int64 `json:"period_ns,omitempty"`

	// Metrics are readings of runtime/metrics, of the process.
	MetricNames []string       `json:"metric_names,omitempty"`
	Metrics     []metricSample `json:"metrics,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
}

// eventMeta is an event and what the kernel has counted in all.
type eventMeta struct {
	Name  string `json:"name"`
	User  bool   `json:"user,omitempty"` // only what happened in user mode
	Total int64  `json:"total"`
}

// source says in words where values of the event come from.
func (e eventMeta) source(how string) string {
	if e.User {
		return how + ", user mode only"
	}
	return how
}

func eventsOf(specs []perfevent.Spec) []eventMeta {
	out := make([]eventMeta, len(specs))
	for i, s := range specs {
		out[i] = eventMeta{Name: s.Name, User: s.ExcludeKernel}
	}
	return out
}

// check refuses what no recorder writes.
func (m *meta) check() error {
	switch {
	case m.Format < 1 || m.Format > archiveFormat:
		return fmt.Errorf("format %d; this version reads formats up to %d", m.Format, archiveFormat)
	case m.End < m.Begin || m.Begin < 0:
		return fmt.Errorf("counted from %d to %d ns", m.Begin, m.End)
	case m.Extra < 0 || m.Extra > 8 || len(m.Groups) > 64 || len(m.Hits) > 64:
		return fmt.Errorf("%d groups, %d hits", len(m.Groups), len(m.Hits))
	}
	for _, name := range m.MetricNames {
		if _, ok := metricOf[name]; !ok {
			return fmt.Errorf("no metric is called %q", name)
		}
	}
	for i, s := range m.Metrics {
		if len(s.Values) != len(m.MetricNames) || i > 0 && s.Wall < m.Metrics[i-1].Wall {
			return fmt.Errorf("reading %d of the metrics has %d values of %d, or is out of order", i, len(s.Values), len(m.MetricNames))
		}
	}
	return nil
}
