package granularity

import (
	"testing"
	"time"
)

// What is shorter than an interval is sampled, too.
func TestStopSamplesTheRest(t *testing.T) {
	rec := recorder(RecorderOptions{})
	rec.Start()
	busy(2 * time.Millisecond)
	rec.Stop()
	p := rec.Profile()
	var wall time.Duration
	for _, s := range p.Samples {
		wall += s.Wall
	}
	if wall < 2*time.Millisecond || wall > p.Wall {
		t.Errorf("%d samples of %v together, in a run of %v", len(p.Samples), wall, p.Wall)
	}
	if rec.Stop(); len(rec.Profile().Samples) != len(p.Samples) {
		t.Error("stopped again, it samples again")
	}
}
