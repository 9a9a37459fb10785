package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/workload"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func setProcs(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// The demo from end to end: its sentence names a worker, the same one is the neck of
// the graph in the trace that it keeps, and it is the one that had the large file. The large file is
// so large that no other program on the machine can hide it.
func TestDemo(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	dir := t.TempDir()
	svg, kept := filepath.Join(dir, "demo.svg"), filepath.Join(dir, "demo.trace")
	r := bottleneck("demo", "-o", svg, "-trace", kept, "-time", "500ms", "-workers", "3", "-files", "9", "-factor", "400")
	r.want(t, exitOK, "Bottle graph by region: ", "")

	m := regexp.MustCompile(`\nThe neck: (worker \d) ran alone for \S+ \S+ \(>?\d+% of the run\), a box \S+ \S+ tall and only [\d.]+ wide:\none file is 400 times larger than the rest\.\nWrote (.*) and (.*)\.\n$`).FindStringSubmatch(r.out)
	if m == nil {
		t.Fatalf("no sentence, or one without a reason, in\n%s", r.out)
	}
	if m[2] != svg || m[3] != kept {
		t.Errorf("it says that it wrote %q and %q", m[2], m[3])
	}
	checks["svg"](t, string(read(t, svg)))
	if !strings.Contains(string(read(t, svg)), m[1]) {
		t.Errorf("the picture has no %s", m[1])
	}
	g := parseGraph(t, bottleneck("graph", "-group", "region", "-format", "json", kept).out)
	tallest := g.Boxes[0]
	for _, b := range g.Boxes {
		if b.Share > tallest.Share {
			tallest = b
		}
	}
	if tallest.Group != m[1] || tallest.Parallelism >= 1.5 {
		t.Errorf("the neck of the kept trace is %+v, not %s", tallest, m[1])
	}
	// The graph can be checked in the way that the help recommends.
	bottleneck("graph", "-group", "region", "-fail", fmt.Sprintf("group(%s).parallelism<1.5", m[1]), kept).
		want(t, exitFailure, "Bottle graph", "-fail: ")
}

// A split queue has a neck of less than half the height, whatever else the machine does meanwhile.
func TestDemoRepair(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	height := func(repair string) float64 {
		d := &demo{}
		if err := d.parse([]string{"-time", "700ms", "-workers", "2", "-files", "11", "-factor", "400", "-repair", repair}); err != nil {
			t.Fatal(err)
		}
		run, err := d.record(t.Context(), stdio{err: new(strings.Builder)})
		if err != nil {
			t.Fatal(err)
		}
		if b := neckOf(run.graph); b != nil {
			return float64(b.Share) / float64(run.graph.Wall)
		}
		return 0
	}
	before, after := height(""), height("split")
	if before < 0.5 || after > before/2 {
		t.Errorf("the neck takes %.0f%% of the time before the repair, %.0f%% after it", 100*before, 100*after)
	}
	bottleneck("demo", "-repair", "hammer").want(t, exitUsage, "", "want largest-first or split")
}

func TestDemoOneProcessor(t *testing.T) {
	setProcs(t, 1)
	bottleneck("demo", "-o", filepath.Join(t.TempDir(), "x.svg")).want(t, exitFailure, "", "demo needs GOMAXPROCS >= 2")
}

// The trace would take the place of the picture.
func TestDemoOneFile(t *testing.T) {
	x := filepath.Join(t.TempDir(), "x.svg")
	bottleneck("demo", "-o", x, "-trace", filepath.Dir(x)+"/./x.svg").want(t, exitUsage, "", "-o and -trace are the same file")
}

