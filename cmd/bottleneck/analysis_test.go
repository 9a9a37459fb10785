package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// -generations limits the generations that are read, in all commands that read one trace.
func TestGenerations(t *testing.T) {
	for _, command := range []string{"graph", "contention", "tasks"} {
		if r := bottleneck(command, "-generations", "2:3", "-format", "json", computeTrace); r.status != exitOK || !strings.Contains(r.out, "The first generation of the trace was not decoded") {
			t.Errorf("%s: status %d, %s%.300s", command, r.status, r.err, r.out)
		}
		bottleneck(command, "-generations", "7:", computeTrace).want(t, exitFailure, "", "compute-go1.26.8.trace: there is no generation 7: the trace has 5 generations")
		for value, want := range map[string]string{
			"0":   "-generations 0: want a range such as 3:7, 3: or :7, from 1",
			"x:2": "want a range",
			":":   "want a range",
			"3:2": "-generations 3:2: the last is before the first",
			"-1":  "want a range",
		} {
			bottleneck(command, "-generations", value, computeTrace).want(t, exitUsage, "", want)
		}
	}
	whole := parseGraph(t, bottleneck("graph", "-format", "json", computeTrace).out)
	sum := int64(0)
	for _, part := range []string{"1", "2:3", "4:"} {
		sum += parseGraph(t, bottleneck("graph", "-generations", part, "-format", "json", computeTrace).out).Wall
	}
	if gap := whole.Wall - sum; gap < 0 || gap > whole.Wall/100 {
		t.Errorf("the parts cover %d ns of %d", sum, whole.Wall)
	}
	first := parseGraph(t, bottleneck("graph", "-generations", ":1", "-format", "json", computeTrace).out)
	if one := parseGraph(t, bottleneck("graph", "-generations", "1", "-format", "json", computeTrace).out); one.Wall != first.Wall {
		t.Errorf("%d, %d", one.Wall, first.Wall)
	}
	_, saved, _ := parts(t, "graph", ".json")
	bottleneck("graph", "-generations", "2", saved).want(t, exitUsage, "", "-generations is for traces; "+saved+" is a saved result")
	_, saved, _ = parts(t, "contention", ".json")
	bottleneck("contention", "-generations", "2", saved).want(t, exitUsage, "", "-generations is for traces; "+saved+" is a saved result")
	saved = filepath.ToSlash(tasksFile(t))
	bottleneck("tasks", "-generations", "2", saved).want(t, exitUsage, "", "-generations is for traces")
}

// TestDuringWithinBounds: the times within and outside of the collector sum to the time between
// -from and -to, in each command that has both flags.
func TestDuringWithinBounds(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "real", "json-gogc5.trace.zst")
	bounds := []string{"-from", "20ms", "-to", "60ms", "-format", "json", trace}
	wall := func(command string, part ...string) int64 {
		r := bottleneck(append(append([]string{command}, part...), bounds...)...)
		var out struct {
			Wall   int64 `json:"wall"`
			WallNS int64 `json:"wall_ns"`
		}
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.status != exitOK {
			t.Fatalf("%s %v: status %d, %s", command, part, r.status, r.err)
		}
		return out.Wall + out.WallNS
	}
	for _, command := range []string{"graph", "ledger", "verdict"} {
		in, out := wall(command, "-during", "gc"), wall(command, "-outside", "gc")
		if in+out != 40e6 || in == 0 || out == 0 {
			t.Errorf("%s: %d ns within and %d outside of 40 ms", command, in, out)
		}
	}
	bottleneck("graph", "-during", "gc", "-from", "1h", trace).want(t, exitFailure, "", "the trace ends before 1h0m0s")
	bottleneck("explain", "-during", "gc", "-from", "20ms", "1", trace).want(t, exitOK, "1.", "")
}

// TestCommandsStopBeforeTheMemoryLimit: every command whose input needs more than -memory allows
// exits with status 1 and one line that names the limit and the flag.
func TestCommandsStopBeforeTheMemoryLimit(t *testing.T) {
	dir := t.TempDir()
	big := func(name, of string, n int) string {
		var b bytes.Buffer
		if err := bulk.Named(of).Write(&b, n); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	trace := big("goroutines.trace", "goroutines at the same time", 150_000)
	saved := filepath.Join(dir, "saved.json")
	if err := os.WriteFile(saved, []byte(`{"boxes":[`+strings.Repeat(`{"name":"a b c"},`, 500_000)+`{}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	const limit = "40MB"
	for _, args := range testenv.Some([][]string{
		{"graph", trace}, {"contention", trace}, {"tasks", trace}, {"speedup", "-estimate", trace},
		{"report", "-o", filepath.Join(dir, "r.html"), trace},
		{"diff", trace, trace}, {"graph", saved}, {"contention", saved}, {"tasks", saved},
	}) {
		r := bottleneck(append([]string{args[0], "-memory", limit}, args[1:]...)...)
		if r.status != exitFailure || !strings.Contains(r.err, "memory limit") || !strings.Contains(r.err, "-memory") || !strings.Contains(r.err, "40 MB") {
			t.Errorf("%s: status %d, %q", args, r.status, r.err)
		}
	}
}

// TestMemoryFlag: an invalid or too small amount of memory is a usage error. A sufficient amount
// does not change the output.
func TestMemoryFlag(t *testing.T) {
	for _, value := range []string{"", "lots", "-1GB", "1kB", "0"} {
		if r := bottleneck("graph", "-memory", value, computeTrace); r.status != exitUsage || !strings.Contains(r.err, "-memory") {
			t.Errorf("-memory %q: status %d, %q", value, r.status, r.err)
		}
	}
	plain := bottleneck("graph", computeTrace)
	for _, args := range [][]string{{"-memory", "2GB"}, {"-memory=512MB"}, {"--memory", "1GiB"}} {
		if r := bottleneck(append(append([]string{"graph"}, args...), computeTrace)...); r != plain {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// TestProcessEndsAtTheMemoryLimit: memory that no pass accounts for ends the process with one line
// and status 1.
func TestProcessEndsAtTheMemoryLimit(t *testing.T) {
	if os.Getenv("BOTTLENECK_MEMORY_CHILD") != "" {
		guardProcess(64 << 20)
		var kept [][]byte
		for range 4096 {
			kept = append(kept, bytes.Repeat([]byte("x"), 1<<20))
		}
		t.Fatal("4 GB are there: ", len(kept))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcessEndsAtTheMemoryLimit$")
	cmd.Env = append(os.Environ(), "BOTTLENECK_MEMORY_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != exitFailure || !strings.HasPrefix(string(out), "bottleneck: memory limit 67.1 MB exceeded") {
		t.Errorf("%v: %s", err, out)
	}
}
