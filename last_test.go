package bottleneck

import (
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The wall clock is set back by an hour between the second and the third of four windows of a
// second each.
func TestLastGoesByTheTimeOfTheTrace(t *testing.T) {
	c := NewContinuous(ContinuousOptions{})
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for i := range 4 {
		at := noon.Add(time.Duration(i) * time.Second)
		if i >= 2 {
			at = at.Add(-time.Hour)
		}
		c.add(&window{
			graph: &bottle.Graph{Wall: time.Second}, waits: &contention.Profile{}, tasks: &granularity.Profile{},
			sample: sample{bursts: 1, seen: time.Second},
			from:   at.Add(-time.Second), to: at,
			info: timeline.Info{Start: timeline.Time(i) * 1e9, End: timeline.Time(i+1) * 1e9, Generations: 1},
		})
	}
	for d, want := range map[time.Duration]int{0: 1, time.Second: 1, 2 * time.Second: 2, 3 * time.Second: 3, time.Hour: 4} {
		if got := c.Last(d).Windows; got != want {
			t.Errorf("Last(%v) holds %d windows, want %d", d, got, want)
		}
	}
}
