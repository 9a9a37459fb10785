package live

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func TestMain(m *testing.M) {
	if os.Getenv("BOTTLENECK_MEMORY_CHILD") != "" {
		memoryChild()
		return
	}
	goleak.VerifyTestMain(m)
}

// tape is a recorder that always has the same trace, from a file.
type tape struct {
	data   []byte
	window time.Duration
	off    bool
	write  func(io.Writer) (int64, error) // instead of the data
	calls  atomic.Int64
}

func (r *tape) Enabled() bool         { return !r.off }
func (r *tape) Window() time.Duration { return max(r.window, 5*time.Second) }
func (r *tape) WriteTo(w io.Writer) (int64, error) {
	r.calls.Add(1)
	if r.write != nil {
		return r.write(w)
	}
	n, err := w.Write(r.data)
	return int64(n), err
}

// readTape returns a recorder with a trace of the repository.
func readTape(t testing.TB, file string) *tape {
	t.Helper()
	data, err := os.ReadFile("../../testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".zst") { // snapshots are not compressed
		z, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return &tape{data: data}
}

// Two traces of the repository: of four goroutines with a lock, and of a busy HTTP server.
const smallTrace = "small/mutex-go1.26.8.trace"
const httpTrace = "real/nethttp-parallel4.trace.zst"

// made is a continuous analysis with made-up reports.
type made struct {
	mu   sync.Mutex
	live bottleneck.Live
	off  bool
}

func (c *made) Enabled() bool { return !c.off }
func (c *made) Read() *bottleneck.Live {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.live
	return &live
}
func (c *made) Last(time.Duration) *bottleneck.Live { return c.Read() }

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// report covers ten seconds of a program with two processors. One second was dropped.
func report() bottleneck.Live {
	box := func(group string, kind timeline.Kind, share, running time.Duration, waiting map[string]time.Duration) bottle.Box {
		return bottle.Box{Group: group, Kind: kind, Goroutines: 1, Share: share, Running: running, Parallelism: float64(running) / float64(share),
			SelfParallelism: 1, Runnable: time.Second, Waiting: waiting}
	}
	lock := &contention.Lock{ID: 1, Name: "main.cache", Class: "main.cache"}
	stack := &contention.Stack{Frames: []contention.Frame{{Func: "main.(*cache).Get", File: "/home/ann/secret/shop/cache.go", Line: 7}}}
	live := bottleneck.Live{From: start, To: start.Add(10 * time.Second), Covered: 9 * time.Second, Windows: 9}
	live.Bottle = &bottle.Graph{Wall: 9 * time.Second, Idle: time.Second, Throttles: 7, Throttled: 3 * time.Second, Procs: 2, GoVersion: "go1.26", GroupBy: "function", Boxes: []bottle.Box{
		box("main.work", bottle.Application, 4*time.Second, 8*time.Second, map[string]time.Duration{"mutex": 2 * time.Second, "chan-receive": time.Second}),
		box("main.main", bottle.Application, 3*time.Second, 3*time.Second, nil),
		box("runtime.gcBgMarkWorker", bottle.GC, time.Second, time.Second, nil),
	}}
	live.Bottle.SetProcs(2)
	live.Contention = &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred, Start: start, Duration: 9 * time.Second,
		Locks: []*contention.Lock{lock},
		Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.work", Stack: stack}, Contentions: 12,
			Waited: 2 * time.Second, Blamed: time.Second, HandOff: 750 * time.Millisecond, Unattributed: 250 * time.Millisecond}},
		Pairs: []contention.Wait{{Kind: contention.MutexKind, Lock: lock, Waiter: contention.Party{Group: "main.work", Stack: stack},
			Owner: contention.Party{Group: "main.main", Stack: stack}, Contentions: 12, Blamed: time.Second}},
	}
	live.Tasks = &granularity.Profile{Source: granularity.SourceTrace, Wall: 9 * time.Second}
	live.Stream = timeline.StreamStats{Generations: 9, Bytes: 1000, CPU: 90 * time.Millisecond, Elapsed: 10 * time.Second,
		Dropped: timeline.Drop{Generations: 1, Bytes: 500, Duration: time.Second}, Behind: timeline.Drop{Generations: 1, Bytes: 500, Duration: time.Second}}
	return live
}

// newHandler returns a handler with made-up sources, as on a listener of its own. Each source may
// be nil.
func newHandler(opt Options, r recorder, c continuous) *handler {
	if opt.PNG == nil {
		opt.PNG = png.Write
	}
	if opt.Full == nil {
		opt.Full = full.Pages
	}
	h := Handler(opt).(*handler)
	h.guard.own = true
	h.patience = 3 * time.Minute // everything is slow with the race detector on a busy machine
	if r != nil {
		h.recorder = r
	}
	if c != nil {
		h.continuous = c
		h.series = newSeries(h, c)
	}
	return h
}

// serve runs a server on the loopback interface and returns the address of the mount point.
func serve(t testing.TB, h http.Handler, set func(*http.Server)) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/bottleneck/", h)
	s := httptest.NewUnstartedServer(mux)
	if set != nil {
		set(s.Config)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/debug/bottleneck/"
}

// answer is a response.
type answer struct {
	*http.Response
	body string
}

// get sends a request as curl does, or with the given headers, names and values alternating.
func get(t testing.TB, url string, headers ...string) answer {
	t.Helper()
	return do(t, http.MethodGet, url, headers...)
}

func do(t testing.TB, method, url string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "*/*")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return answer{resp, string(body)}
}
