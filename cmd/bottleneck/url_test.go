package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// service answers like a service, a broken one, and other things that URLs lead to.
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
		{s.URL + "/page", "an HTML page, not a trace; net/http/pprof serves traces at /debug/pprof/trace?seconds=5\n"},
		{s.URL + "/hidden-page", "it is an HTML or XML page\n"},
		{s.URL + "/busy", "500 Internal Server Error: Could not enable tracing: tracing is\uFFFD[31m already enabled\n"},
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

// A body that breaks off is a trace that is cut off.
func TestURLBreaksOff(t *testing.T) {
	s := service(t, read(t, phasesTrace))
	r := bottleneck("graph", s.URL+"/broken")
	r.want(t, exitFailure, "Warning: ", s.URL+"/broken: offset ")
	if !strings.Contains(r.err, "broke off") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr %q", r.err)
	}
}

// A password in a URL is shown to nobody.
func TestURLPassword(t *testing.T) {
	s := service(t, nil)
	r := bottleneck("graph", strings.Replace(s.URL, "http://", "http://me:secret@", 1)+"/nowhere")
	r.want(t, exitFailure, "", "me:xxxxx@")
	if strings.Contains(r.err, "secret") {
		t.Errorf("stderr %q", r.err)
	}
}

// A server that sends nothing, or nothing more, is given up.
func TestURLSilence(t *testing.T) {
	defer func(d time.Duration) { patienceURL = d }(patienceURL)
	patienceURL = 100 * time.Millisecond
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

// The progress tells how long the server will be tracing.
func TestURLProgress(t *testing.T) {
	for _, tt := range []struct {
		url   string
		since time.Duration
		bytes int64
		want  string
	}{
		{"http://h/debug/pprof/trace?seconds=5", 2 * time.Second, 0, "fetching http://h/debug/pprof/trace?seconds=5: tracing, 2 of 5 s"},
		{"http://h/debug/pprof/trace?seconds=5", 2 * time.Second, 1_250_000, "fetching http://h/debug/pprof/trace?seconds=5: tracing, 2 of 5 s, 1.2 MB"},
		{"http://h/debug/pprof/trace?seconds=5", 7 * time.Second, 3e9, "fetching http://h/debug/pprof/trace?seconds=5, 3.0 GB"},
		{"http://h/trace", time.Second, 2000, "fetching http://h/trace, 2 kB"},
		{"http://h/trace?seconds=x", time.Second, 0, "fetching http://h/trace?seconds=x"},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		in := urlInput(u)
		in.meter.done.Store(tt.bytes)
		if got := in.progress(tt.since); got != tt.want {
			t.Errorf("progress %q, want %q", got, tt.want)
		}
	}
}
