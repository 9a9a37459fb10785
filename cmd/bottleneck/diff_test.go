package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/measures"
)

// saved writes the output of a command into a file.
func saved(t *testing.T, name string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	r := bottleneck(args...)
	if r.status != exitOK {
		t.Fatal(r.err)
	}
	if err := os.WriteFile(file, []byte(r.out), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDiff(t *testing.T) {
	graph := saved(t, "g.json", "graph", "-format", "json", computeTrace)
	stack := saved(t, "a.json", "speedup", "-estimate", "-format", "json", computeTrace)
	other := saved(t, "b.json", "speedup", "-estimate", "-format", "json", computeTrace, mutexTrace)

	bottleneck("diff", computeTrace, mutexTrace).want(t, exitOK, "work.mutexWorker", "")
	bottleneck("diff", graph, mutexTrace).want(t, exitOK, "work.mutexWorker", "")
	bottleneck("diff", graph, computeTrace).want(t, exitOK, " all\n", "")
	bottleneck("diff", stack, other).want(t, exitOK, "speed-up ", "")

	dir := t.TempDir()
	for _, pair := range [][2]string{{computeTrace, mutexTrace}, {stack, other}} {
		svg, png, text := filepath.Join(dir, "d.svg"), filepath.Join(dir, "d.png"), filepath.Join(dir, "d.txt")
		bottleneck("diff", "-o", svg, "-o", png, "-o", text, pair[0], pair[1]).want(t, exitOK, "", "")
		if b, err := os.ReadFile(svg); err != nil || !strings.Contains(string(b), "before") || !strings.Contains(string(b), "after") {
			t.Errorf("%v", err)
		}
		r := bottleneck("diff", "-format", "json", pair[0], pair[1])
		var out struct {
			What              string
			Measures, Changes []struct {
				Name          string
				Before, After *float64
			}
		}
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || out.What == "" || len(out.Measures) < 2 || len(out.Changes) < 2 || out.Measures[0].Before == nil {
			t.Errorf("%v\n%s", err, r.out)
		}
	}

	for _, tt := range []struct {
		fail, before, after string
		status              int
		err                 string
	}{
		{"parallelism < 0.9x", computeTrace, mutexTrace, exitFailure, "parallelism < 0.9x: got 1.22, was 2.00: 0.61x"},
		{"parallelism < 0.5x", computeTrace, mutexTrace, exitOK, ""},
		{"parallelism<1.5", computeTrace, mutexTrace, exitFailure, "parallelism<1.5: got 1.22"},
		{"neck-% > 1.1x", graph, computeTrace, exitOK, ""},
		{"neck-%>1.1x, wall>100x", computeTrace, mutexTrace, exitFailure, "neck-%>1.1x"},
		{"wall>1ns", computeTrace, mutexTrace, exitFailure, "wall>1ns"},
		{"group(work.computeWorker).share-%<=1x", computeTrace, computeTrace, exitFailure, "1.00x"},
		{"sync-mutex>1.1x", stack, other, exitFailure, "sync-mutex>1.1x: got 0.72, was 0.00"},
		{"speedup<0.9x", stack, other, exitFailure, "speedup<0.9x"},
		{"speedup<0.9x", other, stack, exitOK, ""},
		{"remainder>=5", stack, other, exitOK, ""},
	} {
		r := bottleneck("diff", "-format", "json", "-fail", tt.fail, tt.before, tt.after)
		if r.status != tt.status || !strings.Contains(r.err, tt.err) || tt.err == "" && r.err != "" {
			t.Errorf("%s: %d, %q; want %d, %q", tt.fail, r.status, r.err, tt.status, tt.err)
		}
	}
}

// Either side may come from standard input or from a server, as a trace or as a saved result.
// TestDiffOfSeveralRuns: of three runs on each side, a condition has to hold with confidence. The
// expected intervals and probabilities are those of tables: t(0.975, 2) is 4.303, and Welch's t of
// two samples with a deviation of 2 s and means 1 s apart is 0.61, far from significant.
func TestDiffOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, wall time.Duration) string {
		g := sample()
		g.Idle += wall - g.Wall
		g.Wall = wall
		g.SetProcs(4)
		file := filepath.Join(dir, name+".json")
		var b bytes.Buffer
		if err := bottle.WriteJSON(&b, g); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	runs := func(name string, walls ...time.Duration) (files []string) {
		for i, w := range walls {
			files = append(files, save(fmt.Sprint(name, i), w*time.Millisecond))
		}
		return files
	}
	quiet, slower := runs("quiet", 10_000, 10_100, 9_900), runs("slower", 11_000, 11_100, 10_900)
	noisy, loud := runs("noisy", 10_000, 12_000, 8_100), runs("loud", 11_000, 13_000, 9_100)
	diff := func(args []string, before, after []string) outcome {
		return bottleneck(slices.Concat([]string{"diff"}, args, before, []string{"--"}, after)...)
	}
	diff([]string{"-fail", "wall > 1.05x"}, quiet, slower).want(t, exitFailure, "3 runs before and 3 after", "-fail: wall > 1.05x: got 11s ± 248ms")
	diff([]string{"-fail", "wall > 1.05x"}, noisy, loud).want(t, exitOK, "may be chance", "passes, because that may be chance")
	diff([]string{"-fail", "wall > 9s"}, quiet, slower).want(t, exitFailure, "significant", "wall > 9s: got 11s")
	diff([]string{"-fail", "wall > 1.2x"}, quiet, slower).want(t, exitOK, "1.10x", "")
	diff([]string{"-format", "md"}, quiet, quiet).want(t, exitOK, "| wall | 10s ± 248ms", "")
	var out struct {
		Measures []struct {
			Name string
			Runs [2][]float64
		}
	}
	if err := json.Unmarshal([]byte(diff([]string{"-format", "json"}, quiet, slower).out), &out); err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Measures {
		if want := [2][]float64{{10e9, 10.1e9, 9.9e9}, {11e9, 11.1e9, 10.9e9}}; m.Name == "wall" && !reflect.DeepEqual(m.Runs, want) {
			t.Errorf("runs %v, want %v", m.Runs, want)
		}
	}
	diff(nil, quiet, slower[:1]).want(t, exitUsage, "", "one run on a side has no confidence interval")
	bottleneck("diff", quiet[0], quiet[1], quiet[2]).want(t, exitUsage, "", "of several runs, -- separates the sides")
}

func TestDiffSources(t *testing.T) {
	graph := saved(t, "a.json", "graph", "-format", "json", computeTrace)
	want := bottleneck("diff", graph, graph).out
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(graph))))
	defer server.Close()
	for _, name := range []string{graph, computeTrace} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []io.Reader{bytes.NewReader(data), io.LimitReader(bytes.NewReader(data), 1<<40)} {
			if r := commandWith(in, "diff", "-", server.URL+"/a.json"); r.status != exitOK || r.out != want {
				t.Errorf("%s: status %d, %s\n%s\nwant\n%s", name, r.status, r.err, r.out, want)
			}
		}
	}
	bottleneck("diff", graph, server.URL+"/nowhere").want(t, exitFailure, "", "404")
}

