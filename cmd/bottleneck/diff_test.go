package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saved writes what a command prints into a file.
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
	bottleneck("diff", graph, computeTrace).want(t, exitOK, "changed by less than", "")
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

// A side may come from standard input or from a server, as a trace or saved.
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
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"", exitUsage, "want two runs"},
		{"a", exitUsage, "want two runs to compare, OLD and NEW; there are 1"},
		{"-format dot a b", exitUsage, `unknown form "dot"`},
		{"-o x.dot a b", exitUsage, "-o x.dot"},
		{"-group nonsense a b", exitUsage, "unknown grouping"},
		{"-group creator -kind tasks a b", exitUsage, "-group is for graphs"},
		{"-group creator " + stack + " " + stack, exitUsage, "-group is for graphs"},
		{"- -", exitUsage, "cannot both come from standard input"},
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
		{"-o /nowhere/x.svg " + computeTrace + " " + computeTrace, exitFailure, "cannot write /nowhere/x.svg"},
	} {
		bottleneck(append([]string{"diff"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
}
