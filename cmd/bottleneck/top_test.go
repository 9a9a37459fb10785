package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
)

// liveService serves graphs as exporters/live does.
func liveService(t *testing.T) (mount string) {
	t.Helper()
	var graphs atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/bottleneck/graph", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "format=json&seconds=2" {
			http.Error(w, "what is "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		bottle.WriteJSON(w, graphOf(int(graphs.Add(1))%100))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/debug/bottleneck/"
}

// In a pipe, the frames are plain text, as many as requested.
func TestTopBatch(t *testing.T) {
	mount := liveService(t)
	for _, u := range []string{mount, strings.TrimSuffix(mount, "/"), mount + "graph"} {
		r := bottleneck("top", "-n", "3", "-interval", "100ms", u)
		r.want(t, exitOK, "main.main", "")
		if n := strings.Count(r.out, "bottleneck top: http://127.0.0.1:"); n != 3 || strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "q quit") {
			t.Errorf("%s: %d frames:\n%s", u, n, r.out)
		}
	}
}

// top reads the traces of net/http/pprof locally.
func TestTopTraces(t *testing.T) {
	trace := read(t, mutexTrace)
	var query atomic.Value
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		w.Write(trace)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	want, err := bottle.ReadFile(context.Background(), mutexTrace, bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof", "/debug/pprof/trace?seconds=7"} {
		r := bottleneck("top", "-n", "1", s.URL+path)
		r.want(t, exitOK, fmt.Sprintf("mean parallelism %.2f", want.MeanParallelism()), "")
		if !strings.Contains(r.out, "Traces of net/http/pprof, of 1s each: slower") || query.Load() != "seconds=1" {
			t.Errorf("%s (asked for %s):\n%s", path, query.Load(), r.out)
		}
	}
	bottleneck("top", "-n", "1", "-group", "creator", s.URL+"/debug/pprof/").want(t, exitOK, "main.main", "")
}

func TestTopMistakes(t *testing.T) {
	mount := liveService(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<!DOCTYPE html><html>hello") })
	mux.HandleFunc("/text/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/json/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"hello":1}`) })
	mux.HandleFunc("/locked/", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "only for Eve", http.StatusForbidden) })
	mux.HandleFunc("/none/", http.NotFound)
	s := httptest.NewServer(mux)
	defer s.Close()
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"", exitUsage, "no service"},
		{"a b", exitUsage, "more than one service"},
		{"-interval 1ms x", exitUsage, "-interval 1ms: want from"},
		{"-seconds -1 x", exitUsage, "-seconds -1: want"},
		{"-n 0 x", exitUsage, "-n 0: want a number"},
		{"-top -1 x", exitUsage, "-top -1: want"},
		{"-group nothing " + mount, exitUsage, "nothing"},
		{"-group creator " + mount, exitUsage, "-group is for net/http/pprof"},
		{mutexTrace, exitUsage, "is not the URL of a service"},
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

// A service without a result yet is not an error.
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
	if !strings.Contains(r.out, " 30.0%") {
		t.Errorf("no graph in\n%s", r.out)
	}
	n.Store(-1000)
	r = bottleneck("top", "-n", "2", "-interval", "100ms", s.URL+"/")
	r.want(t, exitFailure, "No graph yet", "no graph in 2 refreshes: the server answers 503")
}

// graphOf is a graph of one second, with the share of main.main in percent.
func graphOf(percent int) *bottle.Graph {
	share := time.Duration(percent) * time.Second / 100
	g := &bottle.Graph{Wall: time.Second, Idle: time.Second - share, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: share, Running: share, Parallelism: 1, SelfParallelism: 1}}}
	g.SetProcs(4)
	return g
}

// waitsForEachOther is a service: two goroutines, one lock.
func waitsForEachOther(t *testing.T) {
	var mu sync.Mutex
	quit := make(chan struct{})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				mu.Lock()
				time.Sleep(time.Millisecond)
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() { close(quit); both.Wait() })
}

// The commands for running services against the handlers of exporters/live.
func TestLive(t *testing.T) {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	waitsForEachOther(t)
	s := httptest.NewServer(live.Handler(live.Options{Recorder: &rec, AllowRemote: true, Full: full.Pages}))
	defer s.Close()
	time.Sleep(100 * time.Millisecond) // any part of it is in the recording

	r := bottleneck("top", "-n", "2", "-top", "0", "-interval", "100ms", s.URL)
	r.want(t, exitOK, "waiting for locks: ", "")
	if strings.Count(r.out, "Other.func1") < 2 || strings.Contains(r.out, "waiting for locks: 0.00 ") {
		t.Errorf("two frames with waiting goroutines are not in\n%s", r.out)
	}
	dir := t.TempDir()
	trace, graph := filepath.Join(dir, "service.trace"), filepath.Join(dir, "service.json")
	bottleneck("record", "-seconds", "1", "-o", trace, s.URL).want(t, exitOK, "", "")
	bottleneck("graph", "-o", graph, trace).want(t, exitOK, "", "")
	parseGraph(t, string(read(t, graph)))
	bottleneck("contention", trace).want(t, exitOK, "waitsForEachOther", "")
	bottleneck("merge", s.URL+"/", graph).want(t, exitOK, "Merged: 2 instances", "")
	bottleneck("merge", "-kind", "contention", s.URL+"/").want(t, exitOK, "waitsForEachOther", "")
}

// recorded is a source of snapshots that are all the same trace.
type recorded []byte

func (r recorded) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(r).WriteTo(w) }

// TestOneVerdict: the index of a service, its graph in each form, top and the verdict on the raw
// trace have the same first sentence for one recording.
func TestOneVerdict(t *testing.T) {
	for _, file := range []string{mutexTrace, phasesTrace} {
		rec := &bottle.Recorder{Source: recorded(read(t, file)), Last: time.Minute}
		s := httptest.NewServer(live.Handler(live.Options{Recorder: rec, AllowRemote: true, Full: full.Pages}))
		defer s.Close()
		page := func(path string) string {
			resp, err := http.Get(s.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
			}
			return string(body)
		}
		json := page("/graph?format=json&seconds=60")
		g, err := bottle.ReadJSON(strings.NewReader(json))
		if err != nil || g.Verdict == nil || len(g.Verdict.Findings) == 0 {
			t.Fatalf("no verdict (%v) in %s", err, json)
		}
		want := g.Verdict.Findings[0].Title
		raw := filepath.Join(t.TempDir(), "raw.trace")
		bottleneck("record", "-o", raw, s.URL).want(t, exitOK, "", "")
		for what, text := range map[string]string{
			"text":    page("/graph?format=text&seconds=60"),
			"svg":     html.UnescapeString(page("/graph?format=svg&seconds=60")),
			"index":   html.UnescapeString(page("/")),
			"top":     bottleneck("top", "-n", "1", "-seconds", "60", s.URL).out,
			"verdict": bottleneck("verdict", raw).out,
		} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%s of %s does not have %q:\n%.3000s", what, file, want, text)
			}
		}
	}
}
