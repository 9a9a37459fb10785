package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
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
	bottleneck("speedup", "-estimate", mutexTrace, computeTrace).want(t, exitOK, "speed-up (at most)       1.22   1.95", "")
	bottleneck("speedup", "-estimate", "-format", "md", "-fail", "speedup(2) < 1.6", mutexTrace).want(t, exitFailure, "| ---", "-fail: speedup(2) < 1.6: got 1.22")
	bottleneck("speedup", "-estimate", "-fail", "efficiency < 0.8", computeTrace).want(t, exitOK, "1.95", "")
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
		{"-workers pool: a b", exitUsage, `-workers "pool:": a name is missing`},
		{"-o x.pb.gz a b", exitUsage, "-o x.pb.gz: unknown extension: want a file ending in .svg"},
		{"-format pprof a b", exitUsage, `-format pprof: want`},
		{"-o /nowhere/x.svg a b", exitFailure, "writing /nowhere/x.svg"},
		{"nowhere.trace " + mutexTrace, exitFailure, "nowhere.trace: no such file"},
		{"run_test.go " + mutexTrace, exitFailure, "run_test.go: not a Go execution trace"},
		{mutexTrace + " run_test.go", exitFailure, "run_test.go: not a Go execution trace"},
		{"-workers main.nobody " + mutexTrace + " " + mutexTrace, exitFailure, `no goroutine is a worker by "main.nobody"; there are work.mutexWorker`},
	} {
		bottleneck(append([]string{"speedup"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
}

var spun atomic.Uint64

func spin(steps int) {
	x := uint64(steps) | 1
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	spun.Add(x)
}

// spinTogether records workers that begin together, each with its steps.
func spinTogether(t *testing.T, procs, workers, steps int) (name string) {
	setProcs(t, procs)
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var there atomic.Int64
	for range workers {
		all.Go(func() {
			for there.Add(1); int(there.Load()) < workers; {
				runtime.Gosched()
			}
			spin(steps)
		})
	}
	all.Wait()
	trace.Stop()
	name = filepath.Join(t.TempDir(), fmt.Sprintf("%d-of-%d.trace", workers, steps))
	if err := os.WriteFile(name, buf.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// A baseline that did not run alone and runs of different work are reported, for programs that
// really do this.
func TestSpeedupWarnsOfRunsThatAreNotAPair(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	const steps = 10_000_000
	one, two, much := spinTogether(t, 1, 1, 2*steps), spinTogether(t, 2, 2, steps), spinTogether(t, 2, 2, 20*steps)
	const company, different = "did not run alone: for ", "different work"
	bottleneck("speedup", "-format", "json", two, two).want(t, exitOK, company, "")
	bottleneck("speedup", "-format", "json", one, much).want(t, exitOK, different, "")
	if r := bottleneck("speedup", "-format", "json", one, two); strings.Contains(r.out, company) {
		t.Errorf("a run on one processor had company:\n%s", r.out)
	}
	bottleneck("speedup", "-format", "json", two, one).want(t, exitOK, "are the traces swapped?", "")
}
