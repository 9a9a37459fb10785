package series

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
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

// sumOf returns the sum of the points of a family with the given values of its labels, of which ""
// is any, and their number. Times are in nanoseconds.
func sumOf(families []Family, name string, values ...string) (sum time.Duration, n int) {
	for _, f := range families {
		for _, p := range f.Points {
			fits := f.Name == name
			for i, v := range values {
				fits = fits && (v == "" || p.Values[i] == v)
			}
			if fits {
				n++
				if f.Unit == "s" {
					p.Value *= 1e9
				}
				sum += time.Duration(math.Round(p.Value))
			}
		}
	}
	return sum, n
}

func wallOf(families []Family) time.Duration {
	wall, _ := sumOf(families, "bottleneck_wall_seconds_total")
	return wall
}

// There are few series, however many groups there are, and they sum to the wall time.
func TestBoundedGroups(t *testing.T) {
	src := &source{}
	r := NewReader(src, nil, Options{})
	for n := 5; n < 500; n += 45 {
		src.live.Bottle = graph(n, time.Second)
		s := r.Read()
		share, groups := sumOf(s, "bottleneck_share_seconds_total")
		if groups > maxGroups+1 {
			t.Fatalf("%d groups", groups)
		}
		mutex, _ := sumOf(s, "bottleneck_blocked_seconds_total", "", "", "mutex")
		if want := time.Duration(n) * time.Second; share != want || wallOf(s) != want || mutex != want {
			t.Errorf("%d groups: shares %v, blocked %v, wall %v", n, share, mutex, wallOf(s))
		}
	}
}

// A later start is another epoch: counters continue.
func TestRestart(t *testing.T) {
	src := &source{live: bottleneck.Live{From: time.Unix(1000, 0)}}
	r := NewReader(src, nil, Options{})
	src.live.Bottle = graph(2, 10*time.Second)
	r.Read()
	src.live.From = time.Unix(1000, 30) // the same, from another clock reading
	if wall := wallOf(r.Read()); wall != 20*time.Second {
		t.Errorf("read twice: %v", wall)
	}
	src.live.From, src.live.Bottle = time.Unix(2000, 0), graph(2, time.Second)
	s := r.Read()
	if share, _ := sumOf(s, "bottleneck_share_seconds_total", "main.f0"); wallOf(s) != 22*time.Second || share != 11*time.Second {
		t.Errorf("after a restart: wall %v, share %v", wallOf(s), share)
	}
	src.live = bottleneck.Live{} // nothing yet after another start
	if wall := wallOf(r.Read()); wall != 22*time.Second {
		t.Errorf("after a restart with nothing: %v", wall)
	}
}

// Data dropped before the first window is counted once, also after another start.
func TestDropsBeforeWindows(t *testing.T) {
	src := &source{}
	r := NewReader(src, nil, Options{})
	total := int64(0)
	for start := range 3 {
		for second := range 6 {
			src.live = bottleneck.Live{}
			src.live.Stream.Elapsed = time.Duration(1+second) * time.Second
			src.live.Stream.Broken.Generations = int64(1 + second)
			if second >= 3 {
				src.live.From = time.Unix(int64(1000*start+1000), 0)
				src.live.Bottle = graph(1, time.Second)
			}
			total++
			if got, n := sumOf(r.Read(), "bottleneck_stream_dropped_generations_total", "broken"); n != 1 || int64(got) != total {
				t.Fatalf("start %d, second %d: %d, want %d generations", start, second, got, total)
			}
		}
	}
	if wall := wallOf(r.Read()); wall != 3*time.Second {
		t.Errorf("wall %v after 3 starts with a window each", wall)
	}
}

