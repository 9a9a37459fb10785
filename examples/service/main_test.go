package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// The service blames the cache, then the log, then nothing, and gets faster.
func TestEachRepairMovesTheBlame(t *testing.T) {
	o := defaults
	o.time, o.dir = 400*time.Millisecond, t.TempDir()
	var out bytes.Buffer
	chapters, err := o.chapters(t.Context(), &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var waiting [3]float64
	for i, c := range chapters {
		mean, worst, part := c.waiting()
		waiting[i] = mean
		// On a slow machine, no wait has begun and ended, so none was logged and the
		// name is unknown.
		want := [][]string{{"cache", "service.lockedCache"}, {"log", "service.lockedLog"}, nil}[i]
		if want != nil && (!slices.Contains(want, worst) || part < 0.5 || mean < 1) {
			t.Errorf("%s: %.2f waited at a time, %.0f %% of it for %q; want most of it for one of %q", c.name, mean, 100*part, worst, want)
		}
		if i == 0 && (c.tasks == nil || !blocked(c.tasks) || c.tasks.Merge != 0) {
			t.Errorf("%s: the tasks wait for a lock nearly all of their time, but the verdict is %+v", c.name, c.tasks)
		}
		if c.rate <= 0 || c.graph.Wall <= 0 || len(c.graph.Boxes) == 0 {
			t.Errorf("%s: %v requests/s, a graph of %v", c.name, c.rate, c.graph.Wall)
		}
		for _, ext := range []string{".svg", "-contention.svg"} {
			if st, err := os.Stat(filepath.Join(o.dir, c.name+ext)); err != nil || st.Size() < 100 {
				t.Errorf("%s%s: %v", c.name, ext, err)
			}
		}
	}
	if waiting[2] > waiting[0]/4 {
		t.Errorf("%.2f goroutines wait for locks before, %.2f after", waiting[0], waiting[2])
	}
	if !strings.Contains(out.String(), "\nafter    ") {
		t.Errorf("no table in\n%s", out.String())
	}
}

// blocked reports whether the verdict is that tasks are blocked, or that they were off the
// processor for as long for an unknown reason, because the process had to wait for processors, or
// had all that other processes left.
func blocked(c *granularity.Class) bool {
	text := strings.Join(c.Reasons, "\n")
	switch c.Diagnosis {
	case granularity.Blocked:
		return true
	case granularity.OK:
		return strings.Contains(text, "of their time that other threads left") && strings.Contains(text, "off the processor for 9")
	case granularity.Unknown:
		return strings.Contains(text, "cannot tell whether they were blocked") && strings.Contains(text, "waited for processors")
	}
	return false
}

// Both caches return the same pages and respect their limit.
func TestCaches(t *testing.T) {
	locked, sharded := newLockedCache(), newShardedCache()
	var ids sync.WaitGroup
	for id := range 40 {
		ids.Go(func() {
			want := makePage(id)
			for range 2 {
				if a, b := locked.get(id), sharded.get(id); a != want || b != want {
					t.Errorf("item %d: %q and %q, want %q", id, a, b, want)
				}
			}
		})
	}
	ids.Wait()
	pages := map[int]string{}
	for id := range 100 {
		keep(pages, id, "page", 10)
		if _, ok := pages[id]; !ok || len(pages) > 10 {
			t.Fatalf("%d pages after %d", len(pages), id)
		}
	}
}

// slowly collects its input slowly, so that lines queue.
type slowly struct {
	text   strings.Builder
	writes int
}

func (s *slowly) Write(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	s.writes++
	return s.text.Write(p)
}

// Both logs write every line once, and those of a goroutine in order. The queue needs fewer
// writes.
func TestLogs(t *testing.T) {
	const goroutines, lines = 8, 50
	var locked, queued slowly
	for w, l := range map[*slowly]logger{&locked: newLockedLog(&locked), &queued: newQueuedLog(&queued)} {
		var printing sync.WaitGroup
		for g := range goroutines {
			printing.Go(func() {
				for i := range lines {
					l.print(fmt.Sprintf("%d %d\n", g, i))
				}
			})
		}
		printing.Wait()
		l.close()
		var next [goroutines]int
		for line := range strings.Lines(w.text.String()) {
			var g, i int
			if _, err := fmt.Sscanf(line, "%d %d\n", &g, &i); err != nil || next[g] != i {
				t.Fatalf("%T: the line %q, but goroutine %d was at %d (%v)", l, line, g, next[g], err)
			}
			next[g]++
		}
		for g, n := range next {
			if n != lines {
				t.Errorf("%T: %d lines of goroutine %d", l, n, g)
			}
		}
	}
	if locked.writes != goroutines*lines || queued.writes >= locked.writes {
		t.Errorf("%d writes with a lock, %d with a queue", locked.writes, queued.writes)
	}
}

// The service and its load generator run as separate processes would.
func TestServeAndLoad(t *testing.T) {
	s, err := start("localhost:0", "localhost:0", repairs{cache: true, log: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options{load: s.url, clients: 4, time: 1200 * time.Millisecond}
	if err := o.run(t.Context(), &out); err != nil || !strings.Contains(out.String(), " requests/s\n") {
		t.Errorf("%v: %s", err, out.String())
	}
	for url, want := range map[string]int{
		s.url + "item/1": 200, s.url + "item/-1": 404, s.url + "item/x": 404,
		s.debug: 200, s.debug + "tasks?debug=1": 200, s.debug + "debug/bottleneck/metrics": 200,
		s.url + "debug/bottleneck/": 404, s.url + "metrics": 404, // reachable by a proxy in front of the service
	} {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s: %.200s", url, resp.Status, body)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := o.run(t.Context(), &out); err == nil {
		t.Error("no error for a stopped service")
	}
}

// A service that is stopped, as by SIGTERM, exits while a client takes a profile of one minute.
func TestStopWhileProfiled(t *testing.T) {
	s, err := start("localhost:0", "localhost:0", repairs{}, false)
	if err != nil {
		t.Fatal(err)
	}
	profile := func(seconds string) int {
		resp, err := http.Get(s.debug + "tasks?format=pprof&seconds=" + seconds)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	status := make(chan int, 1)
	begin := func() { go func() { status <- profile("60") }() }
	begin()
	for profile("0.1") != http.StatusServiceUnavailable { // until the long one has begun
		select {
		case <-status: // refused, because the short one came first
			begin()
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("the profile: %d", got)
	}
}

// The service stops when asked to, and serves only this machine.
func TestListensOnThisMachineOnly(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	if err := (&options{serve: "127.0.0.1:0", debug: "localhost:0"}).run(ctx, &out); err != nil || !strings.Contains(out.String(), "Serving http://127.0.0.1:") {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, address := range []string{":8080", "0.0.0.0:8080", "example.com:80", "192.0.2.1:80", "nonsense"} {
		if err := (&options{serve: address, debug: "localhost:0"}).run(t.Context(), &out); err == nil {
			t.Errorf("serves on %s", address)
		}
	}
}