// A program can be traced only once at a time.
func TestDemoWhileTracing(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	if err := trace.Start(new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	bottleneck("demo", "-o", filepath.Join(t.TempDir(), "x.svg")).want(t, exitFailure, "", "cannot record: ")
}

func TestDemoInterrupt(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	var out, errs strings.Builder
	status := run(ctx, []string{"demo", "-time", "1h", "-factor", "1000000", "-o", filepath.Join(t.TempDir(), "x.svg")}, nil, &out, &errs)
	outcome{status, out.String(), errs.String()}.want(t, exitFailure, "", "bottleneck: interrupted\n")
	if trace.IsEnabled() {
		t.Error("the tracer goes on")
	}
}

// The sentence says what the graph says: another graph, another sentence.
func TestSentence(t *testing.T) {
	graph := func(tall string) *bottle.Graph {
		g := &bottle.Graph{Wall: 2 * time.Second, GroupBy: "region", Boxes: []bottle.Box{
			{Group: "worker 1", Kind: bottle.Application, Share: 500 * time.Millisecond, Running: 2 * time.Second, Parallelism: 4},
			{Group: "(no region)", Kind: bottle.Application, Share: time.Millisecond, Running: time.Millisecond, Parallelism: 1},
			{Group: tall, Kind: bottle.Application, Share: 1499 * time.Millisecond, Running: 1799 * time.Millisecond, Parallelism: 1.2},
		}}
		g.SetProcs(4)
		return g
	}
	flat := graph("worker 2")
	flat.Boxes[2].Parallelism, flat.Boxes[2].Running = 3.9, 5846*time.Millisecond
	flat.SetProcs(4)
	worker := func(names ...string) *workload.Result {
		r := &workload.Result{}
		for _, name := range names {
			r.Workers = append(r.Workers, workload.Worker{Name: name, Large: name == names[0]})
		}
		return r
	}
	for _, tt := range []struct {
		name string
		run  demoRun
		want string
	}{
		{"worker 2", demoRun{factor: 60, graph: graph("worker 2"), result: worker("worker 2", "worker 1"), alone: map[string]time.Duration{"worker 2": 1399 * time.Millisecond}},
			"The neck: worker 2 ran alone for 1.4 s (70% of the run), a box 1.5 s tall and only 1.20 wide:\none file is 60 times larger than the rest."},
		{"worker 3", demoRun{factor: 9, graph: graph("worker 3"), result: worker("worker 3"), alone: map[string]time.Duration{"worker 3": time.Second}},
			"The neck: worker 3 ran alone for 1 s (50% of the run), a box 1.5 s tall and only 1.20 wide:\none file is 9 times larger than the rest."},
		{"another reason", demoRun{factor: 60, graph: graph("worker 2"), result: worker("worker 1", "worker 2"), alone: map[string]time.Duration{"worker 2": time.Second}},
			"The neck: worker 2 ran alone for 1 s (50% of the run), a box 1.5 s tall and only 1.20 wide."},
		{"no neck", demoRun{factor: 60, graph: flat, result: worker("worker 2")}, "This time no worker is the neck"},
	} {
		if got := tt.run.sentence(); !strings.HasPrefix(got, tt.want) || tt.name != "no neck" && got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Time alone is that with one goroutine running, and belongs to its region.
func TestLoneliness(t *testing.T) {
	var l loneliness
	region := func(name string) []timeline.Region { return []timeline.Region{{Type: name}} }
	a := &timeline.Goroutine{Index: 0, Regions: region("a")}
	b := &timeline.Goroutine{Index: 1, Regions: region("b")}
	other := &timeline.Goroutine{Index: 2}
	step := func(g *timeline.Goroutine, at timeline.Time, to timeline.State) {
		l.Transition(&timeline.Transition{Interval: timeline.Interval{G: g, End: at}, To: to})
	}
	l.Begin(&timeline.Begin{Time: 100})
	step(a, 100, timeline.Running)
	step(b, 110, timeline.Running)     // a alone for 10
	step(b, 150, timeline.Syscall)     // both: a syscall that holds its P counts as running
	step(a, 160, timeline.Waiting)     // still both
	step(other, 163, timeline.Running) // b alone for 3
	step(b, 170, timeline.Runnable)
	step(other, 200, timeline.NotExist) // in no region
	step(a, 205, timeline.Running)
	a.Regions = nil
	l.Region(&timeline.RegionEvent{G: a, Time: 212, Region: timeline.Region{Type: "a"}}) // a alone for 7
	step(a, 300, timeline.NotExist)
	if l.alone["a"] != 17 || l.alone["b"] != 3 || len(l.alone) != 2 {
		t.Errorf("alone: %v, want a 17, b 3", l.alone)
	}
}
