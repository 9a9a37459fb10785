package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/input"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// temporary returns the name of a new file.
func temporary(t *testing.T, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// pipe feeds content into a real pipe, as a shell does.
func pipe(t *testing.T, content []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w.Write(content)
		w.Close()
	}()
	t.Cleanup(func() { r.Close() })
	return r
}

// All kinds of input give the same graph.
func TestInputs(t *testing.T) {
	raw := read(t, mutexTrace)
	want := bottleneck("graph", "-format", "json", mutexTrace)
	want.want(t, exitOK, `"group": "main.main"`, "")
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(mutexTrace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name  string
		stdin io.Reader
		arg   []string
	}{
		{"gzip", nil, []string{temporary(t, "x.gz", packed(t, raw))}},
		{"zstd", nil, []string{temporary(t, "x.zst", z.EncodeAll(raw, nil))}},
		{"stdin", bytes.NewReader(raw), []string{"-"}},
		{"stdin without argument", bytes.NewReader(raw), nil},
		{"stream", io.MultiReader(bytes.NewReader(raw)), []string{"-"}},
		{"pipe", pipe(t, raw), []string{"-"}},
		{"pipe without argument", pipe(t, raw), nil},
		{"redirected file", file, nil},
		{"packed pipe", pipe(t, packed(t, raw)), nil},
	} {
		r := commandWith(tt.stdin, append([]string{"graph", "-format", "json"}, tt.arg...)...)
		if r != want {
			t.Errorf("%s: status %d, stderr %q, output\n%s\nwant\n%s", tt.name, r.status, r.err, r.out, want.out)
		}
	}
}

func TestInputErrors(t *testing.T) {
	dir := t.TempDir()
	raw := read(t, mutexTrace)
	future := append([]byte("go 1.99 trace\x00\x00\x00"), raw[16:]...)
	for _, tt := range []struct {
		name string
		want string
	}{
		{filepath.Join(dir, "missing"), "missing: no such file"},
		{"localhost:6060/debug/pprof/trace", "trace: no such file or directory; a URL begins with http://"},
		{dir, "is a directory"},
		{temporary(t, "empty", nil), "empty: it is empty"},
		{temporary(t, "text", []byte("hello\nworld and more")), `not a Go execution trace: it begins with "hello`},
		{temporary(t, "page.html", []byte("<!DOCTYPE html><p>")), "it is an HTML or XML page"},
		{temporary(t, "future", future), "a trace of Go 1.99"},
		{temporary(t, "header", raw[:16]), "no events"},
		{temporary(t, "half-header", raw[:9]), "in its header"},
		{temporary(t, "x.gz", packed(t, raw)[:9]), "unpack"},
		{temporary(t, "evil\x1b[31m", nil), "it is empty"},
	} {
		r := bottleneck("graph", tt.name)
		r.want(t, exitFailure, "", tt.want)
		if strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "\x1b") {
			t.Errorf("stderr %q, want one line", r.err)
		}
		if base := filepath.Base(tt.name); !strings.Contains(base, "\x1b") && !strings.Contains(r.err, base) {
			t.Errorf("stderr %q does not name the file", r.err)
		}
	}
}

// The command does not wait for a standard input that cannot contain a trace.
func TestNoInput(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	commandWith(null, "graph").want(t, exitUsage, "", "no input: want a FILE")
	commandWith(null, "graph", "-").want(t, exitFailure, "", "standard input: it is empty")
}

// The readable part of a truncated trace is shown with a warning, and the error is reported as
// well.
func TestCutOff(t *testing.T) {
	raw := read(t, phasesTrace)
	name := temporary(t, "cut.trace", raw[:len(raw)*3/4])
	for _, tt := range []struct {
		format string
		want   string
	}{
		{"text", "Warning: "},
		{"json", `"warnings": [`},
		{"csv", "main."},
	} {
		r := bottleneck("graph", "-format", tt.format, name)
		r.want(t, exitFailure, tt.want, "cut.trace: offset ")
		if strings.Count(r.err, "\n") != 1 {
			t.Errorf("stderr has more than one line:\n%s", r.err)
		}
	}
	// A condition that holds has its own line.
	r := bottleneck("graph", "-o", filepath.Join(t.TempDir(), "x.svg"), "-fail", "wall>0s", name)
	r.want(t, exitFailure, "", "-fail: wall>0s: got ")
	if strings.Count(r.err, "\n") != 2 {
		t.Errorf("stderr:\n%s\nwant two lines", r.err)
	}
}

