package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// contentionProfile saves a profile of one lock: a worker that waited for a janitor, who held it
// all the time but for 1 ms.
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
		Pairs: []contention.Pair{{Kind: contention.MutexKind, Lock: l, Waiter: worker, Owner: janitor, Contentions: contentions, Blamed: waited - time.Millisecond}},
	}
	return asJSON(t, name, p)
}

// taskProfile saves a profile of one class whose tasks all execute so many cycles and are blocked
// half of their time.
func taskProfile(t *testing.T, name string, tasks, cycles uint64, d granularity.Diagnosis) string {
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
	for _, want := range []string{"waited ", "3.00x", "mutex  lru.Cache", "main.janitor", "100 ms  200 ms  +100 ms", "1 row changed by less"} {
		if !strings.Contains(out.out, want) {
			t.Errorf("no %q in\n%s%s", want, out.out, out.err)
		}
	}
	// Saved and as a trace, it is the same.
	profile := saved(t, "m.json", "contention", "-format", "json", mutexTrace)
	bottleneck("diff", "-kind", "contention", "-fail", "waited > 1x, contentions < 1x", profile, mutexTrace).want(t, exitOK, "mutex", "")
	bottleneck("diff", "-kind=contention", computeTrace, mutexTrace).want(t, exitOK, "work.mutexWorker", "")

	var got struct {
		What     string
		Measures []measureJSON
		Changes  []map[string]any
	}
	r := bottleneck("diff", "-format=json", before, after)
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Changes[0]
	if got.What != "contention profile" || len(got.Measures) != len(contentionMeasures.whole) || *got.Measures[0].After != 201e6 ||
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
	// A trace without regions has no tasks.
	bottleneck("diff", "-kind=tasks", mutexTrace, computeTrace).want(t, exitOK, "No rows", "")
	bottleneck("diff", before, asJSON(t, "none.json", &granularity.Profile{})).want(t, exitOK, "measured differently", "")

	var got struct {
		What     string
		Measures []measureJSON
		Changes  []map[string]any
	}
	r := bottleneck("diff", "-format=json", before, after)
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Changes[0]
	if got.What != "profile of tasks" || len(got.Measures) != len(tasksMeasures.whole) || c["class"] != "example.com/app/main.crunch" || c["tasks_before"] != 100. ||
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
		{"-kind luck a b", exitUsage, `want graph, ledger, stack, contention or tasks, not "luck"`},
		{locks + " " + tasks, exitUsage, "is a contention profile, "},
		{locks + " " + mutexTrace, exitUsage, "a bottle graph: they cannot be compared; -kind says what to make of a trace"},
		{"-kind tasks " + locks + " " + locks, exitUsage, "is a contention profile: that is no -kind tasks"},
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
