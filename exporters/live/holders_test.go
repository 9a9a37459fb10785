package live

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
)

// heldLock is a lock that a goroutine of takeAndHold holds, while another one waits for it.
type heldLock struct {
	after, before time.Time // when it got the lock
	release       func()
}

// holdAndWait makes a goroutine wait for a lock whose owner also had to wait, behind the owner, so
// that the owner is known.
func holdAndWait(t *testing.T, l sync.Locker) (h heldLock) {
	t.Helper()
	l.Lock()
	locked, done := make(chan bool, 2), make(chan bool)
	var both sync.WaitGroup
	for n := range 2 {
		both.Go(func() { takeAndHold(l, locked, done) })
		waitingFor(t, n+1)
	}
	h.after = time.Now()
	l.Unlock()
	<-locked
	h.before = time.Now()
	h.release = func() { close(done); both.Wait() }
	time.Sleep(20 * time.Millisecond)
	return h
}

// waitingFor returns when n goroutines wait for the lock.
func waitingFor(t *testing.T, n int) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		waiting := 0
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if head, calls, _ := strings.Cut(g, "\n"); strings.Contains(calls, "live.takeAndHold(") && (strings.Contains(head, "[sync.") || strings.Contains(head, "[sema")) {
				waiting++
			}
		}
		if waiting == n {
			return
		}
	}
	t.Fatalf("%d goroutines do not wait for the lock", n)
}

//go:noinline
func takeAndHold(l sync.Locker, locked, done chan bool) {
	l.Lock()
	locked <- true
	<-done
	l.Unlock()
}

// holders asks for the holders while the lock is held, checks the time for which it has been, and
// returns the text in one line.
func (h *heldLock) holders(t *testing.T, handler http.Handler) (text string) {
	t.Helper()
	ask := func(target string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for range 1000 { // a wait shows after 10 ms
		if text = ask("/holders?format=text"); strings.Contains(text, "Still waiting") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	least := time.Since(h.before)
	p, err := contention.ReadJSON(strings.NewReader(ask("/holders?format=json")))
	most := time.Since(h.after)
	if err != nil || len(p.Waits) != 0 || len(p.Unfinished) == 0 {
		t.Fatalf("JSON: %v, %d rows", err, len(p.Unfinished))
	}
	for i := range p.Unfinished {
		u := &p.Unfinished[i]
		if u.Owner.Group == "" {
			continue
		}
		const slack = time.Millisecond // clocks of traces
		if u.Held < least-slack || u.Held > most+slack {
			t.Errorf("%s is held for %v, want %v to %v", u.Lock, u.Held, least, most)
		}
		return strings.Join(strings.Fields(text), " ")
	}
	t.Errorf("no holder is known:\n%s", text)
	return text
}

func TestHoldersOfWrappedLocks(t *testing.T) {
	var locks contention.Collector
	if err := locks.Start(contention.Options{Exact: true}); err != nil {
		t.Fatal(err)
	}
	defer locks.Stop()
	h := Handler(Options{AllowRemote: true, Locks: &locks, Full: full.Pages})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/holders?format=text", nil))
	if got := w.Body.String(); w.Code != http.StatusOK || strings.Contains(got, "Still waiting") {
		t.Errorf("nothing waits: %d\n%s", w.Code, got)
	}
	lock := holdAndWait(t, contention.NewMutex("cache"))
	got := lock.holders(t, h)
	lock.release()
	for _, want := range []string{"Still waiting", "1 goroutine in", "cache", " has held it for ", "takeAndHold"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "at least") {
		t.Errorf("the time of a wrapped lock is exact:\n%s", got)
	}
}

func TestHoldersOfTheTrace(t *testing.T) {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	lock := holdAndWait(t, new(sync.Mutex))
	defer lock.release()
	got := lock.holders(t, Handler(Options{AllowRemote: true, Full: full.Pages, Recorder: &rec}))
	for _, want := range []string{"Still waiting", " has held it for at least ", "takeAndHold"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}
