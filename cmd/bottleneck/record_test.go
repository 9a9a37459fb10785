package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// The trace is stored as received.
func TestRecord(t *testing.T) {
	trace := read(t, mutexTrace)
	queries := make(chan string, 9)
	mux := http.NewServeMux()
	serve := func(w http.ResponseWriter, r *http.Request) { queries <- r.URL.RequestURI(); w.Write(trace) }
	mux.HandleFunc("/debug/bottleneck/trace", serve)
	mux.HandleFunc("/debug/pprof/trace", serve)
	s := httptest.NewServer(mux)
	defer s.Close()
	for path, want := range map[string]string{
		"/debug/bottleneck/":             "/debug/bottleneck/trace?seconds=2.5",
		"/debug/bottleneck":              "/debug/bottleneck/trace?seconds=2.5",
		"/debug/bottleneck/trace?key=1":  "/debug/bottleneck/trace?key=1&seconds=2.5",
		"/debug/pprof/":                  "/debug/pprof/trace?seconds=2.5",
		"/debug/pprof/trace?seconds=100": "/debug/pprof/trace?seconds=2.5",
	} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		bottleneck("record", "-seconds", "2.5", s.URL+path, "-o", at("a.trace")).want(t, exitOK, "", "")
		if got := <-queries; got != want {
			t.Errorf("%s: asked for %s, want %s", path, got, want)
		}
		if !bytes.Equal(read(t, at("a.trace")), trace) {
			t.Error("the trace is another one")
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%d files: %v", len(entries), entries)
		}
	}
}

// A server that never stops, or sends something other than a trace, does not fill the disk.
func TestRecordIsBounded(t *testing.T) {
	trace := read(t, mutexTrace)
	mux := http.NewServeMux()
	endless := func(begin []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for _, err := w.Write(begin); err == nil; _, err = w.Write(trace) {
			}
		}
	}
	mux.HandleFunc("/trace", endless(trace))
	mux.HandleFunc("/json/trace", endless([]byte(`{"groups":["`)))
	s := httptest.NewServer(mux)
	defer s.Close()
	name := filepath.Join(t.TempDir(), "a.trace")
	bottleneck("record", "-max-size", "1MB", s.URL, "-o", name).want(t, exitFailure, "", "the trace is longer than 1 MB; raise the limit with -max-size; what had come is kept")
	if n := len(read(t, name)); n > 1e6 || n < 9e5 {
		t.Errorf("%d bytes are kept", n)
	}
	bottleneck("record", s.URL+"/json", "-o", name+"2").want(t, exitFailure, "", "not an execution trace")
	if _, err := os.Stat(name + "2"); err == nil {
		t.Error("an input that is not a trace is kept")
	}
	bottleneck("record", "-max-size", "much", s.URL, "-o", name+"2").want(t, exitUsage, "", "want an amount of memory such as 2GB")
	bottleneck("merge", "-memory", "40MB", s.URL+"/json/trace", "-o", name+".json").want(t, exitFailure, "", "/json/trace: memory limit exceeded: it is longer than 5 MB, and the limit is 40 MB; raise it with -memory")
}

// Existing files are kept unless they may be replaced.
func TestRecordKeepsFiles(t *testing.T) {
	s := service(t, read(t, mutexTrace))
	name := filepath.Join(t.TempDir(), "old.trace")
	if err := os.WriteFile(name, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	bottleneck("record", "-o", name, s.URL+"/debug/pprof/").want(t, exitFailure, "", "old.trace: the file exists; -force replaces it")
	if got := string(read(t, name)); got != "precious" {
		t.Errorf("the file holds %q", got)
	}
	bottleneck("record", "-force", "-o", name, s.URL+"/debug/pprof/").want(t, exitOK, "", "")
	if got := read(t, name); !bytes.Equal(got, read(t, mutexTrace)) {
		t.Errorf("the file holds %d bytes", len(got))
	}
}

// If the connection fails or the user interrupts, the received part is kept and readable.
func TestRecordKeepsPartialTrace(t *testing.T) {
	trace := read(t, mutexTrace)
	half := trace[:len(trace)*3/4]
	sent := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/broken/trace", func(w http.ResponseWriter, r *http.Request) {
		w.Write(half)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/slow/trace", func(w http.ResponseWriter, r *http.Request) {
		w.Write(half)
		w.(http.Flusher).Flush()
		sent <- struct{}{}
		<-r.Context().Done()
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	name := filepath.Join(t.TempDir(), "broken.trace")
	r := bottleneck("record", "-o", name, s.URL+"/broken/")
	r.want(t, exitFailure, "", "the connection broke off; what had come is kept: ")
	if !bytes.Equal(read(t, name), half) {
		t.Error("the file differs from the received data")
	}
	bottleneck("graph", name).want(t, exitFailure, "Bottle graph", "bottleneck: ")

	name = filepath.Join(t.TempDir(), "slow.trace")
	ctx, cancel := context.WithCancel(context.Background())
	var errs bytes.Buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"record", "-o", name, s.URL + "/slow/"}, nil, io.Discard, &errs)
	}()
	<-sent
	for { // the client may not have read it yet
		if files, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*.tmp")); len(files) == 1 {
			if st, err := os.Stat(files[0]); err == nil && st.Size() == int64(len(half)) {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if status := <-done; status != exitFailure || !strings.Contains(errs.String(), "of the trace in "+name) || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("status %d, stderr:\n%s", status, errs.String())
	}
	if !bytes.Equal(read(t, name), half) {
		t.Error("the file differs from the received data")
	}
}

