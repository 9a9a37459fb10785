package bottleneck

import (
	"bytes"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The wall clock is set back by an hour between the second and the third of four windows of one
// second.
func TestLastUsesTraceTime(t *testing.T) {
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

// TestEstimatedTimeIsInTheWarnings: the estimate of a time may be longer or shorter, which readers of
// "4.9 s" would take for an error.
func TestEstimatedTimeIsInTheWarnings(t *testing.T) {
	for stands, want := range map[float64]string{6e9: "20% of 5 s: times sum to 1.2 times that; ", 5.2e9: "20% of 5 s: too few", 4e9: "times sum to 0.8 times that; "} {
		l := &Live{Report: Report{Info: &timeline.Info{End: 5e9}}, WidestError: 1}
		if got := l.estimate(&sample{bursts: 2, gaps: 1, seen: time.Second, stands: stands}); !strings.Contains(got, want) {
			t.Errorf("%g: %q, want %q", stands, got, want)
		}
	}
}

// TestStopSeesEachGeneration: a burst in which a generation ended is stopped once the tracer has
// written the next one, without a garbage collection.
func TestStopSeesEachGeneration(t *testing.T) {
	b, err := newTap(timeline.NewStream(timeline.StreamOptions{}), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	write := func() { b.Write([]byte{1, 2}); b.Write([]byte{52}) }
	write()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stopped := make(chan struct{})
	go func() { b.stop(nil); close(stopped) }()
	for waiting := true; waiting; {
		select {
		case <-stopped:
			waiting = false
		case <-time.After(2 * rest):
			write()
		}
	}
	if runtime.ReadMemStats(&after); after.NumForcedGC != before.NumForcedGC || trace.IsEnabled() {
		t.Errorf("%d collections, tracing: %v", after.NumForcedGC-before.NumForcedGC, trace.IsEnabled())
	}
}

// TestThrottlingIsInTheWarnings: the reports of throttled windows state the throttled part of
// their periods.
func TestThrottlingIsInTheWarnings(t *testing.T) {
	c := NewContinuous(ContinuousOptions{})
	for i, throttled := range []int64{0, 5, 0, 1} {
		c.add(&window{
			graph: &bottle.Graph{Wall: time.Second, Idle: time.Second, Procs: 2, Capacity: 2 * time.Second, IdleLost: 2 * time.Second, Throttles: throttled, Throttled: time.Duration(throttled) * 100 * time.Millisecond}, waits: &contention.Profile{}, tasks: &granularity.Profile{},
			ledger: &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{{Category: ledger.NoWork, Time: 2 * time.Second}}},
			sample: sample{bursts: 1, seen: time.Second},
			info:   timeline.Info{Start: timeline.Time(i) * 1e9, End: timeline.Time(i+1) * 1e9, Generations: 1},

			throttling: host.Throttling{Periods: 10, Throttled: throttled},
		})
	}
	for _, w := range []struct {
		name string
		live *Live
		want string
	}{
		{"all", c.Read(), "throttled in 15% of its periods"},
		{"the last two", c.Last(2 * time.Second), "throttled in 5% of its periods"},
		{"the second", c.Windows()[1], "throttled in 50% of its periods"},
		{"the third", c.Windows()[2], ""},
	} {
		finding := slices.IndexFunc(w.live.Verdict.Findings, func(f verdict.Finding) bool { return f.Kind == diagnose.Throttled })
		if (finding >= 0) != (w.want != "") {
			t.Errorf("%s: finding %d of %+v", w.name, finding, w.live.Verdict.Findings)
		}
		for what, warnings := range map[string][]string{"graph": w.live.Bottle.Warnings, "verdict": w.live.Verdict.Warnings} {
			got := strings.Join(warnings, " ")
			if w.want == "" && strings.Contains(got, "throttled") || !strings.Contains(got, w.want) {
				t.Errorf("%s, %s: want %q in %q", w.name, what, w.want, got)
			}
		}
	}
}

// TestNotedThrottlingIsInTheVerdict: a recording that notes the throttling of its control group
// has it as its first finding. The notes are made up, because the machine of a test has no quota.
func TestNotedThrottlingIsInTheVerdict(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	for n := range int64(2) {
		note := host.Machine{Processors: 1, All: 8, Throttling: host.Throttling{Periods: 50 + 20*n, Throttled: 5 + 17*n, For: time.Duration(1+n) * time.Second}}
		trace.Log(t.Context(), "bottleneck.machine", note.String())
		time.Sleep(time.Millisecond)
	}
	trace.Stop()
	r, err := Analyze(t.Context(), &b, Options{Want: WantVerdict})
	if err != nil {
		t.Fatal(err)
	}
	if r.Bottle.Throttles != 17 || r.Bottle.Throttled != time.Second {
		t.Errorf("throttled %d times for %v, want 17 and 1s", r.Bottle.Throttles, r.Bottle.Throttled)
	}
	at := slices.IndexFunc(r.Verdict.Findings, func(f verdict.Finding) bool { return f.Kind == diagnose.Throttled })
	if at < 0 || at > 1 || !strings.Contains(r.Verdict.Findings[at].Title, "used up its quota of processor time 17 times") {
		t.Errorf("finding %d of %+v", at, r.Verdict.Findings)
	}
}

// TestContinuousBudget: the budget is halved while the program needs the machine or the load is
// unknown.
func TestContinuousBudget(t *testing.T) {
	graph := func(procs int, running ...time.Duration) *bottle.Graph {
		g := &bottle.Graph{Procs: procs, Wall: time.Second}
		for _, r := range running {
			g.Boxes = append(g.Boxes, bottle.Box{Running: r})
		}
		return g
	}
	for _, c := range []struct {
		name   string
		budget float64
		graph  *bottle.Graph
		want   float64
	}{
		{"nothing known", 0, nil, 0.01},
		{"idle", 0, graph(4), 0.02},
		{"three of four processors", 0, graph(4, 2*time.Second, time.Second), 0.02},
		{"more", 0, graph(4, 2*time.Second, 1001*time.Millisecond), 0.01},
		{"all", 0.1, graph(2, 2*time.Second), 0.05},
		{"number of processors not known", 0, graph(0, time.Millisecond), 0.01},
	} {
		if got := (&ContinuousOptions{Budget: c.budget}).budget(c.graph); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
	if got := (&ContinuousOptions{Budget: -1}).budget(nil); got >= 0 {
		t.Errorf("without a limit: %g", got)
	}
}

type alwaysPanicking struct{ timeline.Base }

func (alwaysPanicking) Begin(timeline.Time, int) { panic("always") }

func TestAnalysisEndsAfterTenPanics(t *testing.T) {
	before := afterPanic
	afterPanic = time.Nanosecond
	defer func() { afterPanic = before }()
	c := Hurry(NewContinuous(ContinuousOptions{Options: Options{Observers: []timeline.Observer{alwaysPanicking{}}}, Budget: -1}), time.Millisecond)
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer c.Stop()
	for deadline := time.Now().Add(time.Minute); c.Read().Panics < maxPanics || c.Enabled(); {
		if time.Now().After(deadline) {
			t.Fatalf("%d panics", c.Read().Panics)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond)
	if n := c.Read().Panics; n != maxPanics || c.Enabled() {
		t.Errorf("%d panics, enabled %v", n, c.Enabled())
	}
}
