package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/verdict"
)

func setProcs(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// The demo from end to end: it prints one verdict, which is also that of the saved trace and the
// subtitle of the picture. The worker with the large file is the neck of the graph. The file is so
// large that no other program on the machine can hide it.
func TestDemo(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	dir := t.TempDir()
	svg, kept := filepath.Join(dir, "demo.svg"), filepath.Join(dir, "demo.trace")
	r := bottleneck("demo", "-o", svg, "-trace", kept, "-time", "500ms", "-workers", "3", "-files", "9", "-factor", "400")
	r.want(t, exitOK, "Bottle graph by region: ", "")

	m := regexp.MustCompile(`\nIn truth, (worker \d) had the one file that is 400 times larger than the others\.\nWrote (.*) and (.*)\.\n$`).FindStringSubmatch(r.out)
	if m == nil {
		t.Fatalf("no truth in\n%s", r.out)
	}
	if m[2] != svg || m[3] != kept {
		t.Errorf("it says that it wrote %q and %q", m[2], m[3])
	}
	var v verdict.Verdict
	if err := json.Unmarshal([]byte(bottleneck("verdict", "-format", "json", kept).out), &v); err != nil || len(v.Findings) == 0 {
		t.Fatal(err)
	}
	checks["svg"](t, string(read(t, svg)))
	words := func(s string) string {
		return strings.Join(strings.Fields(regexp.MustCompile(`<desc>.*?</desc>|<[^>]*>`).ReplaceAllString(s, " ")), " ")
	}
	for name, shown := range map[string]string{"text": words(r.out), "picture": words(string(read(t, svg)))} {
		if n := strings.Count(shown, words(v.Findings[0].Title)); n != 1 {
			t.Errorf("the %s has the sentence %q %d times:\n%s", name, v.Findings[0].Title, n, shown)
		}
	}
	if strings.Contains(r.out, "The neck:") {
		t.Errorf("there are two verdicts in\n%s", r.out)
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

// With a split queue, the neck has less than half the height, whatever else the machine does.
func TestDemoRepair(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 2)
	height := func(repair string) float64 {
		d := &demo{time: 700 * time.Millisecond, workers: 2, files: 11, factor: 400, repair: repair, procs: 2}
		run, err := d.record(t.Context(), stdio{err: new(strings.Builder)})
		if err != nil {
			t.Fatal(err)
		}
		neck, _ := run.graph.Neck()
		for _, b := range neck {
			if strings.HasPrefix(b.Group, "worker ") {
				return float64(b.Share) / float64(run.graph.Wall)
			}
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

// The trace would overwrite the picture.
func TestDemoOneFile(t *testing.T) {
	x := filepath.Join(t.TempDir(), "x.svg")
	bottleneck("demo", "-o", x, "-trace", filepath.Dir(x)+"/./x.svg").want(t, exitUsage, "", "-o and -trace are the same file")
}

// Only one trace of a program can be recorded at a time.
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
		t.Error("the tracer is still running")
	}
}
