package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
)

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

// The commands for running services, with the handlers of exporters/live.
func TestLive(t *testing.T) {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	waitsForEachOther(t)
	s := httptest.NewServer(live.Handler(live.Options{Recorder: &rec, AllowRemote: true}))
	defer s.Close()
	time.Sleep(100 * time.Millisecond) // some of it in the recording; it does not matter how much

	r := bottleneck("top", "-n", "2", "-top", "0", "-interval", "100ms", s.URL)
	r.want(t, exitOK, "waiting for locks: ", "")
	if strings.Count(r.out, "Other.func1") < 2 || strings.Contains(r.out, "waiting for locks: 0 ") {
		t.Errorf("two frames with waiting goroutines are not in\n%s", r.out)
	}
	dir := t.TempDir()
	trace, graph := filepath.Join(dir, "service.trace"), filepath.Join(dir, "service.json")
	bottleneck("record", "-seconds", "1", "-o", trace, "-o", graph, s.URL).want(t, exitOK, "", "")
	parseGraph(t, string(read(t, graph)))
	bottleneck("contention", trace).want(t, exitOK, "waitsForEachOther", "")
	bottleneck("merge", s.URL+"/", graph).want(t, exitOK, "Merged: 2 instances", "")
	bottleneck("merge", "-kind", "contention", s.URL+"/").want(t, exitOK, "waitsForEachOther", "")
}
