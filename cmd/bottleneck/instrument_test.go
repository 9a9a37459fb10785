package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
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
		{"run -dir run.go -- go test", exitFailure, "writing run.go: not a directory"},
		{"run -- go vet", exitUsage, "go vet builds no program"},
		{"run -- nowhere/program", exitFailure, "cannot run nowhere/program"},
		{"run -- go build -v .", exitUsage, `go build runs nothing: use "bottleneck instrument -- go build"`},
		{"run -- main.go", exitUsage, "main.go is not a program: want -- go run main.go"},
		{"run -- .", exitUsage, ". is not a program: want -- go run ."},
		{"run -cpu 1,two -- go test", exitUsage, `-cpu 1,two: "two" is not a number of processors`},
		{"run -cpu 1,2 -- go test -bench=. -benchtime 1s .", exitUsage, "a benchmark does more work with more processors: fix its iterations, as in -benchtime=100x"},
		{"run -cpu 2 -trace-url http://localhost -- ./server", exitUsage, "-trace-url and -cpu exclude each other"},
		{"run -what locks -- nowhere/program", exitUsage, "-what, -only and -skip choose what is built into a program"},
		{"run -what lock -- go test", exitUsage, `-what lock: unknown name "lock"; did you mean locks?`},
		{"instrument -only all -- go build", exitFailure, `"all" is no pattern of import paths, such as ./... and example.com/x/... are`},
		{"instrument", exitUsage, "no command: it follows after --"},
		{"instrument go build", exitUsage, `unexpected argument "go"`},
		{"instrument -- ls", exitUsage, "bottleneck: instrument: ls builds no program: want go build, install, run or test"},
	} {
		got := bottleneck(strings.Fields(c.args)...)
		got.want(t, c.status, "", c.want)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkProgram([]string{self}); err != nil { // it has the name of the variable
		t.Error(err)
	}
	program := read(t, self)
	for want, change := range map[string]func([]byte) []byte{
		"is not a Go program": func([]byte) []byte { return []byte("a program") },
		"or add -trace-url": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(instrument.Variable), []byte(strings.ToLower(instrument.Variable)))
		},
		"does not contain net/http/pprof: build it with": func(b []byte) []byte {
			b = bytes.ReplaceAll(b, []byte("/debug/pprof/"), []byte("/DEBUG/PPROF/"))
			return bytes.ReplaceAll(b, []byte(instrument.Variable), []byte(strings.ToLower(instrument.Variable)))
		},
	} {
		changed := filepath.Join(t.TempDir(), "changed.exe")
		if err := os.WriteFile(changed, change(program), 0o777); err != nil {
			t.Fatal(err)
		}
		bottleneck("run", "--", changed).want(t, exitFailure, "", want)
	}
}

// TestServe serves a trace once, for TestRunServing.
func TestServe(t *testing.T) {
	address := os.Getenv("BOTTLENECK_TEST_SERVE")
	if address == "" {
		t.Skip("it is run by another test")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan bool)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, mutexTrace)
		close(served)
	})}
	go server.Serve(l)
	<-served
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRunServing: the verdict on a program as it is comes from the trace that it serves.
func TestRunServing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("BOTTLENECK_TEST_SERVE", l.Addr().String())
	dir := t.TempDir()
	url := "http://" + l.Addr().String()
	got := bottleneck("run", "-dir", dir, "-trace-url", url, "--", self, "-test.run=^TestServe$")
	if want := bottleneck(mutexTrace).out; got.status != exitOK || !strings.Contains(got.out, want) || want == "" {
		t.Errorf("status %d, %s%s, want %s", got.status, got.out, got.err, want)
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "*.zip")); err != nil || len(kept) != 1 {
		t.Error(kept, err)
	}
	got = bottleneck("run", "-dir", filepath.Join(t.TempDir(), "new"), "-trace-url", url, "--", self, "-test.run=^$")
	if got.status != exitFailure || !strings.Contains(got.err, "the program ended before it answered") {
		t.Errorf("status %d, %s%s", got.status, got.out, got.err)
	}
	bottleneck("run", "-trace-url", url, "--", "go", "test").want(t, exitUsage, "", "-trace-url is for a PROGRAM")
}

