package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// parts makes the graphs, or other things, of two traces.
func parts(t *testing.T, command, ext string, args ...string) (dir, a, b string) {
	t.Helper()
	dir = t.TempDir()
	a, b = filepath.Join(dir, "a"+ext), filepath.Join(dir, "b"+ext)
	for name, trace := range map[string]string{a: mutexTrace, b: phasesTrace} {
		bottleneck(append([]string{command, "-o", name, trace}, args...)...).want(t, exitOK, "", "")
	}
	return dir, a, b
}

// The sum of two graphs has all times of both, for each group and in all.
func TestMergeGraphs(t *testing.T) {
	dir, a, b := parts(t, "graph", ".json")
	sum := filepath.Join(dir, "sum.json")
	bottleneck("merge", "-o", sum, a, b).want(t, exitOK, "", "")
	x, y, z := parseGraph(t, string(read(t, a))), parseGraph(t, string(read(t, b))), parseGraph(t, string(read(t, sum)))
	if z.Wall != x.Wall+y.Wall || z.Idle != x.Idle+y.Idle || z.Procs != max(x.Procs, y.Procs) {
		t.Errorf("wall %d, idle %d, %d processors", z.Wall, z.Idle, z.Procs)
	}
	type times struct{ goroutines, share, running, runnable, waiting int64 }
	add := func(to map[string]times, g graphObject) map[string]times {
		for _, b := range g.Boxes {
			s := to[b.Group+b.Kind]
			s.goroutines += int64(b.Goroutines)
			s.share += b.Share
			s.running += b.Running
			s.runnable += b.Runnable
			for _, d := range b.Waiting {
				s.waiting += d
			}
			to[b.Group+b.Kind] = s
		}
		return to
	}
	want, got := add(add(map[string]times{}, x), y), add(map[string]times{}, z)
	if fmt.Sprint(want) != fmt.Sprint(got) || len(z.Boxes) != len(got) {
		t.Errorf("the boxes are\n%v, want\n%v", got, want)
	}
	var head struct{ Instances int }
	if err := json.Unmarshal(read(t, sum), &head); err != nil || head.Instances != 2 {
		t.Errorf("instances: %d, %v", head.Instances, err)
	}
	// A sum of sums, and the other forms.
	bottleneck("merge", a, sum).want(t, exitOK, "Merged: 3 instances from 2 sources. Times are sums over them.\n\nBottle graph", "")
	for _, form := range []string{"json", "csv", "svg", "png", "pprof"} {
		if r := bottleneck("merge", "-format", form, a, b); r.status != exitOK || len(r.out) < 100 {
			t.Errorf("%s: status %d, %d bytes, %s", form, r.status, len(r.out), r.err)
		}
	}
	// Traces are read as graphs are.
	if r := bottleneck("merge", "-format", "json", mutexTrace, b); r.out != string(read(t, sum)) {
		t.Errorf("traces give another sum: %s", r.err)
	}
}

// sums of numbers anywhere in JSON, by key.
func sums(t *testing.T, data []byte, keys ...string) map[string]float64 {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				if n, ok := e.(float64); ok {
					out[k] += n
				}
				walk(e)
			}
		}
	}
	walk(v)
	kept := map[string]float64{}
	for _, k := range keys {
		n, ok := out[k]
		if !ok {
			t.Fatalf("no %q in %.300s", k, data)
		}
		kept[k] = n
	}
	return kept
}

func TestMergeContention(t *testing.T) {
	dir, a, b := parts(t, "contention", ".json")
	sum := filepath.Join(dir, "sum.json")
	bottleneck("merge", "-o", sum, a, b).want(t, exitOK, "", "")
	keys := []string{"contentions", "wait_ns", "handoff_ns", "duration_ns"}
	x, y, z := sums(t, read(t, a), keys...), sums(t, read(t, b), keys...), sums(t, read(t, sum), keys...)
	for _, k := range keys {
		if z[k] != x[k]+y[k] || z[k] == 0 {
			t.Errorf("%s: %v, want %v + %v", k, z[k], x[k], y[k])
		}
	}
	bottleneck("merge", a, b).want(t, exitOK, "Merged: 2 instances. ", "")
	for _, form := range []string{"csv", "svg", "pprof", "dot", "folded"} {
		if r := bottleneck("merge", "-format", form, a, b); r.status != exitOK || len(r.out) < 100 {
			t.Errorf("%s: status %d, %d bytes, %s", form, r.status, len(r.out), r.err)
		}
	}
	if r := bottleneck("merge", "-kind", "contention", "-format", "json", mutexTrace, b); r.out != string(read(t, sum)) {
		t.Errorf("traces give another sum: %s", r.err)
	}
}

