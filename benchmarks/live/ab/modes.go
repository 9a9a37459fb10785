package ab

import (
	"context"
	"fmt"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
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

// all returns all ways: a trace.FlightRecorder alone, nothing, a bottle.Recorder, one from which a
// snapshot is taken every two seconds, continuous analysis, and that beside a FlightRecorder.
func all() []Mode {
	return []Mode{
		{Name: "flight", Start: flight},
		{Name: "nothing", Start: func() (func(), error) { return func() {}, nil }},
		snapshots("recorder", 0),
		snapshots("snapshots", 2*time.Second),
		continuous("continuous", func() (func(), error) { return func() {}, nil }),
		continuous("both", flight),
	}
}

// choose returns the ways with these names.
func choose(names string) ([]Mode, error) {
	modes := all()
	if names == "" {
		return modes, nil
	}
	var chosen []Mode
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(modes, func(m Mode) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no way %q", name)
		}
		chosen = append(chosen, modes[i])
	}
	return chosen, nil
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

// continuous runs a bottleneck.Continuous, beside something else. What its Stop reads at the end of
// a slice, without a rest, is not in the budget, and a program that runs for long does not stop it
// every few seconds: it is reported apart.
func continuous(name string, beside func() (func(), error)) Mode {
	var cpu, elapsed, last time.Duration
	var read, dropped, cut int64
	var seen, all time.Duration
	var worst error
	start := func() (func(), error) {
		end, err := beside()
		if err != nil {
			return nil, err
		}
		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
		if err := c.Start(); err != nil {
			end()
			return nil, err
		}
		return func() {
			before := c.Read().Stream
			c.Stop()
			end()
			l := c.Read()
			s := l.Stream
			last += s.CPU - before.CPU
			seen += l.Covered
			all += before.Elapsed
			cut += int64(l.Sampling.Cut + l.Sampling.Lost)
			cpu += before.CPU
			elapsed += before.Elapsed
			read += int64(l.Windows)
			dropped += s.Dropped.Generations
			if s.Err != nil {
				worst = s.Err
			}
		}, nil
	}
	return Mode{Name: name, Start: start, Report: func() string {
		share := 100 / float64(elapsed) / float64(runtime.GOMAXPROCS(0))
		s := fmt.Sprintf("used %.2f %% of the machine (its budget is 2 %%), and %.2f %% at the ends to read what was left; saw %.1f %% of the time in %d bursts; %d of them cut short, %d generations dropped",
			share*float64(cpu), share*float64(last), 100*float64(seen)/float64(all), read, cut, dropped)
		if worst != nil {
			s += ", " + worst.Error()
		}
		return s
	}}
}
