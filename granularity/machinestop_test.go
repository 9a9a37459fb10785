package granularity

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A rest shorter than an interval is sampled, too.
func TestStopSamplesTheRest(t *testing.T) {
	rec := NewRecorder()
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

// pausedSoFar is the time for which the collector had stopped the world.
func pausedSoFar() time.Duration {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	return stats.PauseTotal
}

// A pause belongs to the interval in which it happened, also when sampling is stopped and
// restarted, with more pauses than the runtime stores.
func TestPausesWhileStopped(t *testing.T) {
	rec := NewRecorder()
	created := pausedSoFar()
	rec.Start()
	rec.Stop()
	first := rec.Profile()
	for range 260 {
		runtime.GC()
	}
	before := pausedSoFar()
	rec.Start()
	rec.Stop()
	within := pausedSoFar() - before
	p := rec.Profile()
	var paused time.Duration
	for _, s := range p.Samples[len(first.Samples):] {
		paused += s.Paused
	}
	if paused > within {
		t.Errorf("samples with pauses of %v, while the collector had stopped the world for at most %v", paused, within)
	}
	if p.Run.Paused < min(before-created, p.Run.Wall) {
		t.Errorf("pauses of %v in the run; want at least %v", p.Run.Paused, before-created)
	}
}

// If the system does not report the usage of the process, the utilization is unknown, not 0.
func TestUnknownUsageIsNotSampled(t *testing.T) {
	at := time.Now()
	m := machine{last: moment{at: at}}
	m.sample(moment{at: at.Add(SampleEvery)}, func(tick int64) int64 { return tick })
	if len(m.samples) != 0 {
		t.Errorf("sampled: %+v", m.samples)
	}
}
