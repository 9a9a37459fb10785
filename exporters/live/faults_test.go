package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
)

// Of ten concurrent requests one is answered, and nine get the time of the next try.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	r := readTape(t, smallTrace)
	data := r.data
	r.write = func(w io.Writer) (int64, error) {
		close(began) // a second time panics
		<-release
		n, err := w.Write(data)
		return int64(n), err
	}
	base := serve(t, newHandler(Options{Tasks: granularity.NewRecorder()}, r, nil), nil)
	first := make(chan answer, 1)
	go func() { first <- get(t, base+"graph") }()
	<-began
	var wg sync.WaitGroup
	for range 9 {
		wg.Go(func() {
			a := get(t, base+"graph?format=json")
			after, err := strconv.Atoi(a.Header.Get("Retry-After"))
			if a.StatusCode != http.StatusServiceUnavailable || err != nil || after < 1 || !strings.Contains(a.body, "collection is in progress") {
				t.Errorf("%s, Retry-After %s: %s", a.Status, a.Header.Get("Retry-After"), a.body)
			}
		})
	}
	wg.Wait()
	if a := get(t, base+"tasks?seconds=0.1&format=pprof"); a.StatusCode != http.StatusOK {
		t.Errorf("another kind: %s %s", a.Status, a.body)
	}
	close(release)
	if a := <-first; a.StatusCode != http.StatusOK || !strings.Contains(a.body, "of the capacity") {
		t.Errorf("the first: %s %s", a.Status, a.body)
	}
	r.write = nil
	if a := get(t, base+"graph"); a.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", a.Status)
	}
}

// Concurrent requests of several kinds take their snapshots one after another.
func TestSnapshotsQueue(t *testing.T) {
	t.Parallel()
	r := readTape(t, smallTrace)
	data := r.data
	var mu sync.Mutex
	r.write = func(w io.Writer) (int64, error) {
		if !mu.TryLock() {
			return 0, bottle.ErrBusy
		}
		defer mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		n, err := w.Write(data)
		return int64(n), err
	}
	base := serve(t, newHandler(Options{}, r, nil), nil)
	var wg sync.WaitGroup
	for _, kind := range []string{"graph", "contention", "trace", "tasks"} {
		wg.Go(func() {
			if a := get(t, base+kind); a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %s", kind, a.Status, a.body)
			}
		})
	}
	wg.Wait()
}

// If the snapshots of others take too long, the answer says so and does not blame the number of
// events.
func TestWaitingForSnapshots(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	h.patience = 50 * time.Millisecond
	h.analysis <- struct{}{}
	base := serve(t, h, nil)
	if a := get(t, base+"graph?seconds=0.01"); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "one after the other") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// Each error of a source has an answer of its own.
func TestSourceErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		r      *tape
		c      *made
		path   string
		status int
		text   string
		retry  bool
	}{
		{"not started", &tape{off: true}, nil, "graph", 503, "the recorder is not running", true},
		{"not started", &tape{off: true}, nil, "trace", 503, "the recorder is not running", true},
		{"stopped during the request", &tape{write: failing(fmt.Errorf("x: %w", bottle.ErrRecorderStopped))}, nil, "graph", 503, "not running", true},
		{"another snapshot is in progress", &tape{write: failing(bottle.ErrBusy)}, nil, "trace", 503, "busy", true},
		{"another error", &tape{write: failing(errors.New("disk\r\nfull"))}, nil, "graph", 500, "no snapshot: disk", false},
		{"no trace", &tape{data: []byte("hello")}, nil, "graph", 500, "cannot be read", false},
		{"nothing", &tape{}, nil, "contention", 500, "cannot be read", false},
		{"continuous, stopped", nil, &made{off: true}, "graph", 503, "not running", true},
		{"continuous, too early", nil, &made{}, "graph", 503, "not analyzed a burst of tracing yet", true},
		{"continuous, all dropped", nil, &made{live: dropsOnly()}, "graph", 503, "3 generations have been dropped", true},
	} {
		var rec recorder
		var cont continuous
		if c.r != nil {
			rec = c.r
		}
		if c.c != nil {
			cont = c.c
		}
		a := get(t, serve(t, newHandler(Options{}, rec, cont), nil)+c.path)
		if a.StatusCode != c.status || !strings.Contains(a.body, c.text) || (a.Header.Get("Retry-After") != "") != c.retry {
			t.Errorf("%s: %s, Retry-After %q: %s", c.why, a.Status, a.Header.Get("Retry-After"), a.body)
		}
	}
}

func failing(err error) func(io.Writer) (int64, error) {
	return func(io.Writer) (int64, error) { return 0, err }
}

// dropsOnly is the report of an analysis that has dropped everything.
func dropsOnly() (live bottleneck.Live) {
	live.Stream.Dropped.Generations = 3
	return live
}

// A panic in a source is reported, and the next request is answered.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"boom\n<b>", errors.New("broken"), 42} {
		r := readTape(t, smallTrace)
		r.write = func(io.Writer) (int64, error) { panic(value) }
		h := newHandler(Options{}, r, nil)
		base := serve(t, h, nil)
		a := get(t, base+"graph")
		if a.StatusCode != http.StatusInternalServerError || !strings.HasPrefix(a.body, "the collection panicked: ") || strings.Count(a.body, "\n") != 1 {
			t.Errorf("%s %q", a.Status, a.body)
		}
		r.write = nil
		if a := get(t, base+"graph"); a.StatusCode != http.StatusOK {
			t.Errorf("afterwards: %s %s", a.Status, a.body)
		}
	}
}

