package series

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
)

type source struct{ live bottleneck.Live }

func (s *source) Enabled() bool          { return true }
func (s *source) Read() *bottleneck.Live { return &s.live }

type tasker struct{ p granularity.Profile }

func (t *tasker) Profile() *granularity.Profile { return &t.p }

// graph has n groups that share the time equally.
func graph(n int, each time.Duration) *bottle.Graph {
	g := &bottle.Graph{Wall: time.Duration(n) * each, Procs: 4}
	for i := range n {
		g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprint("main.f", i), Kind: bottle.Application, Share: each, Running: 2 * each,
			Waiting: map[string]time.Duration{"mutex": each, "network": 3 * each}})
	}
	return g
}

// However many groups there are, there are few series, and they sum to the wall time.
func TestBoundedGroups(t *testing.T) {
	src := &source{}
	r := NewReader(src, nil, Options{MaxGroups: 10})
	for n := 5; n < 500; n += 45 {
		src.live.Bottle = graph(n, time.Second)
		s := r.Read()
		if len(s.Groups) > 11 {
			t.Fatalf("%d groups", len(s.Groups))
		}
		var share, mutex time.Duration
		for _, g := range s.Groups {
			share += g.Share
			for _, b := range g.Blocked {
				if b.Name == "mutex" {
					mutex += b.Time
				}
			}
		}
		if want := time.Duration(n) * time.Second; share != want || s.Wall != want || mutex != want {
			t.Errorf("%d groups: shares %v, blocked %v, wall %v", n, share, mutex, s.Wall)
		}
	}
}

// A start later than before is another epoch: counters go on.
func TestRestart(t *testing.T) {
	src := &source{live: bottleneck.Live{From: time.Unix(1000, 0)}}
	r := NewReader(src, nil, Options{})
	src.live.Bottle = graph(2, 10*time.Second)
	r.Read()
	src.live.From = time.Unix(1000, 30) // the same, by another reading of the clock
	if s := r.Read(); s.Wall != 20*time.Second {
		t.Errorf("read twice: %v", s.Wall)
	}
	src.live.From, src.live.Bottle = time.Unix(2000, 0), graph(2, time.Second)
	if s := r.Read(); s.Wall != 22*time.Second || s.Groups[0].Share != 11*time.Second {
		t.Errorf("after a restart: %v, %+v", s.Wall, s.Groups)
	}
	src.live = bottleneck.Live{} // nothing yet after another start
	if s := r.Read(); s.Wall != 22*time.Second {
		t.Errorf("after a restart with nothing: %v", s.Wall)
	}
}

// What is dropped before the first window is counted once, also after another start.
func TestDropsBeforeWindows(t *testing.T) {
	src := &source{}
	r := NewReader(src, nil, Options{})
	total := int64(0)
	for start := range 3 {
		for second := range 6 {
			src.live = bottleneck.Live{}
			src.live.Stream.Elapsed = time.Duration(1+second) * time.Second
			src.live.Stream.Dropped.OverBudget.Generations = int64(1 + second)
			if second >= 3 {
				src.live.From = time.Unix(int64(1000*start+1000), 0)
				src.live.Bottle = graph(1, time.Second)
			}
			total++
			s := r.Read()
			if d := s.Stream.Dropped[2]; d.Reason != "over-budget" || d.Generations != total {
				t.Fatalf("start %d, second %d: %+v, want %d generations", start, second, d, total)
			}
		}
	}
	if s := r.Read(); s.Wall != 3*time.Second {
		t.Errorf("wall %v after 3 starts with a window each", s.Wall)
	}
}

// The buckets of a histogram are those of the recorder, cumulated.
func TestTaskBuckets(t *testing.T) {
	tasks := &tasker{}
	values := map[string][]uint64{"a": {1, 255, 257, 1000, 5000, 1 << 40}, "b": {100}}
	for name, vs := range values {
		c := granularity.Class{Name: name, Tasks: uint64(len(vs))}
		for _, v := range vs {
			c.Cycles.Add(v)
		}
		tasks.p.Classes = append(tasks.p.Classes, c)
	}
	s := NewReader(nil, tasks, Options{}).Read()
	if s.Live || len(s.Tasks) != 2 {
		t.Fatalf("%+v", s)
	}
	for _, got := range s.Tasks {
		var sum uint64
		for i, bound := range TaskBounds {
			want := uint64(0)
			for _, v := range values[got.Class] {
				if float64(v) <= bound {
					want++
				}
			}
			if got.Buckets[i] != want {
				t.Errorf("%s: %d up to %g, want %d", got.Class, got.Buckets[i], bound, want)
			}
		}
		for _, v := range values[got.Class] {
			sum += v
		}
		if got.Count != uint64(len(values[got.Class])) || got.Cycles != float64(sum) {
			t.Errorf("%s: %d tasks, %g cycles", got.Class, got.Count, got.Cycles)
		}
	}
}

func TestLabel(t *testing.T) {
	for _, name := range []string{"", "main.f", strings.Repeat("λ", 500), "\xff\x00\n", strings.Repeat("x", 199) + "λ"} {
		l := label(name)
		if !utf8.ValidString(l) || len(l) > maxLabel+len("…") || strings.ContainsAny(l, "\x00\n") {
			t.Errorf("%q: %q", name, l)
		}
	}
}

// What a reading costs beside what the analysis takes to sum up.
func BenchmarkRead(b *testing.B) {
	src := &source{}
	src.live.Bottle = graph(100, time.Second)
	r := NewReader(src, nil, Options{})
	b.ReportAllocs()
	for b.Loop() {
		r.Read()
	}
}
