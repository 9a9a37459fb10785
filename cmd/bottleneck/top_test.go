package main

import (
	"bytes"
	"context"
	"errors"
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
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
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

// scripted is a source with the answers of a test.
type scripted struct {
	answer func(n int) (*bottle.Graph, error)
	n      atomic.Int64
}

func (s *scripted) source() topSource {
	return topSource{"the service", time.Second, "", func(context.Context) (*bottle.Graph, error) { return s.answer(int(s.n.Add(1))) }}
}

// graphOf is a graph of one second, with the share of main.main in percent.
func graphOf(percent int) *bottle.Graph {
	share := time.Duration(percent) * time.Second / 100
	g := &bottle.Graph{Wall: time.Second, Idle: time.Second - share, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: share, Running: share, Parallelism: 1, SelfParallelism: 1}}}
	g.SetProcs(4)
	return g
}

// growing returns graphs in which main.main has 10 %, 20 % and so on.
func growing() *scripted {
	return &scripted{answer: func(n int) (*bottle.Graph, error) { return graphOf(10 * n), nil }}
}

// session is a view in a bubble of time. It processes messages one after another, as a bubbletea
// program does.
type session struct {
	loop  *topLoop
	msgs  chan tea.Msg
	ended chan error
	mu    sync.Mutex
	frame string
}

func startTop(source *scripted) *session {
	s := &session{msgs: make(chan tea.Msg), ended: make(chan error, 1)}
	s.loop = newTopLoop(source.source(), &topFlags{interval: time.Second})
	s.loop.terminal.Width, s.loop.view.Sort, s.loop.ctx = 100, "share", context.Background()
	go s.run()
	return s
}

func (s *session) run() {
	quit := make(chan struct{})
	defer close(quit)
	do := func(cmd tea.Cmd) {
		if cmd != nil {
			go func() {
				select {
				case s.msgs <- cmd():
				case <-quit:
				}
			}()
		}
	}
	do(s.loop.Init())
	for {
		s.mu.Lock()
		s.frame = s.loop.View().Content
		s.mu.Unlock()
		switch msg := (<-s.msgs).(type) {
		case tea.BatchMsg:
			for _, cmd := range msg {
				do(cmd)
			}
		case tea.QuitMsg:
			s.ended <- nil
			return
		default:
			_, cmd := s.loop.Update(msg)
			do(cmd)
		}
	}
}

func (s *session) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frame
}

func (s *session) press(keys string) {
	for _, k := range keys {
		s.msgs <- keyPress(k)
		synctest.Wait()
	}
}

// keyPress is a key with a letter.
func keyPress(k rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: k, Text: string(k)} }

func (s *session) has(t *testing.T, parts ...string) {
	t.Helper()
	synctest.Wait()
	for _, p := range parts {
		if !strings.Contains(s.last(), p) {
			t.Errorf("%q is missing in\n%s", p, s.last())
		}
	}
}

func (s *session) end(t *testing.T) {
	t.Helper()
	s.press("q")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	time.Sleep(mostInterval) // of the last tick
}

// bubble runs a test with a simulated clock.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// passed lets some seconds pass, including the events at their end.
func passed(seconds float64) {
	time.Sleep(time.Duration(seconds*float64(time.Second)) + time.Millisecond)
	synctest.Wait()
}

// The view is refreshed once an interval, shows trends, pauses and resumes, and ends with q.
func TestTopLoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		s := startTop(source)
		s.has(t, "bottleneck top: the service", "main.main", " 10.0%", "every 1 s", "q quit")
		passed(3)
		s.has(t, " 40.0%", "+10.0%")
		if source.n.Load() != 4 {
			t.Errorf("asked %d times in 3 s", source.n.Load())
		}
		s.press("p")
		s.has(t, "PAUSED")
		if passed(5); source.n.Load() != 4 {
			t.Errorf("asked %d times, though it paused", source.n.Load())
		}
		s.press(" ")
		s.has(t, " 50.0%", "PAUSED")
		s.press("p")
		passed(1)
		s.has(t, " 60.0%")
		s.press("-")
		s.has(t, "every 2 s")
		asked := source.n.Load()
		if passed(4); source.n.Load() != asked+2 {
			t.Errorf("asked %d times in two intervals", source.n.Load()-asked)
		}
		s.end(t)
	})
}

