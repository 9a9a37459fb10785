package main

import (
	"archive/zip"
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// What this module records notes the processors of its machine, so that a reader elsewhere can say
// that GOMAXPROCS is higher. Of a trace of runtime/trace alone nothing is said.
func TestRecordingsKnowTheProcessorsOfTheirMachine(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 4*runtime.NumCPU())
	const said = "but the machine or its control group gives the process"
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }

	bottleneck("demo", "-o", at("demo.svg"), "-trace", at("demo.trace"), "-time", "100ms", "-workers", "3", "-files", "9").want(t, exitOK, "Wrote", "")
	bottleneck("graph", at("demo.trace")).want(t, exitOK, said, "")
	bottleneck("speedup", "-estimate", "-n", "8", at("demo.trace")).want(t, exitOK, said, "")

	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	s := httptest.NewServer(live.Handler(live.Options{Recorder: &rec, AllowRemote: true}))
	defer s.Close()
	bottleneck("record", "-seconds", "0.1", "-o", at("live.trace"), s.URL).want(t, exitOK, "", "")
	bottleneck("graph", at("live.trace")).want(t, exitOK, said, "")
	rec.Stop()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BOTTLENECK_TEST_RECORDED", "well")
	bottleneck("record", "-counters", "task-clock", "-o", at("a.zip"), "--", self, "-test.run=^TestRecordedProgram$").want(t, exitOK, "PASS", "")
	z, err := zip.OpenReader(at("a.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if g, err := bottle.ReadTrace(t.Context(), f, bottle.Options{}); err != nil || g.CPUs != host.Processors() {
		t.Errorf("an archive: %v processors, want %v; %v", g.CPUs, host.Processors(), err)
	}

	var plain bytes.Buffer
	if err := trace.Start(&plain); err != nil {
		t.Fatal(err)
	}
	trace.Log(t.Context(), "bottleneck", "1 of 1 processors")
	trace.Stop()
	if g, err := bottle.ReadTrace(t.Context(), &plain, bottle.Options{}); err != nil || g.CPUs != 0 || g.Oversubscribed() != "" {
		t.Errorf("a trace of runtime/trace: %v processors, %q; %v", g.CPUs, g.Oversubscribed(), err)
	}
}
