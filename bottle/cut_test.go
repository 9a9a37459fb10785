package bottle

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// pieced is an Observer that is cut repeatedly.
type pieced struct {
	*Observer
	rng   *rand.Rand
	mean  float64 // ns between cuts
	next  timeline.Time
	cuts  []*Graph
	times []timeline.Time
}

func (p *pieced) Begin(t timeline.Time, version int) {
	p.next = t
	p.later()
	p.Observer.Begin(t, version)
}

func (p *pieced) later() { p.next += timeline.Time(p.rng.ExpFloat64() * p.mean) }

func (p *pieced) before(t timeline.Time) {
	for t >= p.next {
		p.cuts = append(p.cuts, p.Cut(p.next))
		p.times = append(p.times, p.next)
		p.later()
	}
}

func (p *pieced) Transition(t *timeline.Transition) { p.before(t.End); p.Observer.Transition(t) }

func (p *pieced) Region(e *timeline.Span) { p.before(e.Time); p.Observer.Region(e) }

// comparable returns a copy of a graph without the fields that only Merge needs.
func comparable(g *Graph) *Graph {
	c := *g
	c.merged, c.Windows = merged{}, nil
	c.Boxes = append([]Box{}, g.Boxes...)
	for i := range c.Boxes {
		b := &c.Boxes[i]
		b.known, b.carried = 0, 0
		if math.IsNaN(b.SelfParallelism) {
			b.SelfParallelism = -1
		}
	}
	return &c
}

// TestCutsSum: wherever a pass is cut, the graphs of the pieces sum to the graph of the whole, bit
// for bit, including the goroutines.
func TestCutsSum(t *testing.T) {
	files, err := filepath.Glob("../testdata/*/*.trace*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range testenv.Some(files) {
		if strings.Contains(file, "real") && (testing.Short() || !strings.Contains(file, "pgzip") && !strings.Contains(file, "gocompile")) {
			continue
		}
		var whole []*Observer
		var parts []*pieced
		var show []timeline.Observer
		for i, opt := range []Options{{}, {Group: ByRegion}, {Group: ByCreator, Offered: true}, {Group: ByGoroutine, MaxSingle: 1 << 20}} {
			w := NewObserver(opt)
			p := &pieced{Observer: NewObserver(opt), rng: rand.New(rand.NewPCG(7, uint64(i))), mean: 7e6 * float64(1+20*i)}
			whole, parts = append(whole, w), append(parts, p)
			show = append(show, w, p)
		}
		if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, show...); err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			pieces := append(p.cuts, p.Graph())
			for _, g := range pieces {
				checkSum(t, g)
			}
			got, err := Merge(pieces...)
			if err != nil {
				t.Fatal(err)
			}
			want := whole[i].Graph()
			if want.Boxes == nil {
				t.Fatalf("%s: an empty graph", file)
			}
			got.Warnings, want.Warnings = nil, nil
			if g, w := comparable(got), comparable(want); !reflect.DeepEqual(g, w) {
				t.Errorf("%s, grouping %d: %d pieces sum to something else than the whole", file, i, len(pieces))
				for j := range min(len(g.Boxes), len(w.Boxes)) {
					if !reflect.DeepEqual(g.Boxes[j], w.Boxes[j]) {
						t.Errorf("got  %+v\nwant %+v", g.Boxes[j], w.Boxes[j])
						break
					}
				}
				g.Boxes, w.Boxes = nil, nil
				t.Logf("got  %+v\nwant %+v", g, w)
			}
			// The same in two steps, as for a running total.
			if n := len(pieces); n > 3 {
				a, _ := Merge(pieces[:n/2]...)
				b, _ := Merge(append([]*Graph{a}, pieces[n/2:]...)...)
				if !reflect.DeepEqual(b.Boxes, got.Boxes) || b.Wall != got.Wall {
					t.Errorf("%s, grouping %d: merging in two steps makes a difference", file, i)
				}
				tail, _ := Merge(pieces[n/2:]...)
				checkSum(t, tail)
				for _, box := range tail.Boxes {
					if box.Goroutines < 1 {
						t.Errorf("%s: %d goroutines in box %s of the later pieces", file, box.Goroutines, box.Group)
					}
				}
			}
		}
	}
}

