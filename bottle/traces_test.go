package bottle

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// traces calls f with every recorded trace.
func traces(t *testing.T, f func(t *testing.T, file string)) {
	var files []string
	for _, pattern := range []string{"small/*.trace*", "real/*.trace.zst"} {
		fs, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || len(fs) < 6 {
			t.Fatalf("%s: %d traces, %v", pattern, len(fs), err)
		}
		files = append(files, fs...)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) { f(t, file) })
	}
}

// pass reads a trace once, for one graph for each of the options.
func pass(t *testing.T, file string, workers int, opts ...Options) []*Observer {
	t.Helper()
	var os []*Observer
	var show []timeline.Observer
	for _, opt := range opts {
		o := NewObserver(opt)
		os, show = append(os, o), append(show, o)
	}
	if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{Workers: workers}, show...); err != nil {
		t.Fatal(err)
	}
	return os
}

// holds checks what is true of every graph.
func holds(t *testing.T, what string, g *Graph) {
	t.Helper()
	sum := g.Idle
	for i := range g.Boxes {
		b := &g.Boxes[i]
		sum += b.Share
		if area := float64(b.Share) * b.Parallelism; b.Share > 0 && math.Abs(area-float64(b.Running)) > 1e-9*float64(b.Running) {
			t.Errorf("%s: %s: share %d × parallelism %v is not running %d", what, b.Group, b.Share, b.Parallelism, b.Running)
		}
		// Nobody is wider than the machine. The share is a rounded number, which makes the
		// width of a box uncertain by one nanosecond of it.
		if !g.Offered && float64(b.Running) > float64(g.Procs)*float64(b.Share+1)*(1+1e-9) {
			t.Errorf("%s: %s: parallelism %v with GOMAXPROCS %d (share %d ns)", what, b.Group, b.Parallelism, g.Procs, b.Share)
		}
		if b.SelfParallelism > b.Parallelism*(1+1e-9)+float64(b.Running)/max(1, float64(b.Share))/max(1, float64(b.Share)) {
			t.Errorf("%s: %s: self-parallelism %v is more than parallelism %v", what, b.Group, b.SelfParallelism, b.Parallelism)
		}
		if b.Goroutines <= 0 || b.Running < 0 || b.Runnable < 0 || b.Share < 0 {
			t.Errorf("%s: %+v", what, *b)
		}
	}
	if sum != g.Wall {
		t.Errorf("%s: shares and idle time sum to %d ns of %d", what, sum, g.Wall)
	}
}

// sums is what adds up over windows, cuts and groupings, of all boxes or by box.
type sums struct {
	running, runnable time.Duration
	waiting           map[string]time.Duration
	share             share
}

func byBox(gs ...*Graph) map[boxKey]sums {
	m := map[boxKey]sums{}
	for _, g := range gs {
		for i := range g.Boxes {
			b := &g.Boxes[i]
			k := boxKey{b.Group, b.Kind}
			s := m[k]
			if s.waiting == nil {
				s.waiting = map[string]time.Duration{}
			}
			s.running += b.Running
			s.runnable += b.Runnable
			s.share += b.exact
			for reason, d := range b.Waiting {
				s.waiting[reason] += d
			}
			m[k] = s
		}
	}
	return m
}

func compare(t *testing.T, what string, got, want map[boxKey]sums, tolerance share) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d boxes, the whole has %d", what, len(got), len(want))
	}
	for k, w := range want {
		g := got[k]
		if d := max(g.share, w.share) - min(g.share, w.share); d > tolerance {
			t.Errorf("%s: %s: shares sum to %d·2^-16 ns, that of the whole is %d", what, k.name, g.share, w.share)
		}
		g.share = w.share
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: %s: sum\n%+v\nthe whole has\n%+v", what, k.name, g, w)
		}
	}
}

func TestSharesSumToTheWallTime(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		for _, o := range pass(t, file, 0, Options{}, Options{Offered: true}, Options{Group: ByGoroutine, MaxSingle: 7}) {
			g := o.Graph()
			holds(t, fmt.Sprintf("by %s, offered %v", g.GroupBy, g.Offered), g)
			if err := identity(o); err != nil {
				t.Error(err)
			}
			if len(g.Boxes) == 0 || g.Wall < 100*time.Millisecond || g.Procs != 2 {
				t.Errorf("%d boxes, wall %v, GOMAXPROCS %d: not the trace that it should be", len(g.Boxes), g.Wall, g.Procs)
			}
		}
	})
}