// TestEmptyRecording: a program that ends at once by syscall.Exit leaves an empty recording, which is
// not as if nothing had recorded.
func TestEmptyRecording(t *testing.T) {
	from, f := t.TempDir(), runFlags{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(from, "app.1.trace"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	longest, err := f.keep(stdio{err: &errs}, from)
	if want := filepath.Join(f.dir, "app.1.trace"); err != nil || longest != want || !strings.Contains(errs.String(), "recorded "+want+", 0 B") {
		t.Errorf("%q, %v, %q; want %q", longest, err, &errs, want)
	}
}

// TestRecordingsAreNotLost: a directory that cannot be written is found before the program runs, and
// recordings that cannot be moved there later stay where they are.
func TestRecordingsAreNotLost(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	recording, target := filepath.Join(from, "app.1.trace"), filepath.Join(dir, "app.1.trace")
	if err := errors.Join(os.WriteFile(recording, []byte("x"), 0o600), os.Mkdir(target, 0o700)); err != nil {
		t.Fatal(err)
	}
	f := runFlags{dir: dir}
	_, err := f.keep(stdio{err: io.Discard}, from)
	if want := "writing " + target + ": is a directory; all recordings are in " + from; err == nil || err.Error() != want || string(read(t, recording)) != "x" {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := f.keep(stdio{err: io.Discard}, recording); err == nil || string(read(t, recording)) != "x" { // no directory
		t.Error(err)
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		bottleneck("run", "-dir", "/proc", "--", "go", "run", "missing.go").want(t, exitFailure, "", "bottleneck: run: writing /proc: no such file or directory\n")
	}
	os.Remove(target)
	if _, err := f.keep(stdio{err: io.Discard}, from); err != nil || string(read(t, target)) != "x" {
		t.Error(err)
	}
	if _, err := os.Stat(from); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", from, err)
	}
}

// TestSeveralRecordings: if several processes recorded, the name of the one that the verdict is about
// is printed.
func TestSeveralRecordings(t *testing.T) {
	from, f := t.TempDir(), runFlags{dir: t.TempDir()}
	for name, size := range map[string]int{"app.1.trace": 10, "app.2.trace": 30, "child.3.trace": 20} {
		if err := os.WriteFile(filepath.Join(from, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	longest, err := f.keep(stdio{err: &errs}, from)
	want := filepath.Join(f.dir, "app.2.trace")
	if last := "bottleneck: the verdict is that of " + want + ", the largest of 3 recordings\n"; err != nil || longest != want || !strings.HasSuffix(errs.String(), last) {
		t.Errorf("%q, %v, %q; want %q", longest, err, &errs, last)
	}
}

// TestDifferentPrograms: the largest recordings of two runs may be of different processes.
func TestDifferentPrograms(t *testing.T) {
	var out, errs bytes.Buffer
	err := showSpeedup(t.Context(), stdio{out: &out, err: &errs}, []string{"x/app.test.1.trace", "x/store.test.2.trace"})
	if want := "of different programs, app.test and store.test\n"; err != nil || out.Len() > 0 || !strings.HasSuffix(errs.String(), want) {
		t.Errorf("%v, %q, %q; want %q", err, &out, &errs, want)
	}
}

// TestRun goes the whole way with a program that imports nothing.
func TestRun(t *testing.T) {
	if !testenv.All() {
		t.Skip("building the standard library takes long: BOTTLENECK_REQUIRE_ALL=1 does")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"GOFLAGS", "GOWORK"} {
		t.Setenv(name, map[string]string{"GOWORK": "off"}[name])
	}
	t.Chdir(filepath.Join("..", "..", "internal", "instrument", "testdata", "app"))
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	exe := filepath.Join(dir, "app.exe")
	bottleneck("instrument", "--", "go", "build", "-o", exe).want(t, exitOK, "", "")
	got := bottleneck("run", "-dir", dir, "--", exe, "exit")
	got.want(t, 3, "The lock store.Table.guard.RWMutex (store.go:42) kept", "bottleneck: recorded "+dir)
	traces, err := filepath.Glob(filepath.Join(dir, "app.exe.*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatal(traces, err)
	}
	if again := bottleneck(traces[0]); !strings.Contains(got.out, again.out) || again.out == "" {
		t.Errorf("the verdict on the recording: %s\nwant %s", again.out, got.out)
	}
	for _, c := range []string{"graph", "contention", "tasks", "ledger"} {
		if read := bottleneck(c, traces[0]); read.status != exitOK || read.out == "" {
			t.Errorf("%s: status %d, %s", c, read.status, read.err)
		}
	}
	if want := fmt.Sprintf("of %d processors", runtime.NumCPU()); !bytes.Contains(read(t, traces[0]), []byte(want)) {
		t.Errorf("the recording has no note %q", want)
	}
	aside := filepath.Join(dir, "verdict.txt") // standard output is then that of the program alone
	if got := bottleneck("run", "-dir", dir, "-o", aside, "--", exe, "exit"); got.status != 3 || strings.HasSuffix("\n"+got.out, "\n\n") || len(read(t, aside)) == 0 {
		t.Errorf("-o: status %d, %q", got.status, got.out)
	}
	const lock = "store.Table.guard.RWMutex"
	type ending struct {
		args   string
		status int
		want   string // in the verdict
	}
	tests := []ending{{"go run . exit", 1, lock}, {"go test -run=TestQuick .", exitOK, "app.slow.func1.1 main.go:"}, {exe + " fatal", 1, lock}}
	if runtime.GOOS != "windows" { // which has no signals
		// What this process ignores, as under nohup, the program would ignore, too.
		handled := make(chan os.Signal, 1)
		signal.Notify(handled, os.Interrupt, syscall.SIGHUP)
		defer signal.Stop(handled)
		// The go command ignores an interrupt, and ends at once by another signal.
		for i, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
			program := []string{exe, exe, "go run .", "go run ."}[i]
			tests = append(tests, ending{fmt.Sprintf("%s signal %d %d", program, os.Getpid(), sig), exitFailure, "The lock "})
		}
	}
	for _, c := range tests {
		got := bottleneck(append([]string{"run", "-dir", dir, "--"}, strings.Fields(c.args)...)...)
		if c.want == lock && !strings.Contains(got.out, lock) { // on a busy machine, other findings are larger
			_, name, _ := strings.Cut(got.err, "bottleneck: recorded ")
			name, _, _ = strings.Cut(name, ", ")
			got.out += bottleneck("contention", name).out
		}
		if got.status != c.status || !strings.Contains(got.err, "bottleneck: recorded "+dir) || !strings.Contains(got.out, c.want) || strings.Contains(got.err, "no signal came") {
			t.Errorf("%s: status %d, want %d and %s; %s%s", c.args, got.status, c.status, c.want, got.out, got.err)
		}
	}
	widths := t.TempDir()
	got = bottleneck("run", "-dir", widths, "-cpu", "2,1", "--", "go", "test", "-run=TestQuick", ".")
	each, _ := filepath.Glob(filepath.Join(widths, "*.trace"))
	for _, want := range []string{" × 2 processors, ", " with 2 workers; ", "\nspeed-up  "} {
		if got.status != exitOK || !strings.Contains(got.out, want) || len(each) != 2 {
			t.Errorf("-cpu 2,1: status %d, want %q; %v %s%s", got.status, want, each, got.out, got.err)
		}
	}
	bottleneck("run", "-dir", dir, "--", exe, "gone").want(t, 5, "\n", "the end of a program by SIGKILL or syscall.Exit loses the last second")
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	left = slices.DeleteFunc(left, func(name string) bool { return strings.HasPrefix(filepath.Base(name), "go-build") }) // of a killed go command
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
