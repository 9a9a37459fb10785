package contention

import (
	"bytes"
	"io"
	"runtime"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
)

// The parts of every logged wait sum to it, also if goroutines are preempted between their steps:
// more of them than processors do not yield.
func TestLoggedPartsSumToTheWait(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * runtime.NumCPU()))
	collecting(t, Options{Exact: true})
	var recorded bytes.Buffer
	if err := rtrace.Start(&recorded); err != nil {
		t.Fatal(err)
	}
	spin := func() {
		for begin := time.Now(); time.Since(begin) < 3*time.Microsecond; {
		}
	}
	var mu Mutex
	var rw RWMutex
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range testenv.Rounds(4000) {
				mu.Lock()
				spin()
				mu.Unlock()
				if i%4 == 0 {
					rw.Lock()
					spin()
					rw.Unlock()
				} else {
					rw.RLock()
					spin()
					rw.RUnlock()
				}
			}
		})
	}
	wg.Wait()
	rtrace.Stop()
	checkConservation(t, Snapshot())
	r, err := trace.NewReader(&recorded)
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	open := map[trace.GoID]*waitlog.Wait{}
	for {
		ev, err := r.ReadEvent()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if ev.Kind() != trace.EventLog || ev.Log().Category != waitlog.Category {
			continue
		}
		g, message := ev.Goroutine(), ev.Log().Message
		if text, ok := strings.CutPrefix(message, "1 w "); ok {
			open[g], err = waitlog.ParseWait(text)
		} else if text, ok := strings.CutPrefix(message, "1 p "); ok && open[g] != nil {
			err = open[g].AddParts(text)
		} else {
			continue
		}
		if err == nil && open[g].Complete() {
			waits++
			err = open[g].Check()
		}
		if err != nil {
			t.Fatalf("%v: %s", err, message)
		}
	}
	if waits < 10 {
		t.Errorf("%d waits were logged", waits)
	}
	t.Logf("%d waits", waits)
}
