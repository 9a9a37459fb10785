package bottle

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// study has the results of two passes over a recorded trace: one with one worker, one with four.
type study struct {
	whole       *Graph // of the first pass, with windows of 50 ms
	transitions int
	again       *Graph // the same, of the second pass
	identities  []*Observer
	running     *running
	widths      []time.Duration
	windows     []*Graph
	parts       []*Graph // cuts at .3 and .71
	groupings   []*Graph
}

var groupings = []Grouping{ByFunction, ByStart, ByCreator, ByRegion, ByTask, ByGoroutine, ByGoroutine, ByRegexp(regexp.MustCompile(`^[^.]+`)),
	Grouping{name: "all", group: func(*timeline.Goroutine) string { return "all" }}}

var studies = map[string]*study{}

// traces calls f with every recorded trace.
func traces(t *testing.T, f func(t *testing.T, s *study)) {
	var files []string
	for _, pattern := range testenv.Some([]string{"small/*.trace*", "real/*.trace.zst"}) {
		fs, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || len(fs) < 6 {
			t.Fatalf("%s: %d traces, %v", pattern, len(fs), err)
		}
		files = append(files, fs...)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) {
			if studies[file] == nil {
				studies[file] = newStudy(t, file)
			}
			f(t, studies[file])
		})
	}
}

func newStudy(t *testing.T, file string) *study {
	read := func(workers int, show ...timeline.Observer) {
		t.Helper()
		if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{Workers: workers}, show...); err != nil {
			t.Fatal(err)
		}
	}
	opt := Options{Window: 50 * time.Millisecond}
	o, n := NewObserver(opt), &counter{}
	read(1, o, n)
	s := &study{whole: o.Graph(), transitions: n.n, running: &running{Observer: NewObserver(Options{})}}
	wall := s.whole.Wall

	var show []timeline.Observer
	add := func(opt Options) *Observer {
		o := NewObserver(opt)
		show = append(show, o)
		s.identities = append(s.identities, o)
		return o
	}
	again := add(opt)
	add(Options{Offered: true})
	add(Options{Group: ByGoroutine, MaxSingle: 7})
	var windows, parts, groups []*Observer
	s.widths = []time.Duration{wall / 701, 10 * time.Millisecond, 333 * time.Millisecond, time.Hour}
	for _, w := range s.widths {
		windows = append(windows, add(Options{Window: w}))
	}
	a, b := wall*3/10, wall*71/100
	for _, opt := range []Options{{To: a}, {From: a, To: b}, {From: b}} {
		parts = append(parts, add(opt))
	}
	for i, by := range groupings {
		groups = append(groups, add(Options{Group: by, MaxSingle: []int{5, 1 << 30}[i%2]}))
	}
	read(4, append(show, s.running)...)
	s.again = again.Graph()
	for _, o := range windows {
		s.windows = append(s.windows, o.Graph())
	}
	for _, o := range parts {
		s.parts = append(s.parts, o.Graph())
	}
	for _, o := range groups {
		s.groupings = append(s.groupings, o.Graph())
	}
	return s
}

type counter struct {
	timeline.Base
	n int
}

func (c *counter) Transition(*timeline.Transition) { c.n++ }

// running measures the time for each number of running goroutines.
type running struct {
	*Observer
	time  [4]timeline.Time
	since timeline.Time
}

func (o *running) Transition(t *timeline.Transition) {
	o.time[min(o.clock.running, 3)] += t.End - o.since
	o.since = t.End
	o.Observer.Transition(t)
}