// The buckets of a histogram are those of the recorder, accumulated.
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
	if len(s) != 1 || len(s[0].Points) != 2 {
		t.Fatalf("%+v", s)
	}
	for _, got := range s[0].Points {
		class := got.Values[0]
		var sum uint64
		for i, bound := range TaskBounds {
			want := uint64(0)
			for _, v := range values[class] {
				if float64(v) <= bound {
					want++
				}
			}
			if got.Buckets[i] != want {
				t.Errorf("%s: %d up to %g, want %d", class, got.Buckets[i], bound, want)
			}
		}
		for _, v := range values[class] {
			sum += v
		}
		if got.Count != uint64(len(values[class])) || got.Value != float64(sum) {
			t.Errorf("%s: %d tasks, %g cycles", class, got.Count, got.Value)
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

// The cost of a reading beside the summing of the analysis.
func BenchmarkRead(b *testing.B) {
	src := &source{}
	src.live.Bottle = graph(100, time.Second)
	r := NewReader(src, nil, Options{})
	b.ReportAllocs()
	for b.Loop() {
		r.Read()
	}
}

// largest has more of everything than a lean reader shows.
func largest() (*source, *tasker) {
	src := &source{live: bottleneck.Live{From: time.Unix(1000, 0), To: time.Unix(1010, 0)}}
	g := graph(10_000, time.Millisecond)
	for i := range g.Boxes {
		g.Boxes[i].Kind = []timeline.Kind{bottle.Application, bottle.GC, bottle.Runtime, bottle.Tracer}[i%4]
		g.Boxes[i].Share += time.Duration(i)
	}
	src.live.Bottle = g
	p := &contention.Profile{}
	for i, kind := range contention.Kinds {
		w := contention.Wait{Kind: kind, Waiter: contention.Party{Group: "main.waiter"}, Contentions: int64(i + 1), Blamed: time.Duration(i+1) * time.Second, HandOff: time.Second, Unattributed: time.Second, Ready: time.Second}
		w.Waited = w.Blamed + w.HandOff + w.Unattributed
		p.Waits = append(p.Waits, w)
		p.Pairs = append(p.Pairs, contention.Wait{Kind: kind, Waiter: w.Waiter, Owner: contention.Party{Group: "main.owner"}, Lock: &contention.Lock{Name: "cache" + kind}, Blamed: w.Blamed})
	}
	src.live.Contention = p
	tasks := &tasker{}
	for i := range 200 {
		c := granularity.Class{Name: fmt.Sprint("class", i), Tasks: 1}
		c.Cycles.Add(uint64(i + 1))
		tasks.p.Classes = append(tasks.p.Classes, c)
	}
	return src, tasks
}

// A lean reader has at most 60 series, and its sums are those of all.
func TestLean(t *testing.T) {
	src, tasks := largest()
	lean, whole := NewReader(src, tasks, Options{Lean: true}), NewReader(src, tasks, Options{})
	sums := func(all []Family) (n int, sum map[string]float64) {
		sum = map[string]float64{}
		for _, f := range all {
			for _, p := range f.Points {
				n++
				if f.Type == Histogram {
					n += len(p.Buckets) + 2
				}
				sum[f.Name] += p.Value
				if len(p.Values) != len(f.Labels) {
					t.Errorf("%s: %q of %q", f.Name, p.Values, f.Labels)
				}
			}
		}
		return n, sum
	}
	for range 3 {
		n, got := sums(lean.Read())
		all, want := sums(whole.Read())
		if n > MaxLean || n < 40 || all < 300 {
			t.Errorf("%d series of %d", n, all)
		}
		for name, v := range got {
			if math.Abs(v-want[name]) > 1e-9*want[name] {
				t.Errorf("%s: %g in all, want %g", name, v, want[name])
			}
		}
		if len(got) != 16 {
			t.Errorf("%d families, want 16", len(got))
		}
		for i := range src.live.Bottle.Boxes { // others are the largest now
			src.live.Bottle.Boxes[i].Share += time.Duration(10_000-i) * time.Millisecond
			src.live.Bottle.Wall += time.Duration(10_000-i) * time.Millisecond
		}
		for i := range src.live.Contention.Waits {
			w := &src.live.Contention.Waits[i]
			w.Blamed += time.Duration(100-i) * time.Second
			w.Contentions += 10
		}
	}
}

// Every total and exemplar belongs to a family.
func TestMetricsHaveFamilies(t *testing.T) {
	src, tasks := largest()
	r := NewReader(src, tasks, Options{})
	metrics := r.totals(&src.live)
	maps.Copy(metrics, r.taskTotals(&tasks.p))
	for c := range exemplarsOf(&src.live) {
		metrics[c] = 0
	}
	for c := range metrics {
		if _, ok := labelsOf[c.metric]; !ok {
			t.Errorf("no family is called %q", c.metric)
		}
	}
}

// An exemplar names the largest contribution to a counter, and fits into the limits of
// OpenMetrics.
func TestExemplars(t *testing.T) {
	src, _ := largest()
	long := strings.Repeat("λ", 300)
	src.live.Contention.Pairs[0] = contention.Wait{Kind: contention.Kinds[0], Lock: &contention.Lock{Class: long}, Waiter: contention.Party{Group: long}, Owner: contention.Party{Group: "main.o"}, Blamed: time.Hour}
	src.live.Bottle.Boxes[0].Sites = map[string][]bottle.Site{"mutex": {{Func: "main.(*cache).get", Time: time.Second}, {Func: "main.other", Time: time.Millisecond}}}
	found := map[string]int{}
	src.live.Bottle.Boxes[0].Share = time.Hour // so that it has counters of its own
	for _, f := range NewReader(src, nil, Options{}).Read() {
		for _, p := range f.Points {
			e := p.Exemplar
			if e == nil {
				continue
			}
			found[f.Name]++
			n, text := 0, ""
			for _, l := range e.Labels {
				n += utf8.RuneCountInString(l.Name + l.Value)
				text += l.Name + "=" + l.Value + " "
				if !utf8.ValidString(l.Value) {
					t.Errorf("%q", l.Value)
				}
			}
			if n > maxExemplar || !e.Time.Equal(src.live.To) || e.Value <= 0 {
				t.Errorf("%s %q: %d characters, %+v", f.Name, p.Values, n, e)
			}
			switch {
			case f.Name == "bottleneck_blocked_seconds_total":
				if text != "at=main.(*cache).get " || p.Values[0] != "main.f0" || e.Value != 1 {
					t.Errorf("%q: %s%g", p.Values, text, e.Value)
				}
			case p.Values[0] == string(contention.Kinds[1]) && p.Values[1] == "blamed":
				if text != "lock=cache"+p.Values[0]+" waiter=main.waiter owner=main.owner " || e.Value != 2 {
					t.Errorf("%q: %s%g", p.Values, text, e.Value)
				}
			case p.Values[0] == string(contention.Kinds[0]) && p.Values[1] == "blamed":
				if !strings.HasSuffix(text, " owner=main.o ") || n < maxExemplar-40 {
					t.Errorf("%q: %s(%d characters)", p.Values, text, n)
				}
			}
		}
	}
	if found["bottleneck_blocked_seconds_total"] != 1 || found["bottleneck_contention_wait_seconds_total"] != 3*len(contention.Kinds) {
		t.Errorf("%v", found)
	}
}

// The version is a label: the program's own version, or the one that it sets.
func TestBuild(t *testing.T) {
	for want, opt := range map[string]Options{build()[0]: {}, "v7\uFFFD": {Version: "v7\xff"}} {
		for _, f := range NewReader(&source{}, nil, opt).Read() {
			if f.Name == "bottleneck_build_info" && (len(f.Points) != 1 || f.Points[0].Values[0] != want || f.Points[0].Values[2] != runtime.Version() || f.Points[0].Value != 1) {
				t.Errorf("%+v, want version %q", f.Points, want)
			}
		}
	}
}
