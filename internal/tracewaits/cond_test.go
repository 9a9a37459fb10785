package tracewaits

import (
	"bytes"
	"math/rand/v2"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// condQueue is a queue with a Cond. It logs, under its lock, the waiters with their start times and
// the signalers. A Cond wakes its waiters in order.
type condQueue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	items   int
	closed  bool
	waiting []condLog
	truth   map[[2]string]time.Duration // by names of waiter and signaler
	count   map[string]int64
}

type condLog struct {
	name  string
	since int64
}

func (q *condQueue) take(name string, wait func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.items == 0 && !q.closed {
		q.waiting = append(q.waiting, condLog{name, now()})
		wait()
	}
	q.items--
	return !q.closed
}

func (q *condQueue) put(name string, signal func()) {
	q.mu.Lock()
	q.items++
	if len(q.waiting) > 0 {
		w := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.truth[[2]string{w.name, name}] += time.Duration(now() - w.since)
		q.count[w.name]++
		signal()
	}
	q.mu.Unlock()
}

//go:noinline
func takeA(q *condQueue) bool { return q.take("takeA", q.cond.Wait) }

//go:noinline
func takeB(q *condQueue) bool { return q.take("takeB", q.cond.Wait) }

//go:noinline
func putC(q *condQueue) { q.put("putC", q.cond.Signal) }

//go:noinline
func putD(q *condQueue) { q.put("putD", q.cond.Signal) }

// run has three consumers and two producers of different speed.
func (q *condQueue) run(d time.Duration) {
	var consumers, producers sync.WaitGroup
	for _, take := range []func(*condQueue) bool{takeA, takeB, takeB} {
		consumers.Go(func() {
			for take(q) {
			}
		})
	}
	end := time.Now().Add(d)
	for i, put := range []func(*condQueue){putC, putD} {
		producers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for time.Now().Before(end) {
				time.Sleep(time.Duration(rng.IntN(4*(i+1))) * time.Millisecond / 2)
				put(q)
			}
		})
	}
	producers.Wait()
	q.mu.Lock()
	q.closed = true
	q.waiting = nil // the log has no waker
	q.cond.Broadcast()
	q.mu.Unlock()
	consumers.Wait()
}

func nameIn(s *contention.Stack) string {
	for _, f := range s.Frames {
		for _, name := range []string{"takeA", "takeB", "putC", "putD"} {
			if strings.HasSuffix(f.Func, "."+name) {
				return name
			}
		}
	}
	return "?"
}

// TestTraceCondQueue: which goroutine signaled which one, and how long the wait was.
func TestTraceCondQueue(t *testing.T) {
	q := &condQueue{truth: map[[2]string]time.Duration{}, count: map[string]int64{}}
	q.cond = sync.NewCond(&q.mu)
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err)
	}
	q.run(100 * time.Millisecond)
	rtrace.Stop()
	p, err := readTrace(&buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	got, n := map[[2]string]time.Duration{}, map[string]int64{}
	for _, c := range p.Pairs {
		if owner := nameIn(c.Owner.Stack); c.Kind == contention.CondKind && owner != "?" { // the final Broadcast is not logged
			if c.Flags != contention.Signaler {
				t.Errorf("flags %v", c.Flags)
			}
			got[[2]string{nameIn(c.Waiter.Stack), owner}] += c.Blamed
			n[nameIn(c.Waiter.Stack)] += c.Contentions
		}
	}
	if len(q.truth) < 2 || len(got) != len(q.truth) {
		t.Fatalf("got %v, want %v", got, q.truth)
	}
	for k, want := range q.truth {
		// The log entry comes before the goroutine is parked, and a busy machine may take
		// the processor away in between.
		if d := (got[k] - want).Abs(); d > want/5+5*time.Millisecond {
			t.Errorf("%v: %v, want %v", k, got[k], want)
		}
	}
	for name, want := range q.count {
		// A goroutine that is signaled before it is parked has no wait in the trace.
		if n[name] > want || n[name] < want-want/10-2 {
			t.Errorf("%s waited %d times, want %d", name, n[name], want)
		}
	}
}