// checkSum: the shares and the idle time sum to the wall time.
func checkSum(t *testing.T, g *Graph) {
	t.Helper()
	sum := g.Idle
	for i := range g.Boxes {
		b := &g.Boxes[i]
		sum += b.Share
		if b.Share < 0 || b.Running < 0 || b.Runnable < 0 || b.Blocked() < 0 {
			t.Errorf("a negative time: %+v", b)
		}
	}
	if sum != g.Wall || g.Wall < 0 || g.Idle < 0 {
		t.Errorf("shares and idle time (%v) sum to %v of %v", g.Idle, sum, g.Wall)
	}
}

// TestCutAtGap: the time in a gap belongs to no graph. A goroutine that is seen again after the
// gap is not counted twice.
func TestCutAtGap(t *testing.T) {
	d := drive(Options{Window: 40}, 100)
	g := &timeline.Goroutine{ID: 1, Func: "main.a"}
	d.appear(g, timeline.Running, timeline.WaitNone)
	d.at(150).to(g, timeline.Unknown, timeline.WaitNone)
	d.o.Gap(150, 1000)
	again := &timeline.Goroutine{ID: 1, Func: "main.a"}
	d.at(1000).appear(again, timeline.Running, timeline.WaitNone)
	d.at(1030).block(again, timeline.WaitMutex)
	first := d.o.Cut(1050)
	d.at(1060).run(again)
	second := d.o.Cut(1100)
	checkSum(t, first)
	checkSum(t, second)
	if first.Wall != 100 || first.Idle != 20 || len(first.Boxes) != 1 || first.Boxes[0].Goroutines != 1 || first.Boxes[0].Share != 80 || first.Boxes[0].Waiting["mutex"] != 20 {
		t.Errorf("first: %+v", first)
	}
	if second.Wall != 50 || second.Idle != 10 || second.Boxes[0].Goroutines != 1 || second.Boxes[0].Waiting["mutex"] != 10 {
		t.Errorf("second: %+v", second)
	}
	var covered time.Duration
	for _, w := range first.Windows {
		checkSum(t, w)
		covered += w.Wall
	}
	if covered != 100 {
		t.Errorf("windows cover %v of 100 ns", covered)
	}
	m, err := Merge(first, second)
	if err != nil || m.Boxes[0].Goroutines != 1 || m.Wall != 150 || m.Instances != 0 {
		t.Errorf("merged: %+v, %v", m, err)
	}
}