// Windows of any width sum to the graph of a pass that had none, bit for bit.
func TestWindowsSumToTheWhole(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		widths := []time.Duration{0, 100_003, 10 * time.Millisecond, 333 * time.Millisecond, time.Hour}
		var opts []Options
		for _, w := range widths {
			opts = append(opts, Options{Window: w})
		}
		os := pass(t, file, 0, opts...)
		whole := os[0].Graph()
		for i, o := range os[1:] {
			width := widths[i+1]
			g := o.Graph()
			if want := int((whole.Wall + width - 1) / width); len(g.Windows) != want {
				t.Errorf("%d windows of %v, want %d", len(g.Windows), width, want)
			}
			compare(t, fmt.Sprint("windows of ", width), byBox(g.Windows...), byBox(whole), 0)
			at, idle := time.Duration(0), time.Duration(0)
			for k, w := range g.Windows {
				holds(t, fmt.Sprintf("window %d of %v", k, width), w)
				if w.Start != at || w.Wall > width {
					t.Fatalf("window %d of %v is %v long and begins at %v, want %v", k, width, w.Wall, w.Start, at)
				}
				at += w.Wall
				idle += w.Idle
			}
			if at != whole.Wall || idle != whole.Idle {
				t.Errorf("windows of %v: wall %v, idle %v; the whole has %v, %v", width, at, idle, whole.Wall, whole.Idle)
			}
			g.Windows = nil
			if !reflect.DeepEqual(g, whole) {
				t.Errorf("windows of %v change the whole", width)
			}
		}
	})
}

// Three graphs of parts of a trace sum to that of the whole: running, runnable and waiting time exactly. Each
// part begins without a carry, so the shares may differ by what is
// proven of the clock: less than two units of 2^-16 ns for each transition, in either graph.
func TestCutsSumToTheWhole(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		events := &counter{}
		info, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, events)
		if err != nil {
			t.Fatal(err)
		}
		a, b := info.Duration()*3/10, info.Duration()*71/100
		os := pass(t, file, 0, Options{}, Options{To: a}, Options{From: a, To: b}, Options{From: b})
		var gs []*Graph
		var wall, idle time.Duration
		for i, o := range os {
			g := o.Graph()
			gs = append(gs, g)
			holds(t, fmt.Sprintf("from %v, %v", g.Start, g.Wall), g)
			if err := identity(o); err != nil {
				t.Errorf("from %v, %v: %v", g.Start, g.Wall, err)
			}
			if i > 0 {
				if g.Start != wall {
					t.Errorf("a graph begins at %v, want %v", g.Start, wall)
				}
				wall += g.Wall
				idle += g.Idle
			}
		}
		whole := gs[0]
		if wall != whole.Wall || idle != whole.Idle {
			t.Errorf("the parts are %v long, idle for %v; the whole %v, %v", wall, idle, whole.Wall, whole.Idle)
		}
		compare(t, "parts", byBox(gs[1:]...), byBox(whole), share(4*events.n))
	})
}

type counter struct {
	timeline.Base
	n int
}

func (c *counter) Transition(*timeline.Transition) { c.n++ }

// Decoding side by side changes nothing.
func TestWorkersDoNotMatter(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		opt := Options{Window: 50 * time.Millisecond}
		one := pass(t, file, 1, opt)[0].Graph()
		for _, workers := range []int{2, 8} {
			if many := pass(t, file, workers, opt)[0].Graph(); !reflect.DeepEqual(one, many) {
				t.Errorf("%d workers make another graph than one", workers)
			}
		}
	})
}

// Groupings only divide: all the time of all goroutines is there under each of them, and the
// application's is the application's.
func TestGroupingsArePartitions(t *testing.T) {
	groupings := []Grouping{ByFunction, ByCreator, ByRegion, ByTask, ByRegexp(regexp.MustCompile(`^[^.]+`)), ByGoroutine, ByGoroutine,
		ByFunc("all", func(*timeline.Goroutine) string { return "all" })}
	traces(t, func(t *testing.T, file string) {
		var opts []Options
		for i, by := range groupings {
			opts = append(opts, Options{Group: by, MaxSingle: 5 + i*i*i*i})
		}
		opts[len(opts)-2].MaxSingle = 1 << 30
		totals := func(g *Graph) map[boxKey]sums {
			c := *g
			c.Boxes = append([]Box(nil), g.Boxes...)
			for i := range c.Boxes {
				if b := &c.Boxes[i]; b.Kind == Application {
					b.Group = "the application"
				}
			}
			return byBox(&c)
		}
		var first map[boxKey]sums
		for i, o := range pass(t, file, 0, opts...) {
			g := o.Graph()
			holds(t, "by "+g.GroupBy, g)
			if i == 0 {
				first = totals(g)
				continue
			}
			compare(t, "by "+g.GroupBy, totals(g), first, 0)
		}
	})
}

// No more goroutines run at once than GOMAXPROCS, at any time.
func TestNoMoreRunThanProcessors(t *testing.T) {
	traces(t, func(t *testing.T, file string) {
		o := &width{Observer: NewObserver(Options{})}
		if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, o); err != nil {
			t.Fatal(err)
		}
		if o.time[2] == 0 || o.time[3] > 0 {
			t.Errorf("ns with none, one, two, more running: %v; GOMAXPROCS was 2", o.time)
		}
	})
}

// width measures for how long how many goroutines ran.
type width struct {
	*Observer
	time  [4]timeline.Time
	since timeline.Time
}

func (o *width) Transition(t *timeline.Transition) {
	o.time[min(o.clock.running, 3)] += t.End - o.since
	o.since = t.End
	o.Observer.Transition(t)
}
