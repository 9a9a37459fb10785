package quanta

import (
	"bytes"
	"context"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// record records a trace of f.
func record(t testing.TB, opt Options, f func()) *Recording {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip("another trace is under way:", err)
	}
	f()
	trace.Stop()
	r, err := Read(t.Context(), &buf, opt)
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, r)
	return r
}

//go:noinline
func receives(c chan int) int { return <-c }

//go:noinline
func yields() { runtime.Gosched() }

// endings lists how the quanta of a group ended, and where.
func endings(r *Recording, group string) (out []string) {
	names := []string{"other", "blocked", "syscall", "yielded", "preempted", "exited", "cut"}
	for i := range r.Len() {
		if strings.HasSuffix(r.Groups[r.Group[i]].Name, group) {
			s := names[r.Ending[i]]
			if r.Wait[i] != timeline.WaitNone {
				s += " " + r.Wait[i].String()
			}
			short := func(fn string) string { return fn[strings.LastIndexByte(fn, '.')+1:] }
			s += " in " + short(r.Funcs[r.Func[i]])
			if r.Caller[i] > 0 {
				s += " of " + short(r.Funcs[r.Caller[i]])
			}
			out = append(out, s)
		}
	}
	return out
}

func endsThrice(c chan int, done *sync.WaitGroup) {
	receives(c)
	yields()
	done.Done()
}

// TestQuantumEndings: how quanta end and which function was on top agree with what the program
// did.
func TestQuantumEndings(t *testing.T) {
	r := record(t, Options{}, func() {
		c := make(chan int)
		var done sync.WaitGroup
		for range 20 {
			done.Add(1)
			go endsThrice(c, &done)
			time.Sleep(100 * time.Microsecond)
			c <- 1
		}
		done.Wait()
	})
	got := endings(r, ".endsThrice")
	// A busy machine may preempt anywhere, so the majority of the goroutines counts.
	for _, want := range []string{"blocked chan-receive in receives of endsThrice", "yielded in yields of endsThrice", "exited in endsThrice"} {
		n := 0
		for _, g := range got {
			if g == want {
				n++
			}
		}
		if n < 15 {
			t.Errorf("%d of 20 goroutines %s; all quanta: %q", n, want, got)
		}
	}
	if d := time.Since(r.Start); d < r.Wall || d > time.Minute {
		t.Errorf("the recording of %v began %v ago", r.Wall, d)
	}
}

// TestMarkers: the markers of Mark, in order, and no other messages.
func TestMarkers(t *testing.T) {
	ctx := context.Background()
	counters.Mark(ctx, "no listener") // no trace: nothing happens
	run := func() {
		counters.Mark(ctx, "one")
		trace.Log(ctx, "other", "two")
		counters.Mark(ctx, "<script>")
	}
	r := record(t, Options{}, run)
	var got []string
	for i, m := range r.Markers {
		got = append(got, m.Text)
		if m.Goroutine == 0 || i > 0 && m.Time <= r.Markers[i-1].Time || m.Time > int64(r.Wall) {
			t.Errorf("marker %+v", m)
		}
	}
	if want := []string{"one", "<script>"}; !slices.Equal(got, want) {
		t.Errorf("markers %q, want %q", got, want)
	}
}

// TestSpans: collections are spans, one per cycle.
func TestSpans(t *testing.T) {
	const cycles = 5
	r := record(t, Options{}, func() {
		for range cycles {
			runtime.GC()
		}
	})
	marks, worlds := 0, 0
	for _, s := range r.Spans {
		if s.Name == "GC concurrent mark phase" {
			marks++
		}
		if strings.HasPrefix(s.Name, "stop-the-world (GC") {
			worlds++
		}
	}
	if marks < cycles || worlds < 2*cycles {
		t.Errorf("%d mark phases and %d stops of the world in at least %d cycles: %+v", marks, worlds, cycles, r.Spans)
	}
	if heap := r.Counter("heap-goal"); slices.Max(heap.Values) < 1<<20 {
		t.Errorf("the heap's goal never exceeds %d bytes", slices.Max(heap.Values))
	}
}