// A trace that is cut anywhere causes no crash, no hang and at most one line of error.
func TestCutAnywhere(t *testing.T) {
	raw := read(t, phasesTrace)
	for n := 0; n < len(raw); n += 1 + len(raw)/97 {
		r := commandWith(bytes.NewReader(raw[:n]), "graph", "-")
		if r.status != exitFailure && r.status != exitOK || strings.Count(r.err, "\n") > 1 {
			t.Errorf("cut at %d: status %d, stderr\n%s", n, r.status, r.err)
		}
		if r.status == exitFailure && r.err == "" || r.status == exitOK && r.err != "" {
			t.Errorf("cut at %d: status %d, stderr %q", n, r.status, r.err)
		}
	}
}

// An interrupt ends the command even if nothing is written to its standard input.
func TestInterrupt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	var out, errs bytes.Buffer
	status := run(ctx, []string{"graph", "-"}, r, &out, &errs)
	outcome{status, out.String(), errs.String()}.want(t, exitFailure, "", "bottleneck: interrupted\n")
}

// The error for an input of the wrong kind names the kind and the command that reads it.
func TestWrongKind(t *testing.T) {
	dir := t.TempDir()
	stack, profile := filepath.Join(dir, "stack.json"), filepath.Join(dir, "bottle.pb.gz")
	bottleneck("speedup", "-estimate", "-o", stack, mutexTrace).want(t, exitOK, "", "")
	bottleneck("graph", "-o", profile, mutexTrace).want(t, exitOK, "", "")
	var heap bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(heap.Bytes()) }))
	defer server.Close()
	graph := temporary(t, "graph.json", []byte(bottleneck("graph", "-format", "json", mutexTrace).out))
	windows := temporary(t, "windows.json", []byte(bottleneck("graph", "-window", "100ms", "-format", "json", mutexTrace).out))
	locks, tasks := contentionProfile(t, "c.json", 10, time.Second), taskProfile(t, "t.json", 10, 1000, granularity.OK)
	const ask = "not a Go execution trace: it is a profile for go tool pprof; ask net/http/pprof for /debug/pprof/trace?seconds=5, and exporters/live for format=json or a trace"
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"graph " + locks, exitUsage, `c.json is a contention profile: "bottleneck contention" reads it`},
		{"graph " + tasks, exitUsage, `t.json is a profile of tasks: "bottleneck tasks" reads it`},
		{"graph " + stack, exitUsage, `stack.json is a speedup stack: "bottleneck report" reads it`},
		{"tasks " + graph, exitUsage, `graph.json is a bottle graph: "bottleneck graph" reads it`},
		{"tasks " + windows, exitUsage, `windows.json is a bottle graph: "bottleneck graph" reads it`},
		{"tasks -aggregate " + locks, exitUsage, `c.json is a contention profile: "bottleneck contention" reads it`},
		{"contention " + graph, exitUsage, `graph.json is a bottle graph: "bottleneck graph" reads it`},
		{"contention " + tasks, exitUsage, `t.json is a profile of tasks: "bottleneck tasks" reads it`},
		{"graph " + temporary(t, "none.json", []byte(`{"a":1}`)), exitFailure, "none.json: bottle: reading JSON: object 1, from byte 0: not a bottle graph: wall_ns"},
		{"tasks " + temporary(t, "none.json", []byte(`{"a":1}`)), exitFailure, "none.json: granularity: reading JSON: this is no profile of tasks: classes is missing"},
		{"graph " + temporary(t, "wrong.json", []byte(`{"boxes":[],"wall_ns":-1,"idle_ns":0}`)), exitFailure, "wall_ns is negative"},
		{"graph " + profile, exitFailure, "bottle.pb.gz: " + ask},
		{"contention " + profile, exitFailure, "bottle.pb.gz: " + ask},
		{"tasks " + profile, exitFailure, "bottle.pb.gz: " + ask},
		{"graph " + server.URL + "/debug/pprof/heap", exitFailure, "/debug/pprof/heap: " + ask},
	} {
		r := bottleneck(strings.Fields(tt.args)...)
		if r.status != tt.status || !strings.Contains(r.err, tt.err) || r.out != "" {
			t.Errorf("%s: %d, %q, %q; want %d, %q", tt.args, r.status, r.out, r.err, tt.status, tt.err)
		}
	}
}

