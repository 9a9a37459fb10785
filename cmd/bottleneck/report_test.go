package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// pageData is the data of a page.
type pageData struct {
	Title, Source string
	Served        bool
	Missing       map[string]string
	Warnings      []string
	Bottle        []bottle.Graph // the whole, and the windows
	Contention    *struct {
		Profile contention.Profile
		Windows struct {
			From, To []time.Duration
			Parts    []contention.Profile
		}
	}
	Tasks *struct {
		Profile granularity.Profile
		Windows struct {
			From, To []time.Duration
			Parts    [][]granularity.Class
		}
	}
	Speedup []struct {
		Stack   speedup.Stack
		Windows []struct {
			From, To int64
			Stack    speedup.Stack
		}
	}
	Counters *struct {
		Rows  int
		Table quanta.Recording
	}
}

var dataElement = regexp.MustCompile(`(?s)<script type="text/plain" id="data">(.*?)</script>`)

// dataOf returns the JSON data of a page.
func dataOf(t *testing.T, page []byte) []byte {
	t.Helper()
	m := dataElement.FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readPage(t *testing.T, name string) (p pageData) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(dataOf(t, page), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A trace fills every section that it has data for. The other sections state the reason.
func TestReport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.html")
	bottleneck("report", mutexTrace, "-o", out).want(t, exitOK, "", "")
	p := readPage(t, out)
	if len(p.Bottle) < 21 || p.Contention == nil || p.Counters == nil || p.Counters.Rows == 0 || p.Counters.Table.Len() != p.Counters.Rows {
		t.Errorf("sections are missing: %+v", p)
	}
	if len(p.Speedup) != 1 || !p.Speedup[0].Stack.Estimate {
		t.Errorf("speed-up: %+v, missing: %q", p.Speedup, p.Missing["speedup"])
	}
	if p.Tasks == nil && !strings.Contains(p.Missing["tasks"], "regions") {
		t.Errorf("missing: %q", p.Missing)
	}
	if p.Title != filepath.Base(mutexTrace) {
		t.Errorf("title %q", p.Title)
	}
	e := want(t, mutexTrace)
	if p.Counters.Rows != e.Len() {
		t.Errorf("%d quanta, want %d", p.Counters.Rows, e.Len())
	}
}

func want(t *testing.T, trace string) *quanta.Recording {
	t.Helper()
	rec, err := quanta.ReadFile(t.Context(), trace, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// Saved profiles replace those of the trace, or stand alone.
func TestReportMixed(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	bottleneck("graph", "-window", "100ms", "-o", file("graph.json"), phasesTrace).want(t, exitOK, "", "")
	bottleneck("contention", "-o", file("waits.json"), mutexTrace).want(t, exitOK, "", "")
	bottleneck("speedup", "-o", file("stack.json"), "-estimate", computeTrace).want(t, exitOK, "", "")
	tasks := tasksFile(t)
	bottleneck("report", "-o", file("saved.html"), "-title", "saved ones", file("graph.json"), file("waits.json"), file("stack.json"), tasks).want(t, exitOK, "", "")
	p := readPage(t, file("saved.html"))
	if p.Bottle == nil || p.Contention == nil || len(p.Speedup) != 1 || p.Tasks == nil || len(p.Tasks.Profile.Classes) != 2 || p.Counters != nil || p.Missing["counters"] == "" || p.Title != "saved ones" {
		t.Errorf("page of saved profiles: %+v", p)
	}
	bottleneck("report", "-o", file("mixed.html"), phasesTrace, tasks).want(t, exitOK, "", "")
	p = readPage(t, file("mixed.html"))
	if p.Tasks == nil || len(p.Tasks.Profile.Classes) != 2 || p.Missing["tasks"] != "" || p.Counters == nil {
		t.Errorf("page of a trace and tasks: %+v", p)
	}
	bottleneck("report", "-o", file("x.html"), tasks, tasks).want(t, exitUsage, "", "both for the section tasks")
	bottleneck("report", "-o", file("x.html"), mutexTrace, phasesTrace).want(t, exitUsage, "", "two recordings")
}

func TestReportUsage(t *testing.T) {
	for _, tt := range []struct{ args, err string }{
		{"", "no recording"}, {"trace.out", "-o FILE.html"}, {"-o page.txt trace.out", ".html"}, {"-o a.html -window -1s t", "positive duration"},
		{"-http 0.0.0.0:80 t", "this machine only"}, {"-http example.com:80 t", "this machine only"}, {"-http localhost t", "[HOST]:[PORT]"},
		{"-o a.html -group nonsense t", "unknown grouping"}, {"-o a.html -o a.html t", "given twice"},
	} {
		bottleneck(append([]string{"report"}, strings.Fields(tt.args)...)...).want(t, exitUsage, "", tt.err)
	}
	out := filepath.Join(t.TempDir(), "report.html")
	bottleneck("report", "-o", out, filepath.Join(t.TempDir(), "none")).want(t, exitFailure, "", "no such file")
	if _, err := os.Stat(out); err == nil {
		t.Error("a failure leaves a file")
	}
}

// A truncated trace gives a page of the readable part and a failing exit status.
func TestReportCutOff(t *testing.T) {
	data, err := os.ReadFile(phasesTrace)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cut, out := filepath.Join(dir, "cut.trace"), filepath.Join(dir, "cut.html")
	if err := os.WriteFile(cut, data[:len(data)*9/10], 0o600); err != nil {
		t.Fatal(err)
	}
	r := bottleneck("report", "-o", out, cut)
	if r.status != exitFailure || r.err == "" {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	if p := readPage(t, out); p.Bottle == nil || !strings.Contains(strings.Join(p.Warnings, " "), "could not be read to its end") {
		t.Errorf("page: %+v", p)
	}
	if page, err := os.ReadFile(out); err != nil || bytes.Contains(page, []byte(dir)) {
		t.Errorf("the page names a folder of this machine (%v)", err)
	}
}

// The report reads standard input.
func TestReportStdin(t *testing.T) {
	data, err := os.ReadFile(mutexTrace)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "report.html")
	commandWith(bytes.NewReader(data), "report", "-o", out, "-").want(t, exitOK, "", "")
	if p := readPage(t, out); p.Counters == nil {
		t.Errorf("page: %+v", p)
	}
}

// -http prints an address, serves the page there, and ends at an interrupt.
func TestReportServes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		done <- run(ctx, []string{"report", "-http", ":", mutexTrace}, nil, w, &stderr)
		w.Close()
	}()
	line := make([]byte, 100)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	address := strings.TrimSpace(string(line[:n]))
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	var p pageData
	if err := json.Unmarshal(dataOf(t, page), &p); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || !p.Served || p.Counters.Rows == 0 || p.Counters.Table.Len() != 0 {
		t.Errorf("%s answers %s, with %+v", address, resp.Status, p.Counters)
	}
	bare, _, _ := strings.Cut(address, "?token=")
	resp, err = http.Get(bare)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if bare == address || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%s, without a token, answers %s", bare, resp.Status)
	}
	stop()
	if status := <-done; status != exitOK {
		t.Errorf("status %d after an interrupt: %s", status, stderr.String())
	}
}

