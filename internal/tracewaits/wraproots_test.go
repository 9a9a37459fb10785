package tracewaits

import (
	"bytes"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// TestRootsOfTraceAndWrappers: in a program in which every owner of one lock waits for a second
// one, the wrappers find the roots that the trace finds, and the trace has all waits. The wrappers
// find more, because the trace has to infer some owners.
func TestRootsOfTraceAndWrappers(t *testing.T) {
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err)
	}
	collecting(t, contention.Options{Exact: true})
	a, b := contention.NewMutex("a"), contention.NewMutex("b")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for range 15 {
				if i < 3 {
					nestedOwner(a, b)
				} else {
					ownerOne(b, time.Millisecond)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	live := contention.Snapshot()
	rtrace.Stop()
	p, err := readTrace(&buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, live)
	checkConservation(t, p)
	if callstack.Goid() == 0 {
		t.Skip("no goroutine ids")
	}
	share := func(p *contention.Profile) float64 {
		var root, all time.Duration
		for _, q := range p.Pairs {
			if q.Lock.Name == "a" {
				all += q.Blamed
				for _, r := range q.Roots {
					if r.Kind == contention.MutexKind && r.Owner.Stack != nil && strings.HasSuffix(r.Owner.Stack.Frames[0].Func, ".ownerOne") {
						root += r.Blamed
					}
				}
			}
		}
		return float64(root) / float64(all)
	}
	if live, trace := share(live), share(p); live < trace-0.2 || live < 0.1 || live > 1 {
		t.Errorf("the wrappers find the root for %.2f of the time, the trace for %.2f", live, trace)
	} else {
		t.Logf("the wrappers find the root for %.2f of the time, the trace for %.2f", live, trace)
	}
}

//go:noinline
func nestedOwner(a, b *contention.Mutex) {
	a.Lock()
	defer a.Unlock()
	ownerTwo(b, 200*time.Microsecond)
}