// TestMergeSumsInstances: graphs of several programs can be merged, whether read from JSON or not.
func TestMergeSumsInstances(t *testing.T) {
	read := func(s string) *Graph {
		g, err := ReadJSON(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	a := read(`{"wall_ns":100,"idle_ns":20,"gomaxprocs":4,"go_version":"go1.26","start_ns":0,"group_by":"function","warnings":["x"],
		"boxes":[{"group":"f","kind":"application","goroutines":2,"share_ns":60,"running_ns":120,"parallelism":2,"self_parallelism":2,"runnable_ns":5,"waiting_ns":{"mutex":7}},
		{"group":"g","kind":"gc","goroutines":1,"share_ns":20,"running_ns":20,"parallelism":1,"self_parallelism":null,"runnable_ns":0,"waiting_ns":{}}]}`)
	b := read(`{"wall_ns":300,"idle_ns":0,"gomaxprocs":8,"go_version":"go1.9","start_ns":0,"group_by":"function","instances":3,"warnings":["x","y"],
		"boxes":[{"group":"f","kind":"application","goroutines":1,"share_ns":300,"running_ns":300,"parallelism":1,"self_parallelism":1,"runnable_ns":0,"waiting_ns":{"mutex":3,"sleep":1}}]}`)
	m, err := Merge(a, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, m)
	if m.Instances != 4 || m.Wall != 400 || m.Idle != 20 || m.Procs != 8 || m.GoVersion != "go1.26" || len(m.Warnings) != 3 {
		t.Errorf("%+v", m)
	}
	f := m.Boxes[0]
	if f.Group != "f" || f.Share != 360 || f.Running != 420 || f.Parallelism != 420./360 || f.SelfParallelism != 420./360 || f.Goroutines != 3 || f.Waiting["mutex"] != 10 || f.Waiting["sleep"] != 1 || f.Runnable != 5 {
		t.Errorf("%+v", f)
	}
	if !math.IsNaN(m.Boxes[1].SelfParallelism) {
		t.Errorf("a self-parallelism that is not known becomes %v", m.Boxes[1].SelfParallelism)
	}
	unknown := &Graph{GroupBy: "function"} // as from a service that has no data yet
	for _, graphs := range [][]*Graph{{a, unknown}, {unknown, a}} {
		if m, err := Merge(graphs...); err != nil || m.GoVersion != "go1.26" || len(m.Warnings) != 1 {
			t.Errorf("with a graph of an unknown version: %+v, %v", m, err)
		}
	}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, m); err != nil || read(buf.String()).Instances != 4 {
		t.Errorf("the instances do not survive: %v\n%s", err, buf.String())
	}
	b.GroupBy = "creator"
	if _, err := Merge(a, b); err == nil || !strings.Contains(err.Error(), "grouped") {
		t.Errorf("different groupings: %v", err)
	}
	b.GroupBy, b.Offered = "function", true
	if _, err := Merge(a, b); err == nil || !strings.Contains(err.Error(), "offered") {
		t.Errorf("offered and actual: %v", err)
	}
	if _, err := Merge(); err == nil {
		t.Error("nothing is merged without an error")
	}
}

// TestMergeExceedsFixedPointRange: totals of weeks still sum, although the fixed-point clock
// covers 39 hours.
func TestMergeExceedsFixedPointRange(t *testing.T) {
	day := &Graph{Wall: 24 * time.Hour, Idle: time.Hour, Boxes: []Box{{Group: "a", Kind: Application, Share: 20 * time.Hour, Running: 40 * time.Hour}, {Group: "b", Kind: Application, Share: 3 * time.Hour, Running: 3 * time.Hour}}}
	total := day
	for range 400 {
		var err error
		if total, err = Merge(total, day); err != nil {
			t.Fatal(err)
		}
		total.Instances = 0
		checkSum(t, total)
	}
	if b := total.Boxes[0]; b.Group != "a" || b.Share != 401*20*time.Hour || b.Parallelism != 2 {
		t.Errorf("%+v", b)
	}
}

// TestRepeatedTopKeepsTheSums: a total of many groups that is folded repeatedly keeps its sums in
// few boxes.
func TestRepeatedTopKeepsTheSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var total *Graph
	var share, running time.Duration
	for i := range 100 {
		g := &Graph{}
		for j := range 30 {
			d := time.Duration(1 + rng.IntN(1000))
			g.Boxes = append(g.Boxes, Box{Group: strings.Repeat("g", 1+(i*7+j)%200), Kind: Application, Goroutines: 1, Share: d, Running: 2 * d})
			g.Wall += d
			share, running = share+d, running+2*d
		}
		g = g.Top(10)
		if total == nil {
			total = g
		} else {
			total, _ = Merge(total, g)
		}
		total = total.Top(12)
		checkSum(t, total)
	}
	var s, r time.Duration
	others := 0
	for i := range total.Boxes {
		s += total.Boxes[i].Share
		r += total.Boxes[i].Running
		if strings.HasSuffix(total.Boxes[i].Group, "others") {
			others++
		}
	}
	if s != share || r != running || len(total.Boxes) != 13 || others != 1 {
		t.Errorf("%d boxes, %d of others, with %v and %v of %v and %v", len(total.Boxes), others, s, r, share, running)
	}
}
