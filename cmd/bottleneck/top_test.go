package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// liveService serves graphs as exporters/live does.
func liveService(t *testing.T, metrics bool) (mount string) {
	t.Helper()
	var graphs, counts atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/bottleneck/graph", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "format=json&seconds=2" {
			http.Error(w, "what is "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		bottle.WriteJSON(w, graphOf(int(graphs.Add(1))%100))
	})
	if metrics {
		mux.HandleFunc("/debug/bottleneck/metrics", func(w http.ResponseWriter, r *http.Request) {
			n := counts.Add(1)
			fmt.Fprintf(w, `# HELP x y
bottleneck_wall_seconds_total %d
bottleneck_contentions_total{kind="mutex"} %d
bottleneck_contentions_total{kind="chan-receive"} %d000
bottleneck_contentions_total{kind="once"} 5
bottleneck_stream_dropped_seconds_total{reason="behind"} 1.5
bottleneck_stream_dropped_seconds_total{reason="broken"} 0.5
`, n*2, n*100, n)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/debug/bottleneck/"
}

// Frames in a pipe: plain text, as many as asked for.
func TestTopBatch(t *testing.T) {
	mount := liveService(t, true)
	for _, u := range []string{mount, strings.TrimSuffix(mount, "/"), mount + "graph", strings.TrimSuffix(mount, "/debug/bottleneck/")} {
		r := bottleneck("top", "-n", "3", "-interval", "100ms", u)
		r.want(t, exitOK, "main.main", "")
		if n := strings.Count(r.out, "bottleneck top: http://127.0.0.1:"); n != 3 || strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "q quit") {
			t.Errorf("%s: %d frames:\n%s", u, n, r.out)
		}
		// Between two refreshes the service has seen 2 s and 100 contentions.
		if strings.Count(r.out, "contentions 50/s   dropped 2 s of ") != 2 {
			t.Errorf("%s: want two rates in\n%s", u, r.out)
		}
	}
	mount = liveService(t, false)
	r := bottleneck("top", "-n", "2", "-interval", "100ms", mount)
	r.want(t, exitOK, "main.main", "")
	if strings.Contains(r.out, "contentions") || strings.Contains(r.out, "dropped") {
		t.Errorf("numbers that nobody counted:\n%s", r.out)
	}
}

// net/http/pprof is found where it usually is; its traces are read here.
func TestTopTraces(t *testing.T) {
	trace := read(t, mutexTrace)
	var query atomic.Value
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		w.Write(trace)
	})
	mux.HandleFunc("/debug/pprof/cmdline", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "service") })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	s := httptest.NewServer(mux)
	defer s.Close()
	want, err := bottle.ReadFile(context.Background(), mutexTrace, bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof", "/debug/pprof/trace?seconds=7", ""} {
		r := bottleneck("top", "-n", "1", s.URL+path)
		r.want(t, exitOK, fmt.Sprintf("mean parallelism %.2f", want.MeanParallelism()), "")
		if !strings.Contains(r.out, "Traces of net/http/pprof, of 1s each: slower") || !strings.Contains(r.out, "contentions ") || query.Load() != "seconds=1" {
			t.Errorf("%s (asked for %s):\n%s", path, query.Load(), r.out)
		}
	}
	bottleneck("top", "-n", "1", "-group", "creator", s.URL+"/debug/pprof/").want(t, exitOK, "main.main", "")
}

// The windows of a file are shown one after the other.
func TestTopFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "g.json")
	bottleneck("graph", "-window", "100ms", "-o", name, phasesTrace).want(t, exitOK, "", "")
	r := bottleneck("top", "-n", "3", "-interval", "100ms", name)
	r.want(t, exitOK, "Window 1 of ", "")
	if !strings.Contains(r.out, "Window 3 of ") || !strings.Contains(r.out, "from 200ms on") {
		t.Errorf("not the windows:\n%s", r.out)
	}
	bottleneck("graph", "-o", name, mutexTrace).want(t, exitOK, "", "")
	bottleneck("top", "-n", "1", name).want(t, exitOK, "mutexWorker", "")
}

func TestTopMistakes(t *testing.T) {
	mount := liveService(t, false)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<!DOCTYPE html><html>hello") })
	mux.HandleFunc("/text/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/json/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"hello":1}`) })
	mux.HandleFunc("/locked/", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "only for Eve", http.StatusForbidden) })
	mux.HandleFunc("/none/", http.NotFound)
	s := httptest.NewServer(mux)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(file, []byte(`{"wall_ns":1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"", exitUsage, "no service"},
		{"a b", exitUsage, "more than one source"},
		{"-interval 1ms x", exitUsage, "-interval 1ms: want from"},
		{"-seconds -1 x", exitUsage, "-seconds -1: want"},
		{"-n 0 x", exitUsage, "-n 0: want a number"},
		{"-sort size x", exitUsage, `-sort "size": want lost`},
		{"-top -1 x", exitUsage, "-top -1: want"},
		{"-group nothing " + mount, exitUsage, "nothing"},
		{"-group creator " + mount, exitUsage, "-group is for net/http/pprof"},
		{"missing.json", exitFailure, "missing.json: "},
		{mutexTrace, exitFailure, "run \"bottleneck graph\""},
		{file, exitFailure, "this is no bottle graph"},
		{"-n 1 http://127.0.0.1:1/", exitFailure, "http://127.0.0.1:1/: dial tcp"},
		{"-n 1 " + s.URL + "/text/", exitFailure, "the answer is not a bottle graph; give the URL where"},
		{"-n 1 " + s.URL + "/json/", exitFailure, "the answer is not a bottle graph: "},
		{"-n 1 " + s.URL + "/page", exitFailure, "an HTML page"},
		{"-n 1 " + s.URL + "/locked/", exitFailure, "403 Forbidden: only for Eve"},
		{"-n 1 " + s.URL + "/none/", exitFailure, "404 Not Found: 404 page not found; give the URL"},
	} {
		bottleneck(append([]string{"top"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
}

// A service that has nothing to tell yet is no mistake.
func TestTopBusy(t *testing.T) {
	var n atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/graph", func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) < 4 {
			http.Error(w, "no whole window yet", http.StatusServiceUnavailable)
			return
		}
		bottle.WriteJSON(w, graphOf(30))
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	r := bottleneck("top", "-n", "3", "-interval", "100ms", s.URL+"/") // and the probe
	r.want(t, exitOK, "No graph yet: the server answers 503 Service Unavailable: no whole window yet", "")
	if !strings.Contains(r.out, " 30%") {
		t.Errorf("no graph in\n%s", r.out)
	}
	n.Store(-1000)
	r = bottleneck("top", "-n", "2", "-interval", "100ms", s.URL+"/")
	r.want(t, exitFailure, "No graph yet", "no graph in 2 refreshes: the server answers 503")
}

// What top cannot read again and again it refuses.
func TestTopReadsFilesThatChange(t *testing.T) {
	bottleneck("top", "-").want(t, exitUsage, "", "for standard input, run \"bottleneck graph -\"")
	bottleneck("top", t.TempDir()).want(t, exitFailure, "", "top wants a URL or the JSON of a graph in a regular file")
	if _, err := os.Stat("/dev/zero"); err == nil {
		bottleneck("top", "/dev/zero").want(t, exitFailure, "", "/dev/zero: top wants a URL or the JSON of a graph in a regular file")
	}
}
