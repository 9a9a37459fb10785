package timeline

import (
	"bytes"
	"context"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func stackOf(funcs ...string) *Stack {
	s := &Stack{}
	for i, f := range funcs {
		s.Frames = append(s.Frames, &Frame{PC: uint64(i + 1), Func: f, Line: 10 * (i + 1)})
	}
	return s
}

func TestInnerFunc(t *testing.T) {
	for _, tt := range []struct {
		stack *Stack
		want  string
	}{
		{stackOf("sync.(*Mutex).Lock", "main.work", "main.run.func1", "sync.(*WaitGroup).Go.func1"), "main.run.func1"},
		{stackOf("main.work", "golang.org/x/sync/errgroup.(*Group).Go.func1"), "main.work"},
		{stackOf("main.work", "golang.org/x/sync/errgroup.(*Group).Go.func1", "sync.(*WaitGroup).Go.func1"), "main.work"},
		{stackOf("main.work", "main.main"), ""},
		{stackOf("sync.(*WaitGroup).Go.func1"), ""},
		{stackOf("sync.(*Mutex).Lock", "golang.org/x/sync/errgroup.(*Group).done", "golang.org/x/sync/errgroup.(*Group).Go.func1"), ""},
		{&Stack{}, ""},
	} {
		if got := innerFunc(tt.stack); got != tt.want {
			t.Errorf("innerFunc(%v) = %q, want %q", tt.stack, got, tt.want)
		}
	}
}

func TestShortWrapper(t *testing.T) {
	for fn, want := range map[string]string{
		"sync.(*WaitGroup).Go.func1":                          "WaitGroup.Go",
		"golang.org/x/sync/errgroup.(*Group).TryGo.func2":     "Group.TryGo",
		"github.com/sourcegraph/conc.(*WaitGroup).Go.func1.1": "WaitGroup.Go",
	} {
		if got := shortWrapper(fn); got != want {
			t.Errorf("shortWrapper(%q) = %q, want %q", fn, got, want)
		}
	}
}

// names collects the goroutines of a pass by name, and how often each was named late.
type names struct {
	Base
	seen map[string]int
}

func (n *names) Transition(t *Transition) {
	if t.State == NotExist {
		n.seen[t.G.Func]++
	}
}

func blocksOnce() { time.Sleep(time.Millisecond) }

// TestWrappedGoroutines records goroutines that libraries start: they are named
// by what they were started for.
func TestWrappedGoroutines(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip("the tracer is in use:", err)
	}
	var wg sync.WaitGroup
	var eg errgroup.Group
	for range 3 {
		wg.Go(func() { blocksOnce() })
		eg.Go(func() error { blocksOnce(); return nil })
	}
	for range 2 {
		wg.Go(func() {}) // never blocks: only the place is known
	}
	wg.Wait()
	eg.Wait()
	trace.Stop()

	n := &names{seen: map[string]int{}}
	if _, err := Read(context.Background(), &buf, Options{}, n); err != nil {
		t.Fatal(err)
	}
	const pkg = "github.com/bottleneck-go/bottleneck/timeline.TestWrappedGoroutines"
	if got := n.seen[pkg+".func1"]; got != 3 {
		t.Errorf("%d goroutines of WaitGroup.Go are named by their function, want 3: %v", got, n.seen)
	}
	if got := n.seen[pkg+".func2"]; got != 3 {
		t.Errorf("%d goroutines of errgroup are named by their function, want 3: %v", got, n.seen)
	}
	places := 0
	for name, count := range n.seen {
		if strings.HasPrefix(name, pkg+":") && strings.HasSuffix(name, " (WaitGroup.Go)") {
			places += count
		}
	}
	if places != 2 {
		t.Errorf("%d goroutines that never blocked are named by their place, want 2: %v", places, n.seen)
	}
}

// renamed notes every name that a goroutine gets.
type renamed struct {
	Base
	got []string
}

func (r *renamed) Transition(t *Transition) {
	if t.State == NotExist {
		r.got = append(r.got, "born "+t.G.Func)
	}
}

func (r *renamed) Named(g *Goroutine, _ Time) { r.got = append(r.got, "named "+g.Func) }

// TestPlaceUntilKnown replays two generations made by hand: in the first, a
// goroutine of WaitGroup.Go shows no stack; in the second, it blocks.
func TestPlaceUntilKnown(t *testing.T) {
	created := stackOf("sync.(*WaitGroup).Go", "main.run", "main.main")
	const started = "sync.(*WaitGroup).Go.func1"
	born := &decoded{
		hasReal: true, stacks: []*Stack{created}, names: []string{started, "main.main"},
		gs: []localG{
			{id: 1, name: 1, stack: -1, thread: -1, proc: 0, inner: -1, site: -1, status: Running, source: fromStatus},
			{id: 7, name: 0, stack: -1, thread: -1, proc: -1, inner: -1, site: 0, wrapped: true, source: fromCreation},
		},
		chunks:  []*chunk{{{head: 10<<8 | uint32(stepCode(NotExist, Runnable)), g: 1, x: 0, y: 0}}},
		lastLen: 1,
	}
	blocked := &decoded{
		hasReal: true, base: 20, firstReal: 20, names: []string{started, "main.run.func1"},
		gs: []localG{{id: 7, name: 0, stack: -1, thread: -1, proc: -1, inner: 1, site: -1, wrapped: true, status: Runnable, source: fromBlock}},
	}
	o := &renamed{}
	r := newReplay(26, newStackTable(), []Observer{o})
	r.generation(born)
	r.generation(blocked)
	r.end()
	want := []string{"born main.run:20 (WaitGroup.Go)", "named main.run.func1"}
	if !slices.Equal(o.got, want) {
		t.Errorf("got %q, want %q", o.got, want)
	}
}