// If a service disappears, top keeps its last graph with a message, and asks again.
func TestTopLosesService(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		answer := source.answer
		source.answer = func(n int) (*bottle.Graph, error) {
			if n > 2 && n < 6 {
				return nil, errors.New("connection refused")
			}
			return answer(n)
		}
		s := startTop(source)
		passed(2)
		s.has(t, " 20.0%", "No answer since "+time.Now().Format("15:04:05")+": connection refused. This is the last graph; trying again.")
		passed(2)
		s.has(t, " 20.0%", "No answer since "+time.Now().Add(-2*time.Second).Format("15:04:05"))
		passed(1)
		s.has(t, " 60.0%")
		if strings.Contains(s.last(), "No answer") {
			t.Errorf("the message stays:\n%s", s.last())
		}
		s.end(t)
	})
}

// A hanging service is not asked again concurrently, keys still work, and the view shows what it
// waits for.
func TestTopWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		source := growing()
		answer := source.answer
		source.answer = func(n int) (*bottle.Graph, error) {
			if n == 2 {
				<-release
			}
			return answer(n)
		}
		s := startTop(source)
		passed(6)
		s.has(t, " 10.0%", "Waiting for an answer since "+time.Now().Add(-5*time.Second).Format("15:04:05"))
		s.press("s")
		s.has(t, "main.main", "sorted by parallelism")
		if source.n.Load() != 2 {
			t.Errorf("asked %d times", source.n.Load())
		}
		close(release)
		s.has(t, " 20.0%")
		s.end(t)
	})
}

// Keys scroll, sort, change the interval, quit and show the help.
func TestTopKeys(t *testing.T) {
	l := newTopLoop(topSource{}, &topFlags{interval: time.Second})
	l.view.Graph, l.view.Sort = &bottle.Graph{Boxes: make([]bottle.Box, 40)}, "share"
	for _, tt := range []struct {
		key  tea.KeyPressMsg
		skip int
		sort string
	}{
		{tea.KeyPressMsg{Code: tea.KeyDown}, 1, "share"}, {tea.KeyPressMsg{Code: tea.KeyPgDown}, 16, "share"}, {tea.KeyPressMsg{Code: tea.KeyEnd}, 25, "share"},
		{keyPress('f'), 25, "share"}, {tea.KeyPressMsg{Code: tea.KeyPgUp}, 10, "share"}, {tea.KeyPressMsg{Code: tea.KeyHome}, 0, "share"}, {tea.KeyPressMsg{Code: tea.KeyUp}, 0, "share"},
		{keyPress('j'), 1, "share"}, {keyPress('s'), 0, "parallelism"}, {keyPress('S'), 0, "share"}, {keyPress('S'), 0, "lost"}, {keyPress('S'), 0, "name"}, {keyPress('s'), 0, "lost"},
		{keyPress('6'), 0, "blocked"}, {keyPress('x'), 0, "blocked"}, {keyPress('世'), 0, "blocked"},
	} {
		if l.Update(tt.key); l.view.Skip != tt.skip || l.view.Sort != tt.sort {
			t.Errorf("%s: skips %d, sorted by %s", tt.key, l.view.Skip, l.view.Sort)
		}
	}
	for range 20 {
		l.press("+")
	}
	if l.interval != leastInterval {
		t.Errorf("the interval went down to %v", l.interval)
	}
	for _, key := range []tea.KeyPressMsg{keyPress('q'), {Code: 'c', Mod: tea.ModCtrl}, {Code: 'd', Mod: tea.ModCtrl}} {
		if _, cmd := l.Update(key); cmd == nil || cmd() != (tea.QuitMsg{}) {
			t.Errorf("%s does not quit", key)
		}
	}
}

func FuzzTopKeys(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("q+-sSjk1g")
	f.Fuzz(func(t *testing.T, typed string) {
		l := newTopLoop(topSource{}, &topFlags{interval: time.Second})
		for _, k := range typed {
			l.Update(keyPress(k))
		}
		if l.view.Skip < 0 || l.interval < leastInterval || l.interval > mostInterval {
			t.Errorf("skips %d, interval %v", l.view.Skip, l.interval)
		}
	})
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
	s := httptest.NewServer(live.Handler(live.Options{Recorder: &rec, AllowRemote: true, Full: full.Pages{}}))
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
		s := httptest.NewServer(live.Handler(live.Options{Recorder: rec, AllowRemote: true, Full: full.Pages{}}))
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