// A trace in Perfetto's format needs no page.
func TestReportPerfetto(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.perfetto-trace")
	bottleneck("report", "-o", out, mutexTrace).want(t, exitOK, "", "")
	if st, err := os.Stat(out); err != nil || st.Size() < 1000 {
		t.Errorf("the file: %v", err)
	}
	bottleneck("report", "-o", out, tasksFile(t)).want(t, exitUsage, "", "no trace")
}

// The error of a bad trace is not attributed to the output file, and is reported once.
func TestPerfettoOfBadTraces(t *testing.T) {
	whole, err := os.ReadFile(computeTrace)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		content []byte
		stderr  string
		written bool
	}{
		{nil, "it is empty", false},
		{[]byte("some text"), "not a Go execution trace", false},
		{whole[:len(whole)/2], "the trace is cut off", true},
	} {
		in, out := filepath.Join(dir, "in.trace"), filepath.Join(dir, "out.perfetto-trace")
		os.Remove(out)
		if err := os.WriteFile(in, tt.content, 0o600); err != nil {
			t.Fatal(err)
		}
		r := bottleneck("report", "-o", out, in)
		r.want(t, exitFailure, "", tt.stderr)
		if strings.Contains(r.err, "cannot write") || strings.Count(r.err, "in.trace") != 1 {
			t.Errorf("%s", r.err)
		}
		if _, err := os.Stat(out); (err == nil) != tt.written {
			t.Errorf("written: %v", err)
		}
	}
}

