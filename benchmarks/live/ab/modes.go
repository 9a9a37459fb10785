package ab

import (
	"context"
	"fmt"
	"runtime"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
)

// Mode is a way of watching a program.
type Mode struct {
	Name string
	// Start begins and returns how to end.
	Start func() (stop func(), err error)
	// Report sums up in a line; may be nil.
	Report func() string
}

// Modes returns all ways: nothing, a trace.FlightRecorder alone, a bottle.Recorder from which a snapshot is
// taken every two seconds, and continuous analysis.
func Modes() []Mode {
	return []Mode{
		{Name: "nothing", Start: func() (func(), error) { return func() {}, nil }},
		{Name: "flight", Start: flight},
		snapshots("recorder", 0),
		snapshots("snapshots", 2*time.Second),
		continuous(),
	}
}

func flight() (func(), error) {
	f := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second, MaxBytes: 32 << 20})
	return f.Stop, f.Start()
}

// snapshots runs a bottle.Recorder, and takes a snapshot every so often if that is not 0.
func snapshots(name string, every time.Duration) Mode {
	taken, failed := 0, 0
	start := func() (func(), error) {
		var rec bottle.Recorder
		if err := rec.Start(); err != nil {
			return nil, err
		}
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for every > 0 {
				select {
				case <-done:
					return
				case <-time.After(every):
				}
				if _, err := rec.Snapshot(context.Background()); err != nil {
					failed++
				}
				taken++
			}
		}()
		return func() { close(done); <-ended; rec.Stop() }, nil
	}
	return Mode{Name: name, Start: start, Report: func() string {
		if every == 0 {
			return ""
		}
		return fmt.Sprintf("%d snapshots, %d failed", taken, failed)
	}}
}

// continuous runs a bottleneck.Continuous.
func continuous() Mode {
	var cpu, elapsed time.Duration
	var read, dropped int64
	var worst error
	start := func() (func(), error) {
		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
		if err := c.Start(); err != nil {
			return nil, err
		}
		return func() {
			c.Stop()
			s := c.Read().Stream
			cpu += s.CPU
			elapsed += s.Elapsed
			read += s.Generations
			dropped += s.Dropped.Generations
			if s.Err != nil {
				worst = s.Err
			}
		}, nil
	}
	return Mode{Name: "continuous", Start: start, Report: func() string {
		share := 100 * float64(cpu) / float64(elapsed) / float64(runtime.GOMAXPROCS(0))
		s := fmt.Sprintf("used %.2f %% of the machine (its budget is 2 %%), read %d generations, dropped %d", share, read, dropped)
		if worst != nil {
			s += ", " + worst.Error()
		}
		return s
	}}
}
