package live

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
)

// underLoad runs some goroutines until the end of the test.
func underLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() { load(ctx) })
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// eventually repeats a request until there is an answer.
func eventually(t *testing.T, url string) answer {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		a := get(t, url)
		if a.StatusCode == http.StatusOK || time.Now().After(end) {
			return a
		}
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Fatalf("%s: %s %s", url, a.Status, a.body)
		}
	}
}

// graphOf returns the graph of a service, whose sums must be right.
func graphOf(t *testing.T, url string) *bottle.Graph {
	t.Helper()
	a := eventually(t, url)
	g, err := bottle.ReadJSON(strings.NewReader(a.body))
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", url, a.Status, err, a.body)
	}
	sum := g.Idle
	for _, b := range g.Boxes {
		sum += b.Share
	}
	if sum != g.Wall {
		t.Errorf("%s: shares and idle time sum to %v, the wall time is %v", url, sum, g.Wall)
	}
	return g
}

// A service with a recorder reports exactly the last seconds, by all endpoints.
func TestRecorder(t *testing.T) {
	underLoad(t)
	rec := &bottle.Recorder{Last: 2 * time.Second}
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	base := serve(t, newHandler(Options{Recorder: rec}, nil, nil), nil)
	for graphOf(t, base+"graph?format=json").Wall < 1500*time.Millisecond {
		time.Sleep(100 * time.Millisecond)
	}
	g := graphOf(t, base+"graph?format=json&seconds=1")
	if g.Wall <= 0 || g.Wall > time.Second {
		t.Errorf("the last second is %v long", g.Wall)
	}
	found := false
	for _, b := range g.Boxes {
		found = found || strings.Contains(b.Group, "underLoad") && b.Share > 0
	}
	if !found {
		t.Errorf("no box of the load in %+v", g.Boxes)
	}
	for _, e := range endpoints {
		for _, f := range e.forms {
			if e == &metricsEndpoint || e == &wallEndpoint || f == formPNG || f == formSVG || f == formJSON {
				continue // TestForms has the forms that have no time and no words to check here
			}
			url := base + e.name + "?seconds=1&format=" + string(f)
			a := get(t, url)
			if e == &leaksEndpoint && a.StatusCode == http.StatusNotImplemented {
				continue // Go 1.26
			}
			if a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %s", url, a.Status, a.body)
				continue
			}
			checkForm(t, url, f, a)
			if f == formPprof {
				p := checkProfile(t, url, a)
				if ago := time.Since(time.Unix(0, p.TimeNanos+p.DurationNanos)); ago < -time.Second || ago > time.Minute {
					t.Errorf("%s: it is of %v ago", url, ago)
				}
			}
			if e == &speedupEndpoint && f == formText && (!strings.Contains(a.body, "stimate") || !strings.Contains(a.body, "upper bound")) {
				t.Errorf("the estimate is not called one, or not an upper bound:\n%s", a.body)
			}
		}
	}
}

// A service with a continuous analysis and a recorder: both answer, and each mentions the other.
func TestContinuous(t *testing.T) {
	underLoad(t)
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{Budget: 1})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	base := serve(t, newHandler(Options{Recorder: &rec, Continuous: c}, nil, nil), nil)
	g := graphOf(t, base+"graph?format=json&seconds=2")
	if g.Wall <= 0 || g.Wall > 20*time.Second {
		t.Errorf("two seconds are %v long", g.Wall)
	}
	for _, path := range []string{"contention", "tasks", "trace", "speedup", "graph?format=svg"} {
		if a := eventually(t, base+path); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
	}
	if v := metric(t, get(t, base+"metrics").body, "bottleneck_wall_seconds_total"); v <= 0 {
		t.Errorf("%g s were seen", v)
	}
	index := get(t, base).body
	for _, want := range []string{"<b>running</b>", "<b>recording</b>", "keeps the last 5 s", "of one processor"} {
		if !strings.Contains(index, want) {
			t.Errorf("index: want %q", want)
		}
	}
	c.Stop()
	if a := get(t, base+"metrics"); metric(t, a.body, "bottleneck_recording") != 0 || metric(t, a.body, "bottleneck_wall_seconds_total") <= 0 {
		t.Errorf("stopped: %s", a.body)
	}
	if g := graphOf(t, base+"graph?format=json&seconds=1"); g.Wall <= 0 || g.Wall > time.Second {
		t.Errorf("with the analysis stopped, the recorder gives %v", g.Wall)
	}
}

// While the recorder is started and stopped, concurrent requests all get an answer: a result, or
// that there is none now.
func TestStopDuringRequests(t *testing.T) {
	underLoad(t)
	rec := &bottle.Recorder{Last: time.Second}
	base := serve(t, newHandler(Options{Recorder: rec}, nil, nil), nil)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for _, path := range []string{"graph?seconds=0.5", "contention?format=pprof", "trace", "trace"} {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				a := get(t, base+path)
				switch a.StatusCode {
				case http.StatusOK:
				case http.StatusServiceUnavailable:
					if a.Header.Get("Retry-After") == "" {
						t.Errorf("%s: no Retry-After: %s", path, a.body)
					}
				default:
					t.Errorf("%s: %s %s", path, a.Status, a.body)
				}
			}
		})
	}
	for i := range 8 {
		if err := rec.Start(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Duration(i%4) * 60 * time.Millisecond)
		rec.Stop()
		time.Sleep(10 * time.Millisecond)
	}
	close(done)
	wg.Wait()
}

// A trace or flight recorder that other code started is left running, and the answer says so.
func TestForeignTracesAreLeftAlone(t *testing.T) {
	if err := trace.Start(io.Discard); err != nil {
		t.Skip("another recording is running: ", err)
	}
	defer trace.Stop()
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := flight.Start(); err != nil {
		t.Fatal(err)
	}
	defer flight.Stop()
	var rec bottle.Recorder
	if err := rec.Start(); err == nil {
		t.Error("a second flight recorder starts")
	}
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	if err := c.Start(); err == nil {
		t.Error("a second trace starts")
	}
	base := serve(t, newHandler(Options{Recorder: &rec, Continuous: c}, nil, nil), nil)
	if a := get(t, base+"graph"); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "not running") {
		t.Errorf("%s %s", a.Status, a.body)
	}
	index := get(t, base).body
	if strings.Count(index, "<b>stopped</b>") != 2 {
		t.Error("the index does not show that both are stopped")
	}
	// The running one can be the source.
	base = serve(t, newHandler(Options{Recorder: &bottle.Recorder{Source: flight}}, nil, nil), nil)
	if g := graphOf(t, base+"graph?format=json"); g.Wall <= 0 {
		t.Errorf("from the flight recorder that runs: %v", g.Wall)
	}
}

// panicking is a source of traces that panics.
type panicking struct{}

func (panicking) WriteTo(io.Writer) (int64, error) { panic("a fault of the source") }

// A real recorder whose source panics: the client gets an error, and the service continues.
func TestPanickingSource(t *testing.T) {
	base := serve(t, newHandler(Options{Recorder: &bottle.Recorder{Source: panicking{}}}, nil, nil), nil)
	for range 2 {
		if a := get(t, base+"graph"); a.StatusCode != http.StatusInternalServerError || !strings.Contains(a.body, "a fault of the source") {
			t.Errorf("%s %s", a.Status, a.body)
		}
	}
}
