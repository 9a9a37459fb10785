package live

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
)

// holdAndWait makes a goroutine wait for a lock whose owner also had to wait, so that the owner is
// known. release ends it.
func holdAndWait(t *testing.T, lock, unlock func()) (release func()) {
	t.Helper()
	lock()
	held, done := make(chan bool), make(chan bool)
	var both sync.WaitGroup
	both.Go(func() { lock(); close(held); holdTheLock(done); unlock() })
	time.Sleep(20 * time.Millisecond) // it waits
	unlock()
	<-held
	both.Go(func() { waitForTheLock(lock); unlock() })
	time.Sleep(20 * time.Millisecond)
	return func() { close(done); both.Wait() }
}

//go:noinline
func holdTheLock(done chan bool) { <-done }

//go:noinline
func waitForTheLock(lock func()) { lock() }

func TestHoldersOfWrappedLocks(t *testing.T) {
	var locks contention.Collector
	if err := locks.Start(contention.Options{Exact: true}); err != nil {
		t.Fatal(err)
	}
	defer locks.Stop()
	h := Handler(Options{AllowRemote: true, Locks: &locks, Full: full.Pages{}})
	ask := func(target string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	if got := ask("/holders?format=text"); strings.Contains(got, "Still waiting") {
		t.Errorf("nothing waits:\n%s", got)
	}
	mu := contention.NewMutex("cache")
	release := holdAndWait(t, mu.Lock, mu.Unlock)
	got := ""
	for range 1000 { // a wait shows after 10 ms
		if got = ask("/holders?format=text"); strings.Contains(got, "Still waiting") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	release()
	for _, want := range []string{"Still waiting", "1 goroutine in", "waitForTheLock", "cache", "holds it", "holdAndWait"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	p, err := contention.ReadJSON(strings.NewReader(ask("/holders?format=json")))
	if err != nil || len(p.Waits) != 0 {
		t.Errorf("JSON: %v", err)
	}
}

func TestHoldersOfTheTrace(t *testing.T) {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	var mu sync.Mutex
	release := holdAndWait(t, mu.Lock, mu.Unlock)
	defer release()
	w := httptest.NewRecorder()
	Handler(Options{AllowRemote: true, Full: full.Pages{}, Recorder: &rec}).ServeHTTP(w, httptest.NewRequest("GET", "/holders?format=text", nil))
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, "Still waiting") || !strings.Contains(got, "waitForTheLock") {
		t.Errorf("%d\n%s", w.Code, got)
	}
}
