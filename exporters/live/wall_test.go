package live

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
)

func parked(c chan struct{}) { <-c }

// spun is not inlined, because a part of its loop may then count as its caller's.
//
//go:noinline
func spun(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// calls returns the functions of a sample, leaf first, each with a space behind it.
func calls(s *profile.Sample) (names string) {
	for _, l := range s.Location {
		names += l.Line[0].Function.Name + " "
	}
	return names
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
	h := Handler(Options{AllowRemote: true, Recorder: &rec, Full: full.Pages})
	ask := func(form string) *bytes.Buffer {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/wall?format="+form, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body
	}
	var p *profile.Profile
	var nanos map[string]int64
	var waiting, spinner int64
	// On a busy machine it takes a while until the spinning goroutine was stopped.
	for range 50 {
		var err error
		p, err = profile.Parse(ask("pprof"))
		if err != nil || p.CheckValid() != nil || p.DurationNanos < int64(100*time.Millisecond) {
			t.Fatalf("%v: %v", err, p)
		}
		nanos, waiting, spinner = map[string]int64{}, 0, 0
		for _, s := range p.Sample {
			group := s.Label["group"][0]
			nanos[group] += s.Value[1]
			if s.Label["state"][0] == "waiting" && strings.Contains(calls(s), "live.parked ") {
				waiting += s.Value[1]
			}
			if strings.Contains(calls(s), "live.spun ") {
				spinner += s.Value[1]
			}
		}
		if spinner >= p.DurationNanos/4 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	const pkg = "github.com/bottleneck-go/bottleneck/exporters/live."
	if got := nanos[pkg+"TestWallOfTheTrace.func1"]; got != 3*p.DurationNanos || waiting < got/2 {
		t.Errorf("%d ns, want 3 times %d, most of it waiting in parked; %d in parked; groups %v", got, p.DurationNanos, waiting, nanos)
	}
	if spinner > p.DurationNanos || spinner < p.DurationNanos/4 {
		t.Errorf("%d ns in spun of %d; groups %v", spinner, p.DurationNanos, nanos)
	}
	for group := range nanos {
		if strings.HasPrefix(group, "runtime/trace.") {
			t.Errorf("the tracer is not of the program: %v", nanos)
		}
	}
	if text := ask("text").String(); !strings.Contains(text, "from the execution trace") || !strings.Contains(text, "3.00  live.TestWallOfTheTrace.func1") {
		t.Error(text)
	}
}

// Where the runtime has no profile of leaked goroutines, the page and the index say why.
func TestLeaksOrWhyNot(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, nil, nil), nil)
	a, index := get(t, base+"leaks"), get(t, base).body
	if profile, why := pprof.Lookup("goroutineleak"), "GOEXPERIMENT=goroutineleakprofile"; profile != nil {
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.body, "Goroutines that wait for ") || !strings.Contains(index, `href="leaks?format=pprof"`) {
			t.Errorf("%s %s", a.Status, a.body)
		}
	} else if a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, why) || !strings.Contains(index, why) || strings.Contains(index, `href="leaks`) {
		t.Errorf("%s %s", a.Status, a.body)
	}
}