// When a client disconnects, the collection stops: no goroutine waits for the rest of the minute.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	tasks := Options{Tasks: granularity.NewRecorder()}
	h := newHandler(tasks, nil, nil)
	const path = "tasks?format=pprof&seconds=60"
	var wg sync.WaitGroup
	done := make(chan struct{}, 1)
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		done <- struct{}{}
	}), nil)
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		req, _ := http.NewRequestWithContext(ctx, "GET", base+path, nil)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			t.Error("there is an answer")
		}
	})
	for len(h.collections()) == 0 {
		runtime.Gosched()
	}
	cancel()
	wg.Wait()
	select {
	case <-done:
	case <-time.After(50 * time.Second):
		t.Fatalf("%s: the collection continues without a client", path)
	}
	if busy := h.collections(); len(busy) != 0 {
		t.Errorf("%s: still busy: %v", path, busy)
	}
}

// When the server's context ends, as on SIGTERM, Shutdown does not wait for a collection. Its
// client gets an error.
func TestShutdown(t *testing.T) {
	t.Parallel()
	ctx, sigterm := context.WithCancel(context.Background())
	defer sigterm()
	var server *http.Server
	h := newHandler(Options{Tasks: granularity.NewRecorder()}, nil, nil)
	base := serve(t, h, func(s *http.Server) {
		s.BaseContext = func(net.Listener) context.Context { return ctx }
		server = s
	})
	came := make(chan answer, 1)
	go func() { came <- get(t, base+"tasks?format=pprof&seconds=200") }()
	for len(h.collections()) == 0 {
		runtime.Gosched()
	}
	sigterm()
	end, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		t.Error(err)
	}
	if a := <-came; a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "given up") {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// collections returns the names of the endpoints that collect.
func (h *handler) collections() (names []any) {
	h.busy.Range(func(name, _ any) bool { names = append(names, name); return true })
	return names
}

// A server with a short WriteTimeout answers longer collections.
func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	short := func(s *http.Server) { s.WriteTimeout = 500 * time.Millisecond }
	r := readTape(t, smallTrace)
	tasks := Options{Tasks: granularity.NewRecorder()}
	h := newHandler(tasks, r, nil)
	base := serve(t, h, short)
	data := r.data
	r.write = func(w io.Writer) (int64, error) {
		time.Sleep(700 * time.Millisecond)
		n, err := w.Write(data)
		return int64(n), err
	}
	for _, path := range []string{"tasks?format=pprof&seconds=0.8", "graph?format=svg", "trace"} {
		if a := get(t, base+path); a.StatusCode != http.StatusOK || len(a.body) == 0 {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
	}
	// So is a late error.
	write := r.write
	r.write = func(io.Writer) (int64, error) {
		time.Sleep(700 * time.Millisecond)
		return 0, errors.New("late")
	}
	if a := get(t, base+"graph"); a.StatusCode != http.StatusInternalServerError || !strings.Contains(a.body, "late") {
		t.Errorf("a late error: %s %s", a.Status, a.body)
	}
	r.write = write
	// Middleware may hide the underlying writer: the error comes before time is lost.
	measuring := newHandler(tasks, nil, nil)
	hidden := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { measuring.ServeHTTP(struct{ http.ResponseWriter }{w}, r) }), short)
	a := get(t, hidden+"tasks?format=pprof&seconds=0.8")
	if a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "WriteTimeout of 500ms") || !strings.Contains(a.body, "Unwrap") {
		t.Errorf("hidden: %s %s", a.Status, a.body)
	}
	if a := get(t, hidden+"tasks?format=pprof&seconds=0.1"); a.StatusCode != http.StatusOK {
		t.Errorf("short enough: %s %s", a.Status, a.body)
	}
}

// The analysis of a trace that takes too long is aborted with a text. The server does not cut the
// answer off.
func TestTooLongAnalysisIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	h.analyze = func(ctx context.Context, _ *snapshot.Buffer, _ time.Duration, _ bottleneck.Options) (*bottleneck.Report, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("reading: %w", ctx.Err())
	}
	hidden := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(struct{ http.ResponseWriter }{w}, r) })
	// The time is bounded by that of the server, minus a part for the answer.
	base := serve(t, hidden, func(s *http.Server) { s.WriteTimeout = 2 * time.Second })
	a := get(t, base+"graph")
	if a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "fewer seconds") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// An incomplete answer never looks like a complete one.
func TestIncompleteAnswersAreDetectable(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&handler{guard: guard{anyone: true}, sendTime: sendTime, series: nil, continuous: &made{live: report()}}).ServeHTTP(panicWriter{w}, r)
	})
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.URL + "/graph")
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer came without an error")
	}
}

// panicWriter writes a part and then panics.
type panicWriter struct{ http.ResponseWriter }

func (w panicWriter) Write(p []byte) (int, error) {
	w.ResponseWriter.Write(p[:len(p)/2])
	panic("broken pipe")
}
