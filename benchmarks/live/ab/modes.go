package ab

import (
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters"
)

// Mode is a way of watching a program.
type Mode struct {
	Name string
	// Start begins and returns how to end.
	Start func() (stop func(), err error)
	// Report sums up in a line; may be nil.
	Report func() string
}

// all returns the ways that are always compared: a trace.FlightRecorder alone, nothing, a
// bottle.Recorder, and continuous analysis.
func all() []Mode {
	return []Mode{
		{Name: "flight", Start: func() (func(), error) {
			f := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second, MaxBytes: 32 << 20})
			return f.Stop, f.Start()
		}},
		{Name: "nothing", Start: func() (func(), error) { return func() {}, nil }},
		{Name: "recorder", Start: func() (func(), error) {
			var rec bottle.Recorder
			return rec.Stop, rec.Start()
		}},
		continuous(),
	}
}

// choose returns the ways with these names.
func choose(names string) ([]Mode, error) {
	modes := all()
	if names == "" {
		return modes, nil
	}
	modes = append(modes, Mode{Name: "trace", Start: recording([]string{})}, Mode{Name: "counters", Start: recording(nil)})
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

// recording records an execution trace and counters; nil means the default ones.
func recording(names []string) func() (func(), error) {
	return func() (func(), error) {
		stop, err := counters.Start(counters.Options{Counters: names})
		return func() { stop(io.Discard) }, err
	}
}

// continuous runs a bottleneck.Continuous. What its Stop reads at the end of
// a slice, without a rest, is not in the budget, and a program that runs for long does not stop it
// every few seconds: it is reported apart.
func continuous() Mode {
	var cpu, elapsed, last, seen time.Duration
	var read, dropped, cut int64
	var worst error
	start := func() (func(), error) {
		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
		if err := c.Start(); err != nil {
			return nil, err
		}
		return func() {
			before := c.Read().Stream
			c.Stop()
			l := c.Read()
			s := l.Stream
			last += s.CPU - before.CPU
			seen += l.Covered
			cut += int64(l.CutBursts + l.LostBursts)
			cpu += before.CPU
			elapsed += before.Elapsed
			read += int64(l.Windows)
			dropped += s.Dropped.Generations
			if s.Err != nil {
				worst = s.Err
			}
		}, nil
	}
	return Mode{Name: "continuous", Start: start, Report: func() string {
		share := 100 / float64(elapsed) / float64(runtime.GOMAXPROCS(0))
		s := fmt.Sprintf("used %.2f %% of the machine (its budget is 2 %%), and %.2f %% at the ends to read what was left; saw %.1f %% of the time in %d bursts; %d of them cut short, %d generations dropped",
			share*float64(cpu), share*float64(last), 100*float64(seen)/float64(elapsed), read, cut, dropped)
		if worst != nil {
			s += ", " + worst.Error()
		}
		return s
	}}
}
