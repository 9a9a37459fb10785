package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// TestRecordedProgram is not a test but a program that tests record.
func TestRecordedProgram(t *testing.T) {
	switch os.Getenv("BOTTLENECK_TEST_RECORDED") {
	case "":
		t.Skip("it is run by other tests")
	case "silent":
		return
	case "fails":
		defer os.Exit(5)
	}
	stop := counters.FromEnvironment()
	time.Sleep(20 * time.Millisecond)
	stop()
}

// A program is run with its counters; its exit status is ours.
func TestRecordProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	name := at("a.zip")
	args := []string{"record", "-counters", "faults,task-clock,cycles", "-o", name, "--", self, "-test.run=^TestRecordedProgram$"}
	t.Setenv("BOTTLENECK_TEST_RECORDED", "well")
	r := bottleneck(args...)
	if r.status != exitOK {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	rec, err := quanta.ReadArchive(t.Context(), name, quanta.Options{})
	if err != nil || rec.Len() == 0 {
		t.Fatal(err)
	}
	for _, want := range []string{"minor-faults", "task-clock", "cycles"} {
		if rec.Counter(want) == nil && !strings.Contains(r.err, want) {
			t.Errorf("%s is not counted and nobody tells why: %s", want, r.err)
		}
	}
	bottleneck(args...).want(t, exitFailure, "", "there is such a file; -force replaces it")

	t.Setenv("BOTTLENECK_TEST_RECORDED", "fails")
	args[4] = at("b.zip")
	if r := bottleneck(args...); r.status != 5 {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	if rec, err := quanta.ReadArchive(t.Context(), args[4], quanta.Options{}); err != nil || rec.Len() == 0 {
		t.Error(err)
	}
	t.Setenv("BOTTLENECK_TEST_RECORDED", "silent")
	args[4] = at("c.zip")
	if r := bottleneck(args...); r.status != exitFailure || !strings.Contains(r.err, "no execution trace: call counters.FromEnvironment") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	if _, err := os.Stat(args[4]); err == nil {
		t.Error("an archive without a trace")
	}
}

func TestRecordProgramUsage(t *testing.T) {
	for _, tt := range []struct {
		args string
		want int
		says string
	}{
		{"-o x --", exitUsage, "no program"},
		{"-- ./program", exitUsage, "say -o FILE"},
		{"-o x http://localhost/ -- ./program", exitUsage, "not both"},
		{"-o x -period 1ns -- ./program", exitUsage, "10µs or more"},
		{"-o x -trace-url localhost -- ./program", exitUsage, "is not a URL"},
		{"-o x -seconds 5 -- ./program", exitUsage, "unknown flag"},
		{"-o x -counters faults,cycel -- ./program", exitUsage, `-counters: there is no counter "cycel"; there are L1-dcache-load-misses, `},
	} {
		bottleneck(append([]string{"record"}, strings.Fields(tt.args)...)...).want(t, tt.want, "", tt.says)
	}
	name := filepath.Join(t.TempDir(), "x")
	for _, program := range []string{"/no/such/program", "no-such-program", "./recordcounters_test.go"} { // the last is no program
		r := bottleneck("record", "-o", name, "--", program)
		r.want(t, exitFailure, "", "bottleneck: cannot run "+program+": ")
		if strings.Contains(r.err, "cannot write") || strings.Count(r.err, program) != 1 {
			t.Errorf("%s", r.err)
		}
	}
	bottleneck("record", "-counters", "cycel", "-o", name, "--", "/bin/true").want(t, exitUsage, "", "context-switches")
	if _, err := os.Stat(name); err == nil {
		t.Error("a file is left")
	}
}