func TestMergeTasks(t *testing.T) {
	a, b := tasksFile(t), tasksFile(t)
	sum := filepath.Join(t.TempDir(), "sum.json")
	bottleneck("merge", "-o", sum, a, b).want(t, exitOK, "", "")
	p, err := granularity.ReadJSON(bytes.NewReader(read(t, sum)))
	if err != nil {
		t.Fatal(err)
	}
	// Each has two classes of 1,000 tasks of 700 cycles, in a second.
	if len(p.Classes) != 2 || p.Wall != 2*time.Second || p.Instances != 2 {
		t.Fatalf("%d classes, %v, %d instances", len(p.Classes), p.Wall, p.Instances)
	}
	for _, c := range p.Classes {
		if c.Tasks != 2000 || len(c.Sites) != 1 || c.Sites[0].Tasks != 2000 || c.Cycles.Sum() != 2000*700 {
			t.Errorf("%s: %d tasks, %v cycles, sites %+v", c.Name, c.Tasks, c.Cycles.Sum(), c.Sites)
		}
	}
	bottleneck("merge", a, b).want(t, exitOK, "Merged: 2 instances. ", "")
	bottleneck("merge", a, b).want(t, exitOK, "4,000 tasks of 2 classes", "")
	for _, form := range []string{"csv", "svg", "png", "pprof"} {
		if r := bottleneck("merge", "-format", form, a, b); r.status != exitOK || len(r.out) < 100 {
			t.Errorf("%s: status %d, %d bytes, %s", form, r.status, len(r.out), r.err)
		}
	}
	bottleneck("merge", "-format", "dot", a, b).want(t, exitUsage, "", "there is no dot of a merged profile of tasks")
}

// Profiles for pprof add up value by value, of all kinds.
func TestMergeProfiles(t *testing.T) {
	for _, command := range []string{"graph", "contention"} {
		dir, a, b := parts(t, command, ".pb.gz")
		sum := filepath.Join(dir, "sum.pb.gz")
		bottleneck("merge", "-o", sum, a, b).want(t, exitOK, "", "")
		total := func(name string) (v [2]int64, p *profile.Profile) {
			p, err := profile.ParseData(read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Sample {
				v[0] += s.Value[0]
				v[1] += s.Value[1]
			}
			return v, p
		}
		x, _ := total(a)
		y, _ := total(b)
		z, p := total(sum)
		if z != [2]int64{x[0] + y[0], x[1] + y[1]} || z[0] == 0 || p.CheckValid() != nil {
			t.Errorf("%s: %v, want %v + %v", command, z, x, y)
		}
		if !strings.Contains(strings.Join(p.Comments, "\n"), "instances: 2") {
			t.Errorf("comments: %q", p.Comments)
		}
		more := filepath.Join(dir, "more.pb.gz")
		bottleneck("merge", "-o", more, a, sum).want(t, exitOK, "", "")
		if _, p = total(more); profileInstances(p) != 3 {
			t.Errorf("comments: %q", p.Comments)
		}
		bottleneck("merge", a, b).want(t, exitUsage, "", "say -o FILE.pb.gz")
		bottleneck("merge", "-o", filepath.Join(dir, "x.svg"), a, b).want(t, exitUsage, "", "there is no svg of a merged profile of pprof")
	}
}

// Services are asked for what -kind says.
func TestMergeURLs(t *testing.T) {
	_, a, _ := parts(t, "graph", ".json")
	_, c, _ := parts(t, "contention", ".json")
	asked := make(chan string, 9)
	mux := http.NewServeMux()
	for name, file := range map[string]string{"graph": a, "contention": c} {
		mux.HandleFunc("/at/"+name, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.RequestURI()
			http.ServeFile(w, r, file)
		})
	}
	s, other := httptest.NewServer(mux), httptest.NewServer(mux)
	defer s.Close()
	defer other.Close()
	for _, tt := range []struct {
		args []string
		asks string
	}{
		{[]string{s.URL + "/at/", other.URL + "/at/"}, "/at/graph?format=json&seconds=5"},
		{[]string{"-seconds", "0.5", "-kind", "contention", s.URL + "/at/", other.URL + "/at/"}, "/at/contention?format=json&seconds=0.5"},
		{[]string{s.URL + "/at/contention?seconds=2", other.URL + "/at/contention?seconds=2"}, "/at/contention?format=json&seconds=2"},
		{[]string{s.URL + "/at/graph", other.URL + "/at/graph"}, "/at/graph?format=json"},
	} {
		bottleneck(append([]string{"merge"}, tt.args...)...).want(t, exitOK, "Merged: 2 instances. ", "")
		for range 2 {
			if got := <-asked; got != tt.asks {
				t.Errorf("%q: asked for %s, want %s", tt.args, got, tt.asks)
			}
		}
	}
	bottleneck("merge", s.URL+"/at/", other.URL+"/nowhere/").want(t, exitFailure, "", "/nowhere/graph?format=json&seconds=5: the server answers 404")
}

