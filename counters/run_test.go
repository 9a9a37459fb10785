package counters

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// childVariable makes the test binary behave as a program recorded from outside.
const childVariable = "COUNTERS_TEST_CHILD"

// TestChild is not a test but that program.
func TestChild(t *testing.T) {
	how, address, _ := strings.Cut(os.Getenv(childVariable), "@")
	if how == "" {
		t.Skip("it is the child of other tests")
	}
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/trace", pprof.Trace)
		go http.Serve(l, mux)
	} else if how != "silent" {
		defer FromEnvironment()()
	}
	Mark(context.Background(), "begin")
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Add(1)
		go func() { defer wg.Done(); childWorks(i) }()
	}
	wg.Wait()
	switch how {
	case "exit3":
		time.Sleep(1200 * time.Millisecond) // a whole generation of the trace
		os.Exit(3)
	case "long":
		time.Sleep(time.Minute)
	case "served":
		time.Sleep(1500 * time.Millisecond)
	}
}

var childSink [][]byte

// childWorks touches 200 pages, ten at a time.
//
//go:noinline
func childWorks(i int) {
	for range 20 {
		b := make([]byte, 10<<12)
		for j := 0; j < len(b); j += 1 << 12 {
			b[j] = 1
		}
		if i == 0 {
			childSink = append(childSink, b)
		}
		time.Sleep(time.Millisecond)
	}
}

func child(t *testing.T, how string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestChild$")
	// Generations of 100 ms, so that a trace that is cut off has some, however busy the
	// machine.
	cmd.Env = append(os.Environ(), childVariable+"="+how, "GODEBUG=traceadvanceperiod=100000000")
	return cmd
}

// runTo runs a command into an archive. An empty archive is removed.
func runTo(ctx context.Context, t *testing.T, cmd *exec.Cmd, name string, opt Options) error {
	t.Helper()
	var b bytes.Buffer
	err := Run(ctx, cmd, &b, opt)
	if b.Len() > 0 {
		if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

func readArchive(t *testing.T, name string) *quanta.Recording {
	t.Helper()
	r, err := quanta.ReadFile(t.Context(), name, quanta.Options{})
	if r == nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Log(err)
	}
	checkTable(t, r)
	for _, w := range r.Warnings {
		t.Log(w)
	}
	return r
}

// TestRun: a program is recorded from outside, from its first instruction on.
func TestRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.zip")
	if err := runTo(t.Context(), t, child(t, "plain"), name, Options{}); err != nil {
		t.Fatal(err)
	}
	r := readArchive(t, name)
	if len(r.Markers) != 1 || r.Markers[0].Text != "begin" || r.Start.IsZero() {
		t.Errorf("%+v, %v", r.Markers, r.Start)
	}
	works := 0
	for i := range r.Len() {
		if strings.HasSuffix(r.Funcs[r.Func[i]], "time.Sleep") && strings.Contains(r.Groups[r.Group[i]].Name, "TestChild") {
			works++
		}
	}
	if works < 50 {
		t.Errorf("%d of 60 naps", works)
	}
	if runtime.GOOS != "linux" {
		return
	}
	c := needs(t, r, "minor-faults")
	// The start of a Go program has hundreds of faults before there is a trace.
	if c.Total < 500 || c.Remainder <= 0 {
		t.Errorf("%d faults, %d in no quantum", c.Total, c.Remainder)
	}
	var inQuanta int64
	for i, v := range c.Values {
		if v == quanta.Unknown {
			t.Fatalf("row %d of %d has no value", i, r.Len())
		}
		inQuanta += v
	}
	if inQuanta < 150 { // pages that are kept are new
		t.Errorf("%d faults in quanta", inQuanta)
	}
	if c := needs(t, r, "task-clock"); c.Total < int64(time.Millisecond) || c.Remainder < 0 {
		t.Errorf("task-clock: total %d, remainder %d", c.Total, c.Remainder)
	}
}

