package live

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// run runs a program and returns all its output.
func run(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "http_proxy=", "HTTP_PROXY=", "NO_PROXY=*")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// go tool pprof fetches profiles by URL, and shows the text of an error.
func TestGoToolPprof(t *testing.T) {
	t.Parallel()
	goTool := testenv.Program(t, "go")
	pprof, err := run(t, goTool, "tool", "-n", "pprof") // the go command takes longer than pprof
	if err != nil {
		t.Fatal(err, pprof)
	}
	pprof = strings.TrimSpace(pprof)
	base := serve(t, newHandler(Options{}, readTape(t, smallTrace), nil), nil)
	for path, want := range map[string][]string{
		"graph?seconds=2":                  {"Type: share", "proto/work.mutexWorker"},
		"contention?seconds=2":             {"Type: delay", "Duration: "},
		"contention?seconds=2&view=joined": {"Type: delay", "[lock]"},
		"tasks?seconds=2":                  {"Type: time"},
		"wall?seconds=1":                   {"Type: time", "sync.(*Mutex).Lock"},
	} {
		out, err := run(t, pprof, "-top", base+path)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: want %q in:\n%s", path, w, out)
			}
		}
	}
	out, err := run(t, pprof, "-top", "-sample_index=running", base+"graph")
	if err != nil || !strings.Contains(out, "Type: running") {
		t.Errorf("running: %v\n%s", err, out)
	}
	for path, want := range map[string]string{
		"graph?seconds=-2":  "seconds=-2: want at least",
		"wall?seconds=4000": "want at most 3600",
		"speedup":           "", // is text, not a profile
	} {
		if out, err := run(t, pprof, "-top", base+path); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v; want %q in:\n%s", path, err, want, out)
		}
	}
}

// curl gets text, and with -OJ a file with the right name.
func TestCurl(t *testing.T) {
	curl := testenv.Program(t, "curl")
	base := serve(t, newHandler(Options{Title: "shop"}, readTape(t, httpTrace), &made{live: report()}), nil)
	for path, want := range map[string]string{"graph": "main.work", "contention?debug=1": "waited", "metrics": "# TYPE bottleneck_wall_seconds_total counter", "": "<h1>shop</h1>"} {
		out, err := run(t, curl, "-sS", "--fail", base+path)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v; want %q in:\n%s", path, err, want, out)
		}
	}
	dir := t.TempDir()
	if out, err := run(t, curl, "-sS", "--fail", "-OJ", "--output-dir", dir, base+"trace?seconds=1"); err != nil {
		t.Errorf("-OJ: %v %s", err, out)
	}
	if info, err := os.Stat(dir + "/trace.trace"); err != nil || info.Size() == 0 {
		t.Errorf("-OJ: %v", err)
	}
	out, err := run(t, curl, "-sS", "-I", base+"graph?format=pprof")
	if err != nil || !strings.Contains(out, `filename="graph.pb.gz"`) || !strings.Contains(out, http.StatusText(200)) {
		t.Errorf("-I: %v\n%s", err, out)
	}
}