func TestMergeMistakes(t *testing.T) {
	dir, graph, _ := parts(t, "graph", ".json")
	_, waits, _ := parts(t, "contention", ".json")
	_, packed, _ := parts(t, "graph", ".pb.gz")
	_, packedWaits, _ := parts(t, "contention", ".pb.gz")
	_, creators, _ := parts(t, "graph", ".json", "-group", "creator")
	foreign := filepath.Join(dir, "cpu.pb.gz")
	var buf bytes.Buffer
	if err := (&profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}).Write(&buf); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.pb.gz")
	stack := filepath.Join(dir, "stack.json")
	bottleneck("speedup", "-o", stack, computeTrace, mutexTrace).want(t, exitOK, "", "")
	for name, data := range map[string][]byte{foreign: buf.Bytes(), cut: read(t, packed)[:300]} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.json")
	for _, tt := range []struct {
		args   []string
		status int
		err    string
	}{
		{nil, exitUsage, "nothing to merge"},
		{[]string{graph, graph}, exitUsage, "is given twice"},
		{[]string{"-kind", "stack", graph}, exitUsage, "-kind: want graph, contention or tasks"},
		{[]string{graph, waits}, exitUsage, "is a bottle graph, " + waits + " a contention profile: they cannot be merged"},
		{[]string{graph, packed}, exitUsage, "cannot be merged"},
		{[]string{packed, packedWaits}, exitUsage, "a profile of pprof, of contentions/count and delay/nanoseconds and ready/nanoseconds: they cannot be merged"},
		{[]string{graph, creators}, exitFailure, "bottle: merging: "},
		{[]string{"-kind", "tasks", graph}, exitUsage, "is a bottle graph: that is no -kind tasks"},
		{[]string{foreign}, exitUsage, "that this program has not made"},
		{[]string{cut}, exitFailure, "it is no profile of pprof"},
		{[]string{stack}, exitUsage, "is a speedup stack: there is no sum of them"},
		{[]string{graph, filepath.Join(dir, "missing")}, exitFailure, "missing: "},
		{[]string{"-o", "x.gif", graph}, exitUsage, "want a file ending in .svg"},
	} {
		bottleneck(append([]string{"merge", "-o", out}, tt.args...)...).want(t, tt.status, "", tt.err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}

// A saved graph can be drawn again, but not made anew.
func TestGraphOfJSON(t *testing.T) {
	_, a, _ := parts(t, "graph", ".json")
	if got, want := bottleneck("graph", "-format", "csv", a), bottleneck("graph", "-format", "csv", mutexTrace); got.status != exitOK || got.out != want.out {
		t.Errorf("%s%s, want %s", got.err, got.out, want.out)
	}
	for _, args := range []string{"-window 1s", "-offered", "-from 1ms", "-group creator"} {
		bottleneck(append([]string{"graph", a}, strings.Fields(args)...)...).want(t, exitUsage, "", "is a graph already")
	}
}
