package bottleneck_test

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// The releases of Go whose internals were checked, and the format of the traces that they write.
// What depends on a release is:
//
//	the format of traces            timeline   this test
//	how each wait looks in a trace  timeline   TestCatalogue
//	the id in a goroutine's g       callstack  TestGoid
//	frame pointers                  callstack  TestWalkSurvivesOddStacks, TestCaptureAbove
//	threads without rseq            cycles     TestRseqIsAvailable, TestThreadsExit
//	functions of the scheduler      counters   TestQuantumAddresses
//	the locks of package sync       contention the tests of its fast path, TestGoDistributionsTests
//
// They fail, rather than skip, where a new release differs.
var releases = map[string]string{"go1.26": "go 1.26 trace", "go1.27": "go 1.26 trace"}

// The internals of each supported release of Go were checked. CI and the README name the same
// releases.
func TestSupportedReleasesAreChecked(t *testing.T) {
	minor := regexp.MustCompile(`^go1\.[0-9]+`).FindString(runtime.Version())
	format, known := releases[minor]
	if !known {
		testenv.Missing(t, "the internals of "+runtime.Version()+" were not checked yet: see the list above this test")
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err) // the test itself is traced
	}
	trace.Stop()
	if !bytes.HasPrefix(buf.Bytes(), []byte(format)) {
		t.Errorf("%s writes %q, want %q", minor, buf.Bytes()[:min(16, buf.Len())], format)
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^older=(go1\.[0-9]+)\.[0-9]+ newer=(go1\.[0-9]+)\.[0-9]+$`).FindStringSubmatch(string(ci))
	if line == nil {
		t.Fatal(".ci/run does not name two releases")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "Go " + strings.TrimPrefix(line[1], "go") + " and " + strings.TrimPrefix(line[2], "go") + " are supported"
	if !strings.Contains(string(readme), want) {
		t.Errorf("the README does not contain: %s", want)
	}
	for _, tried := range line[1:] {
		if releases[tried] == "" {
			t.Errorf(".ci/run runs %s, whose internals were not checked", tried)
		}
	}
	if len(releases) != 2 {
		t.Errorf("%d releases; Go supports two", len(releases))
	}
}