// TestRunFails: an error in the program is its exit status. An error in the recording is reported.
func TestRunFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.zip")
	err := runTo(t.Context(), t, child(t, "exit3"), name, Options{})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("exit status 3: %v", err)
	}
	if r := readArchive(t, name); r.Len() == 0 { // cut off
		t.Error("nothing of the program is in the archive")
	}
	silent := filepath.Join(t.TempDir(), "silent.zip")
	if err := runTo(t.Context(), t, child(t, "silent"), silent, Options{Counters: []string{"task-clock", "faults", "switches", "migrations"}}); !errors.Is(err, ErrNoTrace) {
		t.Errorf("no trace: %v", err)
	}
	if _, err := os.Stat(silent); err == nil {
		t.Error("an archive without a trace")
	}
	if err := runTo(t.Context(), t, exec.Command("/no/such/program"), silent, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	if err := runTo(t.Context(), t, child(t, "plain"), silent, Options{Counters: []string{"nonsense"}}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("no counter: %v", err)
	}
}

// TestRunInterrupted: a killed program leaves what it wrote until then.
func TestRunInterrupted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.zip")
	ctx, cancel := context.WithTimeout(t.Context(), 1800*time.Millisecond)
	defer cancel()
	err := runTo(ctx, t, child(t, "long"), name, Options{})
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("killed: %v", err)
	}
	if r := readArchive(t, name); r.Len() == 0 || r.Wall < 100*time.Millisecond {
		t.Errorf("%d quanta in %v", r.Len(), r.Wall)
	}
}

// TestRunURL: a program that serves its trace.
func TestRunURL(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	address := l.Addr().String()
	l.Close()
	name := filepath.Join(t.TempDir(), "run.zip")
	if err := runTo(t.Context(), t, child(t, "served@"+address), name, Options{TraceURL: "http://" + address + "/trace?seconds=1"}); err != nil {
		t.Fatal(err)
	}
	if r := readArchive(t, name); r.Len() == 0 || r.Wall < 500*time.Millisecond || r.Wall > 10*time.Second {
		t.Errorf("%d quanta in %v", r.Len(), r.Wall)
	}
}

// TestStopTo: the archive of a session gives all counters, from the same records.
func TestStopTo(t *testing.T) {
	s, err := begin(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		childWorks(1)
	}
	name := filepath.Join(t.TempDir(), "session.zip")
	var b bytes.Buffer
	if err := s.stopTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	r := readArchive(t, name)
	var names []string
	for _, c := range r.Counters {
		names = append(names, c.Name)
	}
	for _, want := range []string{"sched-delay", "heap-allocs", "goroutines"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
	if s.c.meta.Begin != 0 && r.Counter("task-clock") == nil {
		t.Errorf("no task-clock: %q", r.Warnings)
	}
	if s.stopTo(&b) != ErrStopped {
		t.Error("stopped twice")
	}
}

// TestBrokenArchives: a damaged file is an error, never a panic.
func TestBrokenArchives(t *testing.T) {
	s, err := begin(Options{})
	if err != nil {
		t.Fatal(err)
	}
	childWorks(1)
	dir := t.TempDir()
	name := filepath.Join(dir, "session.zip")
	var b bytes.Buffer
	if err := s.stopTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !quanta.IsArchive(good) || quanta.IsArchive([]byte("go 1.26 trace\x00\x00\x00")) {
		t.Error("IsArchive")
	}
	for i := range 60 {
		n := len(good) * i / 60
		if r, err := quanta.ReadArchiveAt(t.Context(), bytes.NewReader(good[:n]), int64(n), quanta.Options{Name: "cut"}); err == nil || r != nil || !strings.Contains(err.Error(), "cut: ") {
			t.Fatalf("cut at %d: %v", n, err)
		}
		bad := slices.Clone(good)
		bad[n] ^= 0x41
		quanta.ReadArchiveAt(t.Context(), bytes.NewReader(bad), int64(len(bad)), quanta.Options{})
	}
	for meta, want := range map[string]string{
		`{`:                                    "meta.json",
		`{"format": 99}`:                       "format 99",
		`{"format": 1}`:                        "format 1",
		`{"format": 2, "begin": -5}`:           "counted from",
		`{"format": 2, "metric_names": ["x"]}`: "no metric",
		`{"format": 2, "metric_names": ["goroutines"], "metrics": [{"t":1,"v":[]}]}`: "metrics",
		`{"format": 2}`:                       archive.TraceMember,
		`{"format": 2, "begin": 1, "end": 2}`: archive.TraceMember,
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, _ := z.Create(archive.MetaMember)
		w.Write([]byte(meta))
		z.Close()
		if _, err := quanta.ReadArchiveAt(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), quanta.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", strconv.Quote(meta), err, want)
		}
	}
}
