package live

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Waiting goroutines are in the wall-clock profile under the names of their boxes.
func TestWallGroups(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(release)
	for range 3 {
		wg.Go(func() { parked(release) })
	}
	wg.Add(1)
	go func() { defer wg.Done(); <-release }()
	base := serve(t, newHandler(Options{}, nil, nil), nil)
	p := checkProfile(t, "wall", get(t, base+"wall?format=pprof&seconds=0.5"))
	nanos, parkedNanos, total := map[string]int64{}, int64(0), p.DurationNanos
	for _, s := range p.Sample {
		if len(s.Label["group"]) != 1 {
			t.Fatalf("labels %v", s.Label)
		}
		nanos[s.Label["group"][0]] += s.Value[1]
		if strings.HasSuffix(callsOf(s)[len(callsOf(s))-1], "gopark") && strings.Contains(strings.Join(callsOf(s), " "), "live.parked") {
			parkedNanos += s.Value[1]
		}
	}
	const pkg = "github.com/bottleneck-go/bottleneck/exporters/live."
	for group, goroutines := range map[string]float64{pkg + "TestWallGroups.func1": 3, pkg + "TestWallGroups.func2": 1} {
		if got := float64(nanos[group]) / float64(total); got < 0.9*goroutines || got > 1.1*goroutines {
			t.Errorf("%s: %.2f goroutines, want %g; all: %v", group, got, goroutines, nanos)
		}
	}
	if nanos[pkg+"TestWallGroups"] == 0 {
		t.Errorf("no goroutine of the test: %v", nanos)
	}
	text := get(t, base+"wall?seconds=0.2").body
	if !strings.Contains(text, "TestWallGroups.func1") || !strings.Contains(text, "live.parked") {
		t.Error(text)
	}
}

func parked(c chan struct{}) { <-c }

func spun(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// With a recorder, the profile is exact: goroutines that are older than the recording are there for
// all of its time, where they wait, and one that runs is where it was stopped.
func TestWallOfTheTrace(t *testing.T) {
	release := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(release)
	for range 3 {
		wg.Go(func() { parked(release) })
	}
	time.Sleep(20 * time.Millisecond)
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	var stop atomic.Bool
	defer stop.Store(true)
	wg.Go(func() { spun(&stop) })
	time.Sleep(200 * time.Millisecond)
	h := Handler(Options{AllowRemote: true, Recorder: &rec})
	ask := func(form string) *bytes.Buffer {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/wall?format="+form, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body
	}
	p, err := profile.Parse(ask("pprof"))
	if err != nil || p.CheckValid() != nil || p.DurationNanos < int64(100*time.Millisecond) {
		t.Fatalf("%v: %v", err, p)
	}
	nanos, where, spinner := map[string]int64{}, map[[2]string]int64{}, int64(0)
	for _, s := range p.Sample {
		group := s.Label["group"][0]
		nanos[group] += s.Value[1]
		where[[2]string{s.Label["state"][0], whereabouts(s)}] += s.Value[1]
		if slices.Contains(callsOf(s), "github.com/bottleneck-go/bottleneck/exporters/live.spun") {
			spinner += s.Value[1]
		}
	}
	const pkg = "github.com/bottleneck-go/bottleneck/exporters/live."
	if got := nanos[pkg+"TestWallOfTheTrace.func1"]; got != 3*p.DurationNanos || where[[2]string{"waiting", pkg + "parked"}] < got/2 {
		t.Errorf("%d ns, want 3 times %d, most of it waiting in parked; groups %v, places %v", got, p.DurationNanos, nanos, where)
	}
	if spinner > p.DurationNanos || spinner < p.DurationNanos/4 {
		t.Errorf("%d ns in spun of %d; groups %v, places %v", spinner, p.DurationNanos, nanos, where)
	}
	for group := range nanos {
		if strings.HasPrefix(group, "runtime/trace.") {
			t.Errorf("the tracer is not of the program: %v", nanos)
		}
	}
	if text := ask("text").String(); !strings.Contains(text, "from the execution trace") || !strings.Contains(text, "3.00  "+pkg+"TestWallOfTheTrace.func1") {
		t.Error(text)
	}
}

// Names are those of package timeline.
func TestGroupOfCalls(t *testing.T) {
	t.Parallel()
	sample := func(calls ...string) *profile.Sample { // leaf first
		s := &profile.Sample{}
		for _, c := range calls {
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: c}}}})
		}
		return s
	}
	for want, s := range map[string]*profile.Sample{
		"main.main":                  sample("runtime.gopark", "main.main", "runtime.main", "runtime.goexit"),
		"runtime.main":               sample("runtime.gopark", "runtime.main"),
		"main.index":                 sample("runtime.gopark", "main.step", "main.index", "sync.(*WaitGroup).Go.func1"),
		"main.handle":                sample("time.Sleep", "main.handle", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve"),
		"main.(*T).Do":               sample("time.Sleep", "main.(*T).Do", "main.run.gowrap1"),
		"sync.(*WaitGroup).Go.func1": sample("sync.(*WaitGroup).Done", "sync.(*WaitGroup).Go.func1"),
		"(unnamed)":                  sample(),
		"(unknown: deep call chain)": sample(strings.Split(strings.Repeat("main.f ", 32), " ")...),
	} {
		if got := groupOf(s); got != want {
			t.Errorf("%v: %s, want %s", callsOf(s), got, want)
		}
	}
}

// A wall-clock profile of zero time, or one that is canceled at once, ends.
func TestWallBounds(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, nil, nil), nil)
	for _, seconds := range []string{"0.01", "301", "3600"} {
		if a := get(t, base+"wall?seconds="+seconds); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "0.1 to 300") {
			t.Errorf("%s: %s %s", seconds, a.Status, a.body)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, err := wallProfile(ctx, minWall); err != context.Canceled || p != nil {
		t.Errorf("cancelled: %v, %v", p, err)
	}
	if p, err := wallProfile(context.Background(), 1); err == nil && len(p.Sample) == 0 {
		t.Error("no samples, and no error")
	}
}