// A recorder keeps a few seconds. A request for more gets a warning that states how much is
// missing.
func TestRecordWarnsOfAShortRecorder(t *testing.T) {
	data := read(t, mutexTrace)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Bottleneck-Window", "5s")
		w.Write(data)
	}))
	defer s.Close()
	dir := t.TempDir()
	bottleneck("record", "-seconds", "100", "-o", filepath.Join(dir, "a.trace"), s.URL).want(t, exitOK, "", "the service keeps the last 5s only: 1m35s are not in ")
	bottleneck("record", "-seconds", "5", "-o", filepath.Join(dir, "b.trace"), s.URL).want(t, exitOK, "", "")
}

// A service without traces has none to store.
func TestRecordWithoutTraces(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "there is no recorder", http.StatusNotImplemented)
	}))
	defer s.Close()
	dir := t.TempDir()
	bottleneck("record", "-o", filepath.Join(dir, "t.trace"), s.URL).want(t, exitFailure, "", "501 Not Implemented: there is no recorder")
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestRecordMistakes(t *testing.T) {
	s := service(t, nil)
	dir := t.TempDir()
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"-o x", exitUsage, "no service"},
		{s.URL, exitUsage, "no output file: want -o FILE"},
		{"-o x trace.out", exitUsage, "is not the URL of a service"},
		{"-o x -o y " + s.URL, exitUsage, "-o y: a recording has one file"},
		{"-o x.svg " + s.URL, exitUsage, `-o x.svg: record writes the trace; "bottleneck graph" draws it`},
		{"-o x -seconds 0 " + s.URL, exitUsage, "-seconds 0: want"},
		{"-o x -seconds NaN " + s.URL, exitUsage, "-seconds NaN: want"},
		{"-o " + dir + "/x " + s.URL, exitFailure, "404 Not Found: 404 page not found; give the URL"},
		{"-o " + dir + "/no/x " + s.URL, exitFailure, "writing "},
		{"-o " + dir + "/x http://127.0.0.1:1/", exitFailure, "http://127.0.0.1:1/trace?seconds=5: dial tcp"},
	} {
		bottleneck(append([]string{"record"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestRecordedProgram is not a test but the program that tests of record run.
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

// A program is run with its counters. The command exits with the program's status.
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
	rec, err := quanta.ReadFile(t.Context(), name, quanta.Options{})
	if err != nil || rec.Len() == 0 {
		t.Fatal(err)
	}
	for _, want := range []string{"minor-faults", "task-clock", "cycles"} {
		if rec.Counter(want) == nil && !strings.Contains(r.err, want) {
			t.Errorf("%s is not counted, and no reason is given: %s", want, r.err)
		}
	}
	bottleneck(args...).want(t, exitFailure, "", "the file exists; -force replaces it")

	t.Setenv("BOTTLENECK_TEST_RECORDED", "fails")
	args[4] = at("b.zip")
	if r := bottleneck(args...); r.status != 5 {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	if rec, err := quanta.ReadFile(t.Context(), args[4], quanta.Options{}); err != nil || rec.Len() == 0 {
		t.Error(err)
	}
	t.Setenv("BOTTLENECK_TEST_RECORDED", "silent")
	args[4] = at("c.zip")
	if r := bottleneck(args...); r.status != exitFailure || !strings.Contains(r.err, "no execution trace: build it with") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	if _, err := os.Stat(args[4]); err == nil {
		t.Error("an archive without a trace")
	}
}

func TestRecordProgramUsage(t *testing.T) {
	for _, tt := range []struct {
		args   string
		want   int
		stderr string
	}{
		{"-o x --", exitUsage, "no program"},
		{"-- ./program", exitUsage, "want -o FILE"},
		{"-o x http://localhost/ -- ./program", exitUsage, "not both"},
		{"-o x -period 1ns -- ./program", exitUsage, "10µs or more"},
		{"-o x -trace-url localhost -- ./program", exitUsage, "is not a URL"},
		{"-o x -seconds 5 -- ./program", exitUsage, "-seconds is not for recording a program"},
		{"-o x -counters faults,cycel -- ./program", exitUsage, `-counters: unknown counter "cycel"; want one of L1-dcache-load-misses, `},
	} {
		bottleneck(append([]string{"record"}, strings.Fields(tt.args)...)...).want(t, tt.want, "", tt.stderr)
	}
	name := filepath.Join(t.TempDir(), "x")
	// The last argument is not a program.
	for _, program := range []string{"/no/such/program", "no-such-program", "./record_test.go"} {
		r := bottleneck("record", "-o", name, "--", program)
		r.want(t, exitFailure, "", "bottleneck: record: cannot run "+program+": ")
		if strings.Contains(r.err, "cannot write") || strings.Count(r.err, program) != 1 {
			t.Errorf("%s", r.err)
		}
	}
	bottleneck("record", "-counters", "cycel", "-o", name, "--", "/bin/true").want(t, exitUsage, "", "context-switches")
	if _, err := os.Stat(name); err == nil {
		t.Error("a file is left")
	}
}