func TestDiffErrors(t *testing.T) {
	stack := saved(t, "a.json", "speedup", "-estimate", "-format", "json", computeTrace)
	graph := saved(t, "g.json", "graph", "-format", "json", computeTrace)
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"", exitUsage, "want two runs"},
		{"a", exitUsage, "want two runs to compare, OLD and NEW, not 1;"},
		{"-format dot a b", exitUsage, `-format dot: want`},
		{"-o x.dot a b", exitUsage, "-o x.dot"},
		{"-group nonsense a b", exitUsage, "unknown grouping"},
		{"-group creator -kind tasks a b", exitUsage, "-group is for graphs"},
		{"-group creator " + graph + " " + graph, exitUsage, "-group is for traces"},
		{"-group creator " + stack + " " + stack, exitUsage, "-group is for graphs"},
		{"- -", exitUsage, "standard input is named twice"},
		{"-fail nonsense a b", exitUsage, "is not a condition"},
		{"-fail neck>1x a b", exitUsage, "did you mean neck-%"},
		{"-fail neck-%>ax a b", exitUsage, "want a quotient such as 1.1x"},
		{"-fail luck>1 a b", exitUsage, "unknown name"},
		{"-fail run>1 a b", exitUsage, "unknown name"},
		{"nowhere.trace b", exitFailure, "nowhere.trace: no such file"},
		{stack + " " + computeTrace, exitUsage, "is a speedup stack"},
		{"-fail speedup<1x " + computeTrace + " " + computeTrace, exitUsage, "a bottle graph has no speedup"},
		{"-fail parallelism<1x " + stack + " " + stack, exitUsage, "a speedup stack has no parallelism"},
		{computeTrace + " run_test.go", exitFailure, "run_test.go: not a Go execution trace"},
		{"-o /nowhere/x.svg " + computeTrace + " " + computeTrace, exitFailure, "writing /nowhere/x.svg"},
	} {
		bottleneck(append([]string{"diff"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
}

// contentionProfile saves a profile of one lock: a worker waited for a janitor, which held it for
// all but 1 ms of the time.
func contentionProfile(t *testing.T, name string, contentions int64, waited time.Duration) string {
	t.Helper()
	l := &contention.Lock{ID: 7, Class: "example.com/lru.Cache"}
	worker, janitor := contention.Party{Group: "main.worker"}, contention.Party{Group: "main.janitor"}
	p := contention.Profile{
		Source: contention.FromWrappers, Accuracy: contention.Exact, Duration: time.Second, Locks: []*contention.Lock{l},
		Waits: []contention.Wait{{
			Kind: contention.MutexKind, Lock: l, Waiter: worker, Contentions: contentions, Observed: contentions,
			Waited: waited, Blamed: waited - time.Millisecond, HandOff: time.Millisecond,
		}},
		Pairs: []contention.Wait{{Kind: contention.MutexKind, Lock: l, Waiter: worker, Owner: janitor, Contentions: contentions, Blamed: waited - time.Millisecond}},
	}
	return asJSON(t, name, p)
}

// taskProfile saves a profile of one class whose tasks all execute the given number of cycles and
// are blocked half of their time.
func taskProfile(t *testing.T, name string, tasks, cycles uint64, d string) string {
	t.Helper()
	c := granularity.Class{Name: "example.com/app/main.crunch", Tasks: tasks, Diagnosis: d}
	for range tasks {
		c.Cycles.Add(cycles)
		c.WallNS.Add(2 * cycles)
		c.BlockedNS.Add(cycles)
	}
	return asJSON(t, name, &granularity.Profile{Source: "rseq-clock", Accuracy: "counted", Hz: 1e9, Procs: 2, Wall: time.Second, Classes: []granularity.Class{c}})
}

func asJSON(t *testing.T, name string, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDiffContention(t *testing.T) {
	before, after := contentionProfile(t, "a.json", 100, 101*time.Millisecond), contentionProfile(t, "b.json", 300, 201*time.Millisecond)
	out := bottleneck("diff", before, after)
	for _, want := range []string{"waited ", "3.00x", "mutex  lru.Cache", "main.janitor", "100 ms  200 ms  +100 ms", " all\n"} {
		if !strings.Contains(out.out, want) {
			t.Errorf("no %q in\n%s%s", want, out.out, out.err)
		}
	}
	bottleneck("diff", "-kind", "graph", "missing.trace", mutexTrace).want(t, exitFailure, "", "missing.trace: no such file")
	// The result is the same from saved files and from traces.
	profile := saved(t, "m.json", "contention", "-format", "json", mutexTrace)
	bottleneck("diff", "-kind", "contention", "-fail", "waited > 1x, contentions < 1x", profile, mutexTrace).want(t, exitOK, "mutex", "")
	bottleneck("diff", "-kind=contention", computeTrace, mutexTrace).want(t, exitOK, "work.mutexWorker", "")

	var got struct {
		What     string
		Measures []artifact.Compared
		Changes  []map[string]any
	}
	r := bottleneck("diff", "-format=json", before, after)
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Changes[0]
	if got.What != "contention profile" || len(got.Measures) != len(measures.Contention.All()) || *got.Measures[0].After != 201e6 ||
		c["owner_group"] != "main.janitor" || c["lock"] != "example.com/lru.Cache" || c["contentions_before"] != 100. || c["time_ns_before"] != 100e6 || c["contentions_after"] != 300. || c["time_ns_after"] != 200e6 {
		t.Errorf("%s", r.out)
	}
	checkFails(t, before, after, []failTest{
		{"waited > 1.1x", "waited > 1.1x: got 201ms, was 101ms: 1.99x"},
		{"waited > 2x", ""},
		{"waited > 200ms", "got 201ms"},
		{"contentions > 1.1x", "got 300.00, was 100.00: 3.00x"},
		{"contentions > 500", ""},
		{"lock(lru.Cache).waited > 1.1x", "1.99x"},
		{"lock(example.com/lru.Cache).contentions > 1.1x", "3.00x"},
		{"lock(nobody).contentions > 1.1x", ""},
		{"handoff-% > 1.1x", ""},
	})
}

func TestDiffTasks(t *testing.T) {
	before, after := taskProfile(t, "a.json", 100, 1<<20, granularity.OK), taskProfile(t, "b.json", 400, 1<<22, granularity.Coarse)
	out := bottleneck("diff", before, after)
	for _, want := range []string{"main.crunch", "100    400", "4.00x", "+300", "ok                coarse"} {
		if !strings.Contains(out.out, want) {
			t.Errorf("no %q in\n%s%s", want, out.out, out.err)
		}
	}
	// The tasks of traces without regions are their goroutines.
	bottleneck("diff", "-kind=tasks", mutexTrace, computeTrace).want(t, exitOK, "2  added  work.computeWorker", "")
	bottleneck("diff", before, asJSON(t, "none.json", &granularity.Profile{})).want(t, exitOK, "measured differently", "")

	var got struct {
		What     string
		Measures []artifact.Compared
		Changes  []map[string]any
	}
	r := bottleneck("diff", "-format=json", before, after)
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Changes[0]
	if got.What != "profile of tasks" || len(got.Measures) != len(measures.Tasks.All()) || c["class"] != "example.com/app/main.crunch" || c["tasks_before"] != 100. ||
		c["p50_after"] != 4*c["p50_before"].(float64) || c["diagnosis_after"] != "coarse" {
		t.Errorf("%s", r.out)
	}
	checkFails(t, before, after, []failTest{
		{"tasks > 3x", "got 400.00, was 100.00: 4.00x"},
		{"tasks > 500", ""},
		{"coarse-tasks-% > 50", "got 100.00%"},
		{"fine-tasks-% > 1x", ""},
		{"tasks(main.crunch).p50 > 1.2x", "4.00x"},
		{"tasks(example.com/app/main.crunch).mean > 1.2x", "4.00x"},
		{"tasks(main.crunch).p99 < 1x", ""},
		{"tasks(main.crunch).count > 399", "got 400.00"},
		{"tasks(main.crunch).blocked-% > 1.1x", ""},
		{"tasks(main.crunsh).p50 > 1.2x", "did you mean \"main.crunch\"?"},
	})
}

type failTest struct{ fail, err string }

// checkFails checks that diff fails with err, or not if that is empty.
func checkFails(t *testing.T, before, after string, tests []failTest) {
	t.Helper()
	for _, tt := range tests {
		status := exitOK
		if tt.err != "" {
			status = exitFailure
		}
		r := bottleneck("diff", "-fail", tt.fail, before, after)
		if r.status != status || !strings.Contains(r.err, tt.err) || tt.err == "" && r.err != "" {
			t.Errorf("%s: %d, %q; want %d, %q", tt.fail, r.status, r.err, status, tt.err)
		}
	}
}

func TestDiffStackOfTraces(t *testing.T) {
	bottleneck("diff", "-kind=stack", computeTrace, mutexTrace).want(t, exitOK, "speed-up ", "")
	bottleneck("diff", "-kind=graph", computeTrace, mutexTrace).want(t, exitOK, "parallelism", "")
}

func TestDiffKindErrors(t *testing.T) {
	locks, tasks := contentionProfile(t, "c.json", 10, time.Second), taskProfile(t, "t.json", 10, 1000, granularity.OK)
	byTime := asJSON(t, "trace.json", &granularity.Profile{Source: granularity.SourceTrace})
	wrong := filepath.Join(t.TempDir(), "w.json")
	if err := os.WriteFile(wrong, []byte(`{"waits":[{"kind":"luck"}],"wait_ns":0}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"-kind luck a b", exitUsage, "-kind luck: want graph, ledger, stack, contention or tasks"},
		{locks + " " + tasks, exitUsage, "is a contention profile, "},
		{locks + " " + mutexTrace, exitUsage, "a bottle graph: they cannot be compared; -kind chooses what is made of a trace"},
		{"-kind tasks " + locks + " " + locks, exitUsage, "-kind tasks: " + locks + " is a contention profile"},
		{"-format svg " + locks + " " + locks, exitUsage, "there are no pictures that compare a contention profile with another"},
		{"-o " + filepath.Join(t.TempDir(), "x.png") + " " + tasks + " " + tasks, exitUsage, "there are no pictures"},
		{"-fail waited>1x " + tasks + " " + tasks, exitUsage, "a profile of tasks has no waited"},
		{"-fail tasks>1x " + locks + " " + locks, exitUsage, "a contention profile has no tasks"},
		{"-fail wait>1x a b", exitUsage, "did you mean waited?"},
		{"-fail waited>1 a b", exitUsage, "waited wants a duration"},
		{"-fail lock(x).waitd>1x a b", exitUsage, "did you mean waited?"},
		{"-fail lock(x>1x a b", exitUsage, `"lock(" is never closed`},
		{"-fail lock().waited>1x a b", exitUsage, "want lock(NAME).waited"},
		{"-fail tasks(x)>1x a b", exitUsage, "want tasks(NAME).p50"},
		{"-fail group(x)>1x a b", exitUsage, "want group(NAME).share-%"},
		{"-fail tasks(crunch).p50>1x " + tasks + " " + byTime, exitFailure, "it is in nanoseconds, but was in cycles"},
		{wrong + " " + locks, exitFailure, "w.json: contention: "},
		{"-kind contention run_test.go " + mutexTrace, exitFailure, "not a Go execution trace"},
		{"-kind tasks run_test.go " + mutexTrace, exitFailure, "not a Go execution trace"},
		{"-kind stack run_test.go " + mutexTrace, exitFailure, "not a Go execution trace"},
	} {
		r := bottleneck(append([]string{"diff"}, strings.Fields(tt.args)...)...)
		if r.status != tt.status || !strings.Contains(r.err, tt.err) || r.out != "" {
			t.Errorf("%s: %d, %q, %q; want %d, %q", tt.args, r.status, r.out, r.err, tt.status, tt.err)
		}
	}
}
