package tracetasks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// traced records a trace of f.
func traced(t *testing.T, f func()) []byte {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("a trace is being recorded already")
	}
	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		t.Skip(err)
	}
	f()
	trace.Stop()
	return recorded.Bytes()
}

func readTrace(t *testing.T, text []byte, opt Options) *granularity.Profile {
	t.Helper()
	p, err := read(bytes.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read returns the profile of a trace, or nil if nothing could be read.
func read(r io.Reader, opt Options) (*granularity.Profile, error) {
	o := NewObserver(opt)
	info, err := timeline.Read(context.Background(), r, timeline.Options{}, o)
	if info.Generations == 0 {
		return nil, err
	}
	p := o.Profile()
	p.Warnings = append(p.Warnings, info.Warnings(err)...)
	return p, err
}

// regions runs outer regions with two inner ones each, one of them asleep for a while.
func regions() {
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 20 {
			ctx, task := trace.NewTask(context.Background(), "request")
			trace.WithRegion(ctx, "outer", func() {
				busy(100 * time.Microsecond)
				trace.WithRegion(ctx, "inner", func() { busy(50 * time.Microsecond) })
				trace.WithRegion(ctx, "asleep", func() { time.Sleep(2 * time.Millisecond) })
			})
			task.End()
		}
	}()
	<-done
}

// The running times of nested regions equal those of a bottle graph by the innermost region. They
// sum to the same whether nested regions are tasks or not.
func TestTraceRunningTimes(t *testing.T) {
	text := traced(t, regions)
	p, whole := readTrace(t, text, Options{}), readTrace(t, text, Options{AggregateNested: true})
	graph, err := bottle.ReadTrace(context.Background(), bytes.NewReader(text), bottle.Options{Group: bottle.ByRegion})
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]time.Duration{}
	for _, b := range graph.Boxes {
		running[b.Group] += b.Running
	}
	var sum float64
	for _, name := range []string{"outer", "inner", "asleep"} {
		c := classNamed(t, p, name)
		sum += c.RunningNS.Sum()
		if c.Tasks != 20 || c.RunningNS.Sum() != float64(running[name]) {
			t.Errorf("%d tasks %s ran for %v; want 20 and %v", c.Tasks, name, time.Duration(c.RunningNS.Sum()), running[name])
		}
		if c.Cycles.Count() != 0 {
			t.Errorf("%s has cycles", name)
		}
	}
	if p.Source != "trace-running" || p.Accuracy != "upper-bound" || p.Hz != 0 || !p.ByTime() {
		t.Errorf("source %s, accuracy %s, %g Hz", p.Source, p.Accuracy, p.Hz)
	}
	outer := classNamed(t, whole, "outer")
	if outer.RunningNS.Sum() != sum || outer.Tasks != 20 || classNamed(t, whole, "inner").Aggregated != 20 {
		t.Errorf("with nested regions, %d outer ones ran for %g ns; want 20, %g", outer.Tasks, outer.RunningNS.Sum(), sum)
	}
	asleep := classNamed(t, p, "asleep")
	if asleep.BlockedNS.Quantile(0) < 1e6 || asleep.Nested != 20 {
		t.Errorf("the region that sleeps 2 ms was off the processor for %g ns, %d nested", asleep.BlockedNS.Quantile(0), asleep.Nested)
	}
	if blocked := classNamed(t, p, "outer").BlockedNS.Quantile(.5); blocked > 1e6 {
		t.Errorf("the region around it was itself off the processor for %g ns", blocked)
	}
}

// Places: the call of StartRegion, and the beginning of the user task or the start of the
// goroutine.
func TestTraceSites(t *testing.T) {
	text := traced(t, func() {
		regions()
		done := make(chan bool)
		go func() { trace.WithRegion(context.Background(), "alone", func() {}); close(done) }()
		<-done
	})
	p := readTrace(t, text, Options{})
	for _, tt := range []struct{ class, created, submitted string }{
		{"outer", "tracetasks.regions.func1 ", "tracetasks.regions.func1 "}, // by StartRegion, by NewTask
		{"inner", "tracetasks.regions.func1.1 ", ""},
		{"alone", "tracetasks.TestTraceSites.func1.1 ", "tracetasks.TestTraceSites.func1 "}, // by the go statement
	} {
		s := &classNamed(t, p, tt.class).Sites[0]
		if created, submitted := leaf(s.Created), leaf(s.Submitted); !strings.Contains(created, tt.created) || !strings.Contains(submitted, tt.submitted) || tt.submitted == "" && submitted != "" {
			t.Errorf("%s is created at %q, submitted at %q", tt.class, created, submitted)
		}
		if tt.class == "outer" && s.Pool != "request" {
			t.Errorf("%s belongs to %q; want request", tt.class, s.Pool)
		}
	}
}

// Tasks of runtime/trace instead of regions: what ran in their regions, on any goroutine.
func TestTraceTasks(t *testing.T) {
	text := traced(t, func() {
		regions()
		_, task := trace.NewTask(context.Background(), "no region")
		task.End()
	})
	byRegion, p := readTrace(t, text, Options{}), readTrace(t, text, Options{Tasks: true})
	var sum float64
	for i := range byRegion.Classes {
		sum += byRegion.Classes[i].RunningNS.Sum()
	}
	if c := classNamed(t, p, "request"); c.Tasks != 20 || c.RunningNS.Sum() != sum || c.BlockedNS.Quantile(0) < 1e6 {
		t.Errorf("%d requests ran for %g ns in all; want 20, %g", c.Tasks, c.RunningNS.Sum(), sum)
	}
	if c := classNamed(t, p, "no region"); c.Tasks != 0 || c.Unmeasured != 1 || len(p.Classes) != 2 {
		t.Errorf("a task without regions: %d measured, %d not; %d classes", c.Tasks, c.Unmeasured, len(p.Classes))
	}
}

