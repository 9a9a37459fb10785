package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/speedup"
)

func TestSpeedup(t *testing.T) {
	dir := t.TempDir()
	json := filepath.Join(dir, "s.json")
	svg := filepath.Join(dir, "s.svg")
	bottleneck("speedup", "-o", json, "-o", svg, computeTrace, mutexTrace).want(t, exitOK, "", "")
	f, err := os.Open(json)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stacks, err := speedup.ReadJSON(f)
	if err != nil || len(stacks) != 1 || stacks[0].N != 2 {
		t.Errorf("%v, %v", stacks, err)
	}
	if b, err := os.ReadFile(svg); err != nil || !strings.Contains(string(b), "Speedup stack") {
		t.Error(err)
	}
	bottleneck("speedup", "-estimate", mutexTrace, computeTrace).want(t, exitOK, "speed-up (at most)   1.22   2.00", "")
	bottleneck("speedup", "-estimate", "-window", "50ms", phasesTrace).want(t, exitOK, "50 ms", "")
	bottleneck("speedup", "-format", "csv", computeTrace, computeTrace).want(t, exitOK, "speedup,speedup,1,", "")
	bottleneck("speedup", "-workers", "work.computeWorker", "-n", "3", computeTrace, computeTrace).want(t, exitOK, "never reached 3 workers", "")
	bottleneck("speedup", mutexTrace, computeTrace).want(t, exitOK, "different programs", "")
	bottleneck("speedup", "-unit", "nope", computeTrace, computeTrace).want(t, exitOK, `Neither run has a region of type "nope"`, "")
	bottleneck("speedup", "-estimate", "-unit", "nope", computeTrace).want(t, exitOK, `of type "nope"`, "")
}

func TestSpeedupErrors(t *testing.T) {
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"", exitUsage, "no traces"},
		{mutexTrace, exitUsage, "only one trace"},
		{"-n -1 a b", exitUsage, "-n -1"},
		{"-window -1s a b", exitUsage, "-window -1s"},
		{"-workers pool: a b", exitUsage, `-workers "pool:": a name is missing`},
		{"-o x.pb.gz a b", exitUsage, "-o x.pb.gz: want a file ending in .svg"},
		{"-format pprof a b", exitUsage, `unknown form "pprof"`},
		{"-o /nowhere/x.svg a b", exitFailure, "cannot write /nowhere/x.svg"},
		{"nowhere.trace " + mutexTrace, exitFailure, "nowhere.trace: no such file"},
		{"run_test.go " + mutexTrace, exitFailure, "run_test.go: not a Go execution trace"},
		{mutexTrace + " run_test.go", exitFailure, "run_test.go: not a Go execution trace"},
		{"-workers main.nobody " + mutexTrace + " " + mutexTrace, exitFailure, `no goroutine is a worker by "main.nobody"; there are work.mutexWorker`},
	} {
		bottleneck(append([]string{"speedup"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
}