// holds checks what is true for every graph.
func holds(t *testing.T, what string, g *Graph) {
	t.Helper()
	sum := g.Idle
	for i := range g.Boxes {
		b := &g.Boxes[i]
		sum += b.Share
		if area := float64(b.Share) * b.Parallelism; b.Share > 0 && math.Abs(area-float64(b.Running)) > 1e-9*float64(b.Running) {
			t.Errorf("%s: %s: share %d × parallelism %v is not running %d", what, b.Group, b.Share, b.Parallelism, b.Running)
		}
		// No box is wider than the machine. The share is rounded, so the width of a box is
		// uncertain by one nanosecond of it.
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
	// GOMAXPROCS never changes in these traces.
	p := time.Duration(g.Procs)
	lost := g.IdleLost
	for i := range g.Boxes {
		b := &g.Boxes[i]
		lost += b.Lost
		if want := b.Share*p - b.Running; b.Lost != want {
			t.Errorf("%s: %s: lost %d ns·processors, but share × GOMAXPROCS − running is %d", what, b.Group, b.Lost, want)
		}
	}
	if g.Capacity != g.Wall*p || g.IdleLost != g.Idle*p || lost != g.Lost() {
		t.Errorf("%s: capacity %d, idle %d, lost %d of %d ns·processors", what, g.Capacity, g.IdleLost, lost, g.Lost())
	}
}

// sums has what sums over windows, cuts and groupings, of all boxes or by box.
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

func TestLostCapacitySumsToWhatWasNotUsed(t *testing.T) { TestSharesSumToTheWallTime(t) }

func TestSharesSumToTheWallTime(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		for _, o := range s.identities {
			g := o.Graph()
			what := fmt.Sprintf("by %s, offered %v, from %v, windows of %v", g.GroupBy, g.Offered, g.Start, o.opt.Window)
			holds(t, what, g)
			if err := identity(o); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if g := s.whole; len(g.Boxes) == 0 || g.Wall < 100*time.Millisecond || g.Procs != 2 {
			t.Errorf("%d boxes, wall %v, GOMAXPROCS %d: not the trace that it should be", len(g.Boxes), g.Wall, g.Procs)
		}
	})
}

// Windows of any width sum to the graph of the whole, bit for bit.
func TestWindowsSumToTheWhole(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		whole := *s.groupings[0]
		if len(whole.Windows) > 0 {
			t.Fatal("the whole was made with windows")
		}
		for i, g := range s.windows {
			width := s.widths[i]
			if want := int((whole.Wall + width - 1) / width); len(g.Windows) != want {
				t.Errorf("%d windows of %v, want %d", len(g.Windows), width, want)
			}
			compare(t, fmt.Sprint("windows of ", width), byBox(g.Windows...), byBox(&whole), 0)
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
			bare := *g
			bare.Windows = nil
			if !reflect.DeepEqual(bare, whole) {
				t.Errorf("windows of %v change the whole", width)
			}
		}
	})
}

// The graphs of three parts of a trace sum to that of the whole. Running, runnable and waiting
// times are exact. Each part begins without a carry, so the shares may differ by the proven error
// of the clock: with two processors, less than two units of 2^-16 ns per transition in either
// graph.
func TestCutsSumToTheWhole(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		var wall, idle time.Duration
		for _, g := range s.parts {
			if g.Start != wall {
				t.Errorf("a part begins at %v, want %v", g.Start, wall)
			}
			wall += g.Wall
			idle += g.Idle
		}
		if wall != s.whole.Wall || idle != s.whole.Idle {
			t.Errorf("the parts are %v long, idle for %v; the whole %v, %v", wall, idle, s.whole.Wall, s.whole.Idle)
		}
		compare(t, "parts", byBox(s.parts...), byBox(s.whole), share(4*s.transitions))
	})
}

// Decoding in parallel does not change the graph.
func TestGraphDoesNotDependOnWorkers(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		if !reflect.DeepEqual(s.whole, s.again) {
			t.Error("four workers make another graph than one")
		}
	})
}

// Every grouping contains all time of all goroutines, and the application's share does not depend
// on the grouping.
func TestGroupingsArePartitions(t *testing.T) {
	totals := func(g *Graph) map[boxKey]sums {
		c := *g
		c.Boxes = slices.Clone(g.Boxes)
		for i := range c.Boxes {
			if b := &c.Boxes[i]; b.Kind == Application {
				b.Group = "the application"
			}
		}
		return byBox(&c)
	}
	traces(t, func(t *testing.T, s *study) {
		for _, g := range s.groupings[1:] {
			compare(t, "by "+g.GroupBy, totals(g), totals(s.groupings[0]), 0)
		}
	})
}

// The number of running goroutines never exceeds GOMAXPROCS.
func TestNoMoreRunThanProcessors(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		if s.running.time[2] == 0 || s.running.time[3] > 0 {
			t.Errorf("ns with none, one, two, more running: %v; GOMAXPROCS was 2", s.running.time)
		}
	})
}