// Code in a region without a task, such as a Do, is work of the task around it. Code for another
// task is not.
func TestTraceTasksWithForeignRegions(t *testing.T) {
	rec := granularity.NewRecorder()
	text := traced(t, func() {
		ctx, task := trace.NewTask(context.Background(), "request")
		other, another := trace.NewTask(context.Background(), "log")
		trace.WithRegion(ctx, "handle", func() {
			granularity.Do(granularity.WithRecorder(context.Background(), rec), "inner", func(context.Context) error {
				busy(2 * time.Millisecond)
				trace.WithRegion(other, "write", func() { busy(time.Millisecond) })
				return nil
			})
		})
		another.End()
		task.End()
	})
	byRegion, p := readTrace(t, text, Options{}), readTrace(t, text, Options{Tasks: true})
	ran := func(p *granularity.Profile, class string) float64 { return classNamed(t, p, class).RunningNS.Sum() }
	if got, want := ran(p, "request"), ran(byRegion, "handle")+ran(byRegion, "inner"); got != want {
		t.Errorf("the request ran for %g ns; want %g", got, want)
	}
	if got, want := ran(p, "log"), ran(byRegion, "write"); got != want {
		t.Errorf("the other task ran for %g ns; want %g", got, want)
	}
}

// A trace of measured tasks has the same number of tasks, and they ran for at least the executed
// time.
func TestTraceOfMeasuredTasks(t *testing.T) {
	rec := granularity.NewRecorder()
	text := traced(t, func() {
		p := &granularity.Pool{Name: "crunch", Workers: 2, Recorder: rec}
		for range 200 {
			p.Submit(traceable)
		}
		p.Close()
	})
	c := classNamed(t, readTrace(t, text, Options{}), "github.com/bottleneck-go/bottleneck/internal/tracetasks.traceable")
	measured := rec.Profile()
	m := classNamed(t, measured, "github.com/bottleneck-go/bottleneck/internal/tracetasks.traceable")
	if c.Tasks != 200 || c.Sites[0].Pool != "crunch" || !strings.Contains(leaf(c.Sites[0].Created), "TestTraceOfMeasuredTasks") {
		t.Errorf("%d tasks of the pool %q at %q", c.Tasks, c.Sites[0].Pool, leaf(c.Sites[0].Created))
	}
	if executed := m.Cycles.Sum() / measured.Hz * 1e9; measured.Hz > 0 && measured.Accuracy == "thread-time" && c.RunningNS.Sum() < 0.98*executed {
		t.Errorf("they ran for %g ns but executed for %g", c.RunningNS.Sum(), executed)
	}
}

// checkSeries: the bins of each class sum to its tasks, their times, and the time in which one of
// them was under way.
func checkSeries(t *testing.T, name string, p *granularity.Profile) {
	t.Helper()
	for i := range p.Classes {
		c := &p.Classes[i]
		var tasks int64
		var busy, active float64
		before := p.Start
		for _, b := range c.Series {
			tasks += int64(b.Ended)
			busy += float64(b.Busy)
			active, before = active+b.Active*float64(b.At-before), b.At
		}
		if len(c.Series) == 0 {
			continue
		}
		if tasks != int64(c.Tasks) || math.Abs(busy-c.WallNS.Sum()) > 1e-6*busy {
			t.Errorf("%s: the bins of %s have %d tasks of %v, want %d of %v", name, c.Name, tasks, busy, c.Tasks, c.WallNS.Sum())
		}
		if got := active / float64(p.Wall); math.Abs(got-c.ActiveShare) > 1e-6 {
			t.Errorf("%s: %s is under way for %g of the run by the bins, want %g", name, c.Name, got, c.ActiveShare)
		}
	}
}

// The numbers of all recorded traces are consistent.
func TestTraceCorpus(t *testing.T) {
	names, err := filepath.Glob("../../testdata/small/*.trace")
	if err != nil || len(names) == 0 {
		t.Skip("no traces")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, opt := range []Options{{}, {Tasks: true}, {AggregateNested: true}} {
			p, err := read(bytes.NewReader(text), opt)
			if err != nil {
				t.Fatal(name, err)
			}
			var written bytes.Buffer
			if err := granularity.WriteJSON(&written, p); err != nil {
				t.Error(name, err)
			}
			if _, err := granularity.ReadJSON(&written); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checkSeries(t, name, p)
			if u := p.Run.Utilization; u < 0 || u > 1.001 || len(p.Warnings) == 0 {
				t.Errorf("%s: used to %g, warnings %q", name, u, p.Warnings)
			}
		}
		p, err := read(bytes.NewReader(text[:len(text)*2/3]), Options{})
		var broken *timeline.Error
		if err == nil || !errors.As(err, &broken) || p != nil && !strings.Contains(strings.Join(p.Warnings, " "), "could not be read to its end") {
			t.Errorf("%s: half of it gives %v", name, err)
		}
	}
	if p, err := read(strings.NewReader("no trace"), Options{}); p != nil || err == nil {
		t.Error("an input that is not a trace was read")
	}
}

// A trace that claims a length of centuries takes neither time nor memory.
func TestTraceMachineIsBounded(t *testing.T) {
	var m traceMachine
	m.begin(0)
	m.running = 2
	m.advance(1 << 61)
	m.finish(1 << 61)
	if len(m.samples) > mostSamples || m.run.Wall != 1<<61 || m.run.CPU != 1<<62 {
		t.Errorf("%d samples, %v, %v", len(m.samples), m.run.Wall, m.run.CPU)
	}
}
