package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// parts makes the graphs, or other results, of two traces.
func parts(t *testing.T, command, ext string, args ...string) (dir, a, b string) {
	t.Helper()
	dir = t.TempDir()
	a, b = filepath.Join(dir, "a"+ext), filepath.Join(dir, "b"+ext)
	for name, trace := range map[string]string{a: mutexTrace, b: phasesTrace} {
		bottleneck(append([]string{command, "-o", name, trace}, args...)...).want(t, exitOK, "", "")
	}
	return dir, a, b
}

// The sum of two graphs has the times of both, for each group and in total.
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
	// Traces can be merged like graphs.
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
	for _, form := range []string{"csv", "svg", "pprof", "folded"} {
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
	bottleneck("merge", "-format", "folded", a, b).want(t, exitUsage, "", "a merged profile of tasks cannot be written as folded")
}

// -kind decides what a service is asked for.
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
	_, creators, _ := parts(t, "graph", ".json", "-group", "creator")
	stack := filepath.Join(dir, "stack.json")
	bottleneck("speedup", "-o", stack, computeTrace, mutexTrace).want(t, exitOK, "", "")
	out := filepath.Join(dir, "out.json")
	for _, tt := range []struct {
		args   []string
		status int
		err    string
	}{
		{nil, exitUsage, "nothing to merge"},
		{[]string{"-files-from", "-", "-"}, exitUsage, "standard input is a source and the list of -files-from"},
		{[]string{"-files-from", filepath.Join(dir, "missing")}, exitFailure, "-files-from: " + filepath.Join(dir, "missing") + ": no such file"},
		{[]string{"-files-from", dir}, exitFailure, "is a directory"},
		{[]string{"-spread", "x.json", graph}, exitUsage, "-spread x.json: want a file ending in .csv"},
		{[]string{"-partial", filepath.Join(dir, "missing"), packed}, exitFailure, "none of the sources could be read"},
		{[]string{graph, graph}, exitUsage, "is given twice"},
		{[]string{"-kind", "stack", graph}, exitUsage, "-kind stack: want graph, ledger, contention, tasks or critical"},
		{[]string{graph, waits}, exitUsage, "is a bottle graph, " + waits + " a contention profile: they cannot be merged"},
		{[]string{graph, packed}, exitFailure, "reading " + packed},
		{[]string{graph, creators}, exitFailure, graph + " is grouped by function, " + creators + " by creator: they cannot be merged"},
		{[]string{"-kind", "tasks", graph}, exitUsage, "-kind tasks: " + graph + " is a bottle graph"},
		{[]string{stack}, exitUsage, "is a speedup stack: \"bottleneck report\" reads it"},
		{[]string{graph, filepath.Join(dir, "missing")}, exitFailure, "missing: "},
		{[]string{"-o", "x.gif", graph}, exitUsage, "want a file ending in .svg"},
	} {
		bottleneck(append([]string{"merge", "-o", out}, tt.args...)...).want(t, tt.status, "", tt.err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}

// With -partial, unreadable inputs are skipped and named in the warnings, in the header and on
// standard error.
func TestMergePartial(t *testing.T) {
	dir, a, b := parts(t, "graph", ".json")
	_, waits, _ := parts(t, "contention", ".json")
	missing, cut := filepath.Join(dir, "missing.json"), filepath.Join(dir, "cut.json")
	if err := os.WriteFile(cut, read(t, b)[:200], 0o666); err != nil {
		t.Fatal(err)
	}
	whole, part := filepath.Join(dir, "whole.json"), filepath.Join(dir, "part.json")
	bottleneck("merge", "-o", whole, a, b).want(t, exitOK, "", "")
	r := bottleneck("merge", "-partial", "-o", part, "-format", "text", missing, a, waits, b, cut)
	if r.status != exitOK || !strings.HasPrefix(r.out, "Merged: 2 instances, without 3 sources that could not be read. ") {
		t.Errorf("status %d, %.200s", r.status, r.out)
	}
	for _, want := range []string{"left out: reading " + missing + ": no such file", "left out: " + a + " is a bottle graph, " + waits + " a contention profile", "left out: reading " + cut + ": "} {
		if !strings.Contains(r.err, "bottleneck: merge: "+want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	var x, y struct {
		Warnings []string
		Boxes    []any
		Wall     int64
	}
	if err := errors.Join(json.Unmarshal(read(t, whole), &x), json.Unmarshal(read(t, part), &y)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(x.Boxes, x.Wall) != fmt.Sprint(y.Boxes, y.Wall) {
		t.Error("the numbers are not those of the two that could be read")
	}
	want := "3 of 5 sources could not be read to the end and are in no number: " + missing + ", " + waits + ", " + cut + "."
	if len(y.Warnings) == 0 || y.Warnings[len(y.Warnings)-1] != want {
		t.Errorf("warnings %q, want %q", y.Warnings, want)
	}
}

// fleetOf writes graphs of n instances and returns their names. All but one of them spend their
// time alike.
func fleetOf(t *testing.T, n, boxes, odd int) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		g := &bottle.Graph{Wall: time.Second, Procs: 2, GroupBy: "function"}
		for b := range boxes {
			share := time.Second / time.Duration(2*boxes)
			if b == 0 {
				share = time.Second/2 - time.Duration(i)*time.Microsecond
			}
			if i == odd && b < 2 {
				share = time.Second / 4
			}
			g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprintf("main.group%d", b), Kind: bottle.Application, Goroutines: 1, Share: share, Running: share, Parallelism: 1})
			g.Wall -= share
		}
		g.Idle, g.Wall = g.Wall, time.Second
		names = append(names, filepath.Join(dir, fmt.Sprintf("host-%04d.json", i)))
		f, err := os.Create(names[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(bottle.WriteJSON(f, g), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// Many files named on standard input give the same sum as when merged at once. A file of another
// kind is named.
func TestMergeFilesNamedOnStandardInput(t *testing.T) {
	names := fleetOf(t, 101, 4, 77)
	dir := t.TempDir()
	sum, spread := filepath.Join(dir, "sum.json"), filepath.Join(dir, "spread.csv")
	list := strings.NewReader(strings.Join(names[1:], "\n") + "\r\n\n")
	r := commandWith(list, "merge", "-files-from", "-", "-o", sum, "-spread", spread, "-format", "text", names[0])
	r.want(t, exitOK, "Merged: 101 instances. ", "")
	r.want(t, exitOK, "Spread over 101 sources: share of the time, the oddest first\n", "")
	r.want(t, exitOK, "main.group0  25.0% in ", "")
	r.want(t, exitOK, filepath.Base(names[77])+"\n", "") // the middle of a long name is cut
	var graphs []*bottle.Graph
	for _, name := range names {
		g, err := bottle.ReadJSON(bytes.NewReader(read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	whole, err := bottle.Merge(graphs...)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := bottle.WriteJSON(&want, whole); err != nil {
		t.Fatal(err)
	}
	if got := read(t, sum); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the sum is\n%.600s\nwant\n%.600s", got, want.Bytes())
	}
	rows, err := csv.NewReader(bytes.NewReader(read(t, spread))).ReadAll()
	if err != nil || len(rows) != 1+4+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	// Of 101 shares, 0.5 s minus 0 to 100 µs, the median is in the middle, and one is 0.25 s;
	// of 1/8 s, one is 1/4 s.
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	for _, row := range rows[1:] {
		switch median := number(row[4]); row[0] {
		case "main.group0":
			if number(row[3]) != 0.25 || row[6] != names[77] || number(row[5]) != 0.5 || row[7] != names[0] || math.Abs(median-0.49995) > 0.01 {
				t.Errorf("%q", row)
			}
		case "main.group1":
			if number(row[5]) != 0.25 || row[7] != names[77] || math.Abs(median-0.125) > 0.002 {
				t.Errorf("%q", row)
			}
		}
	}
	bottleneck("merge", "-format", "text", names[0], names[1]).want(t, exitOK, "Merged: 2 instances", "")
	if r := bottleneck("merge", names[0], names[1]); strings.Contains(r.out, "Spread") {
		t.Error("one of two is called odd")
	}
	written := filepath.Join(dir, "list")
	if err := os.WriteFile(written, []byte(names[1]+"\n"+names[2]), 0o666); err != nil {
		t.Fatal(err)
	}
	bottleneck("merge", "-files-from", written, names[0]).want(t, exitOK, "Merged: 3 instances", "")
	commandWith(strings.NewReader("\n"), "merge", "-files-from", "-").want(t, exitFailure, "", "-files-from: standard input names no file or URL")
	commandWith(strings.NewReader(names[0]), "merge", "-files-from", "-", names[0]).want(t, exitUsage, "", "is given twice")
}

// Memory does not grow with the number of files.
func TestMergeMemory(t *testing.T) {
	live := func(n int) (most uint64) {
		names := fleetOf(t, n, 400, -1)
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		done := make(chan outcome)
		runtime.GC()
		go func() {
			done <- commandWith(strings.NewReader(strings.Join(names, "\n")), "merge", "-files-from", "-", "-format", "json")
		}()
		for {
			select {
			case r := <-done:
				if r.status != exitOK {
					t.Fatal(r.err)
				}
				return most
			case <-time.After(time.Millisecond):
				metrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			}
		}
	}
	few, many := live(16), live(160/min(race.Slowdown, 3))
	t.Logf("%d kB of 16 files, %d kB of 160", few>>10, many>>10)
	if many > few+few/2+6<<20 {
		t.Errorf("%d bytes are live while 160 files are merged, %d with 16", many, few)
	}
}

// Services are asked concurrently: each of these answers only after all were asked.
func TestMergeAsksServicesConcurrently(t *testing.T) {
	data := read(t, fleetOf(t, 1, 4, -1)[0])
	const n = 2 * 8
	var asked sync.WaitGroup
	asked.Add(n)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Done()
		asked.Wait()
		w.Write(data)
	}))
	defer s.Close()
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%d/", s.URL, i))
	}
	commandWith(strings.NewReader(strings.Join(urls, "\n")), "merge", "-files-from", "-").want(t, exitOK, "Merged: 16 instances. ", "")
}

// The spread of contention and tasks across instances.
func TestMergeSpread(t *testing.T) {
	dir := t.TempDir()
	spread := filepath.Join(dir, "spread.csv")
	bottleneck("merge", "-kind", "contention", mutexTrace, computeTrace, phasesTrace, "-spread", spread, "-format", "text").
		want(t, exitOK, "Spread over 3 sources: goroutines that wait, on average, the oddest first\n", "")
	if !strings.Contains(string(read(t, spread)), "mutex proto/work.mutexWorker,goroutines,1,0,0,2.5") {
		t.Errorf("%s", read(t, spread))
	}
	a, b, c := tasksFile(t), tasksFile(t), tasksFile(t)
	bottleneck("merge", a, b, c, "-spread", spread, "-format", "text").want(t, exitOK, "Spread over 3 sources: mean cycles of a task, the oddest first\n\nAll are alike.\n", "")
	if !strings.Contains(string(read(t, spread)), ",cycles,3,700,700,700,"+a+","+a+"\n") {
		t.Errorf("%s", read(t, spread))
	}
}

// A saved graph can be drawn again but not recomputed.
func TestGraphOfJSON(t *testing.T) {
	_, a, _ := parts(t, "graph", ".json")
	if got, want := bottleneck("graph", "-format", "csv", a), bottleneck("graph", "-format", "csv", mutexTrace); got.status != exitOK || got.out != want.out {
		t.Errorf("%s%s, want %s", got.err, got.out, want.out)
	}
	for _, args := range []string{"-window 1s", "-offered", "-from 1ms", "-group creator"} {
		bottleneck(append([]string{"graph", a}, strings.Fields(args)...)...).want(t, exitUsage, "", "is a saved result")
	}
}
