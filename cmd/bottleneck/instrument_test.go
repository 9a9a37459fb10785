package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// TestRunUsage: commands that cannot be recorded are rejected with the reason.
func TestRunUsage(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"run", exitUsage, "no command: it follows after --"},
		{"run go test", exitUsage, `unexpected argument "go"`},
		{"run -dir nowhere -- go test", exitUsage, "-dir nowhere: it is no directory"},
		{"run -- go vet", exitFailure, "go vet builds no program"},
		{"run -- nowhere/program", exitFailure, "cannot run nowhere/program"},
		{"instrument", exitUsage, "no command: it follows after --"},
		{"instrument go build", exitUsage, `unexpected argument "go"`},
		{"instrument -- ls", exitFailure, "want go build, install, run or test"},
	} {
		got := bottleneck(strings.Fields(c.args)...)
		got.want(t, c.status, "", c.want)
	}
	plain, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "plain.exe")
	if err := os.WriteFile(copied, []byte("a program"), 0o777); err != nil {
		t.Fatal(err)
	}
	bottleneck("run", "--", copied).want(t, exitFailure, "", "does not record itself: build it with")
	if err := checkProgram(plain); err != nil { // it has the name of the variable
		t.Error(err)
	}
}

// TestRun goes the whole way with a program that imports nothing.
func TestRun(t *testing.T) {
	if !require.All() {
		t.Skip("building the standard library takes long: BOTTLENECK_REQUIRE_ALL=1 does")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"GOFLAGS", "GOWORK"} {
		t.Setenv(name, map[string]string{"GOWORK": "off"}[name])
	}
	t.Chdir(filepath.Join("..", "..", "instrument", "testdata", "app"))
	dir := t.TempDir()
	exe := filepath.Join(dir, "app.exe")
	bottleneck("instrument", "--", "go", "build", "-o", exe).want(t, exitOK, "", "")
	got := bottleneck("run", "-dir", dir, "--", exe, "exit")
	got.want(t, 3, "The lock store.Locked kept", "bottleneck: recorded "+dir)
	traces, err := filepath.Glob(filepath.Join(dir, "app.exe.*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatal(traces, err)
	}
	if again := bottleneck(traces[0]); !strings.Contains(got.out, again.out) || again.out == "" {
		t.Errorf("the verdict on the recording: %s\nwant %s", again.out, got.out)
	}
}