// Commands read traces only through bottleneck.Analyze, so there is one verdict for a recording.
func TestCommandsReadWithAnalyze(t *testing.T) {
	other := regexp.MustCompile(`\b(timeline\.Read\w*|\w+\.ReadTrace\w*|bottle\.ReadFile|speedup\.(Estimate|From\w+))\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if found := other.FindString(string(read(t, file))); found != "" {
			t.Errorf("%s: %s…)", file, found)
		}
	}
}

// service behaves like a service, like a broken one, and like other targets of URLs.
func service(t *testing.T, trace []byte) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(trace)
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) { w.Write(packed(t, trace)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/debug/pprof/trace", http.StatusFound)
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><title>Hello</title>") })
	mux.HandleFunc("/hidden-page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, "<html><body>Log in first, please</body></html>")
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "Could not enable tracing: tracing is\x1b[31m already enabled\nmore", http.StatusInternalServerError)
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(trace)))
		w.Write(trace[:len(trace)*3/4])
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/chunks", func(w http.ResponseWriter, r *http.Request) {
		for part := range slices.Chunk(trace, 1000) {
			w.Write(part)
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stalled", func(w http.ResponseWriter, r *http.Request) {
		w.Write(trace[:len(trace)/2])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestURL(t *testing.T) {
	s := service(t, read(t, mutexTrace))
	want := bottleneck("graph", "-format", "csv", mutexTrace)
	for _, path := range []string{"/debug/pprof/trace?seconds=5", "/packed", "/moved", "/chunks"} {
		if r := bottleneck("graph", "-format", "csv", s.URL+path); r != want {
			t.Errorf("%s: status %d, stderr %q, output\n%s", path, r.status, r.err, r.out)
		}
	}
}

func TestURLErrors(t *testing.T) {
	s := service(t, read(t, phasesTrace))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, tt := range []struct{ url, want string }{
		{s.URL + "/nowhere", "the server answers 404 Not Found: 404 page not found\n"},
		{s.URL + "/page", "an HTML page, not a trace; net/http/pprof serves traces at /debug/pprof/trace?seconds=5, and exporters/live at trace, below its index\n"},
		{s.URL + "/hidden-page", "it is an HTML or XML page\n"},
		{s.URL + "/busy", "500 Internal Server Error: Could not enable tracing: tracing is\uFFFD[31m already enabled; another trace of that program is being taken: try again\n"},
		{s.URL + "/empty", "it is empty"},
		{gone.URL + "/", "connection refused"},
		{"http://name.invalid/", "name.invalid"},
	} {
		r := bottleneck("graph", tt.url)
		r.want(t, exitFailure, "", tt.want)
		if strings.Count(r.err, "\n") != 1 || strings.Count(r.err, tt.url) != 1 {
			t.Errorf("stderr %q: want one line with the URL once", r.err)
		}
	}
}

// A body that ends early is a truncated trace.
func TestURLBodyCutOff(t *testing.T) {
	s := service(t, read(t, phasesTrace))
	r := bottleneck("graph", s.URL+"/broken")
	r.want(t, exitFailure, "Warning: ", s.URL+"/broken: offset ")
	if !strings.Contains(r.err, "broke off") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr %q", r.err)
	}
}

// A password in a URL is never shown.
func TestURLPassword(t *testing.T) {
	s := service(t, nil)
	r := bottleneck("graph", strings.Replace(s.URL, "http://", "http://me:secret@", 1)+"/nowhere")
	r.want(t, exitFailure, "", "me:xxxxx@")
	if strings.Contains(r.err, "secret") {
		t.Errorf("stderr %q", r.err)
	}
}

// The request fails if the server sends nothing, or stops sending.
func TestURLTimeout(t *testing.T) {
	defer func(d time.Duration) { input.Patience = d }(input.Patience)
	input.Patience = 100 * time.Millisecond
	s := service(t, read(t, phasesTrace))
	bottleneck("graph", s.URL+"/silent").want(t, exitFailure, "", "/silent: the server has sent nothing for ")
	r := bottleneck("graph", s.URL+"/stalled")
	if r.status != exitFailure || !strings.Contains(r.err, "/stalled: the server has sent nothing for ") {
		t.Errorf("status %d, stderr %q", r.status, r.err)
	}
}

// An interrupt ends the wait for a server.
func TestURLInterrupt(t *testing.T) {
	s := service(t, read(t, phasesTrace))
	for _, path := range []string{"/silent", "/stalled"} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		var out, errs bytes.Buffer
		status := run(ctx, []string{"graph", s.URL + path}, nil, &out, &errs)
		outcome{status, out.String(), errs.String()}.want(t, exitFailure, "", "bottleneck: interrupted\n")
	}
}

// Each command that reads URLs sends its headers only to the hosts that it was given.
func TestCredentialsAreSentToTheirHostOnly(t *testing.T) {
	data := read(t, mutexTrace)
	var mu sync.Mutex
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization")+r.Header.Get("X-Tenant") != "" {
			leaked = append(leaked, r.URL.Path)
		}
		w.Write(data)
	}))
	defer other.Close()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		switch {
		case r.Header.Get("Authorization") != "Bearer a secret" || r.Header.Get("X-Tenant") != "a=b" || r.Host != "shop.example":
			http.Error(w, "not allowed", http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, other.URL+"/trace", http.StatusFound)
		default:
			w.Write(data)
		}
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("a secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	given := []string{"-token-file", file, "--header=X-Tenant: a=b", "-header", "Host: shop.example"}
	for _, args := range [][]string{
		{"graph", s.URL + "/trace"},
		{"graph", s.URL + "/elsewhere"},
		{"contention", s.URL + "/trace"},
		{"tasks", s.URL + "/trace"},
		{"diff", s.URL + "/trace", mutexTrace},
		{"report", "-o", filepath.Join(t.TempDir(), "x.html"), s.URL + "/trace"},
		{"merge", s.URL + "/a", s.URL + "/b"},
		{"record", "-seconds", "0.1", "-o", filepath.Join(t.TempDir(), "x.trace"), s.URL + "/debug/pprof/"},
		{"top", "-n", "1", "-seconds", "0.1", s.URL + "/debug/pprof/"},
	} {
		asked = 0
		if r := bottleneck(args...); r.status != exitFailure || !strings.Contains(r.out+r.err, "not allowed") {
			t.Errorf("%s without credentials: status %d, %s", args[0], r.status, r.out+r.err)
		}
		if r := bottleneck(append(args, given...)...); r.status != exitOK || asked < 2 {
			t.Errorf("%s with credentials: status %d after %d requests, %s", args[0], r.status, asked, r.err)
		}
	}
	if leaked != nil {
		t.Errorf("credentials went to another host: %q", leaked)
	}
}

func TestWrongCredentials(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bottleneck("graph", "-header", "secret", "http://localhost:1").want(t, exitUsage, "", "-header: want 'NAME: VALUE'")
	bottleneck("graph", "-header").want(t, exitUsage, "", "flag needs an argument: -header")
	bottleneck("graph", "-token-file", empty).want(t, exitUsage, "", "want a token on one line")
	bottleneck("graph", "-token-file", empty+"x").want(t, exitFailure, "", "no such file")
	bottleneck("version", "-header", "A: b").want(t, exitUsage, "", "unknown flag -header")
}