// tracedRegions records some regions of several goroutines that wait for a lock.
func tracedRegions(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err) // another trace is running
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 20 {
				trace.WithRegion(context.Background(), "step", func() {
					mu.Lock()
					time.Sleep(200 * time.Microsecond)
					mu.Unlock()
				})
			}
		})
	}
	all.Wait()
	trace.Stop()
	name := filepath.Join(t.TempDir(), "regions.trace")
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The windows of the page sum to the whole and are those of the slider.
func TestReportWindows(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.html")
	bottleneck("report", "-o", out, "-window", "2ms", tracedRegions(t)).want(t, exitOK, "", "")
	p := readPage(t, out)
	w, windows := &p.Contention.Windows, p.Bottle[1:]
	sum := func(p *contention.Profile) (waited time.Duration, n int64) {
		for i := range p.Waits {
			waited, n = waited+p.Waits[i].Waited, n+p.Waits[i].Contentions
		}
		return waited, n
	}
	waited, n := sum(&p.Contention.Profile)
	var inWindows time.Duration
	ofWindows := int64(0)
	for i := range w.Parts {
		d, n := sum(&w.Parts[i])
		inWindows, ofWindows = inWindows+d, ofWindows+n
	}
	if waited == 0 || waited != inWindows || n != ofWindows {
		t.Errorf("%v waited in %d waits, in windows %v in %d", waited, n, inWindows, ofWindows)
	}
	for i, b := range windows {
		if i < len(w.From) && (w.From[i] != b.Start || w.To[i] != b.Start+b.Wall) {
			t.Errorf("window %d of contention is from %d to %d, that of the graph from %d on for %d", i, w.From[i], w.To[i], b.Start, b.Wall)
		}
	}
	if n := len(windows); n < 3 || len(w.From) != n || len(p.Tasks.Windows.From) != n {
		t.Errorf("%d windows of the graph, %d of contention, %d of tasks", n, len(w.From), len(p.Tasks.Windows.From))
	}
	if !slices.Equal(w.From, p.Tasks.Windows.From) || !slices.Equal(w.To, p.Tasks.Windows.To) {
		t.Errorf("tasks have the windows %v, contention %v", p.Tasks.Windows, w.From)
	}
	if classes := p.Tasks.Profile.Classes; len(classes) != 1 || classes[0].Tasks != 60 {
		t.Fatalf("tasks: %+v", p.Tasks)
	}
	tasks := uint64(0)
	for _, classes := range p.Tasks.Windows.Parts {
		for i := range classes {
			tasks += classes[i].Tasks
		}
	}
	if tasks != 60 {
		t.Errorf("%d tasks in windows, want 60", tasks)
	}
	if len(p.Speedup) == 1 {
		sum, wall := 0., int64(0)
		for _, x := range p.Speedup[0].Windows {
			sum += x.Stack.Speedup * float64(x.To-x.From)
			wall += x.To - x.From
		}
		if d := sum/float64(wall) - p.Speedup[0].Stack.Speedup; d > 1e-6 || d < -1e-6 {
			t.Errorf("a speed-up of %v in windows, %v as a whole", sum/float64(wall), p.Speedup[0].Stack.Speedup)
		}
	}
}
