package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// hostileNames are names that programs may have or that an attacker may put into a trace.
var hostileNames = []string{
	"</text><script>alert(1)</script>",
	`"'&<>]]>`,
	"nul\x00bell\x07esc\x1b[31m\x7f\u0085",
	"\xff\xfe\xc3\x28 broken UTF-8",
	"",
	"   ",
	"line\nbreak\ttab\r",
	strings.Repeat("example.com/a/very/long/path.(*Type[...]).Method", 9)[:400],
	strings.Repeat("W", 400),
	strings.Repeat("i", 5000),
	"עברית ועוד טקסט מימין לשמאל",
	"\u202egnp.exe\u2066",
	"世界世界世界世界世界世界世界世界世界世界世界世界世界",
	"e\u0301\u0301\u0301👩‍👩‍👧‍👦",
	"&amp;lt;",
	"\ufffe\uffff\U000e0001",
}

// hostile is a graph with hostile names and with impossible numbers.
func hostile() *bottle.Graph {
	var boxes []bottle.Box
	for i, name := range hostileNames {
		b := box(name, timeline.Kind(i%5), time.Duration(i*i+1)*7*ms, float64(i)/2+0.5)
		b.Waiting = map[string]time.Duration{name: 3 * ms}
		boxes = append(boxes, b)
	}
	g := graph(4, 77*ms, boxes...)
	g.Boxes = append(g.Boxes,
		bottle.Box{Group: "nan", Share: 30 * ms, Parallelism: math.NaN(), SelfParallelism: math.NaN()},
		bottle.Box{Group: "inf", Share: 30 * ms, Parallelism: math.Inf(1)},
		bottle.Box{Group: "negative", Share: -30 * ms, Parallelism: -1},
		bottle.Box{Group: "", Share: 30 * ms, Running: -5},
	)
	g.GroupBy = "<group & by>"
	g.Warnings = append([]string{"", strings.Repeat("word ", 400), strings.Repeat("x", 4000)}, hostileNames...)
	return g
}

// everything calls check for the samples and the hostile graphs, with several options.
func everything(t *testing.T, check func(t *testing.T, g *bottle.Graph, opt Options)) {
	graphs := samples()
	graphs["hostile"] = hostile()
	windows := hostile()
	for i := range 5 {
		w := hostile()
		w.Start = time.Duration(i) * 333333333
		windows.Windows = append(windows.Windows, w, nil)
	}
	graphs["hostile windows"] = windows
	late := phases(8)
	for i, w := range late.Windows {
		w.Start = time.Hour + time.Duration(i)*time.Microsecond
	}
	graphs["late windows"] = late
	wide := phases(20)
	wide.Procs = 128
	for _, w := range wide.Windows {
		w.Procs = 128
		for i := range w.Boxes {
			w.Boxes[i].Parallelism *= 30
		}
	}
	graphs["wide windows"] = wide
	graphs["eternal"] = graph(2, 0, box("main", bottle.Application, math.MaxInt64/2, 1), box("other", bottle.Application, math.MaxInt64/2, 9e9))
	graphs["nanosecond"] = graph(2, 1, box("main", bottle.Application, 1, 1))
	for name, g := range graphs {
		for _, opt := range []Options{
			{}, {Top: 4}, {Top: -1}, {Top: 60},
			{Title: strings.Repeat("A very long title ", 30), Subtitle: "line <b>\n" + strings.Repeat("subtitle ", 60)},
		} {
			t.Run(fmt.Sprintf("%s/top=%d,title=%d", name, opt.Top, len(opt.Title)), func(t *testing.T) {
				check(t, g, opt)
			})
		}
	}
}

func mustLayout(t testing.TB, g *bottle.Graph, opt Options) *Drawing {
	t.Helper()
	s, err := Draw(g, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustModel(t testing.TB, g *bottle.Graph, opt Options) *model {
	t.Helper()
	m, err := newModel(g, g.Windows, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func texts(s *Drawing) (out []text) {
	walk(s.shapes, func(s shape) {
		if t, ok := s.(text); ok {
			out = append(out, t)
		}
	})
	return out
}

func TestTextsHaveRoom(t *testing.T) {
	everything(t, func(t *testing.T, g *bottle.Graph, opt Options) {
		s := mustLayout(t, g, opt)
		all := texts(s)
		for i, a := range all {
			ax0, ay0, ax1, ay1 := a.bounds()
			const slip = 0.01
			if ax0 < 0 || ay0 < 0 || ax1 > s.width+slip || ay1 > s.height+slip {
				t.Errorf("%q is outside of the picture of %.0f × %.0f: x %.1f to %.1f, y %.1f to %.1f", a.s, s.width, s.height, ax0, ax1, ay0, ay1)
			}
			for _, b := range all[i+1:] {
				bx0, by0, bx1, by1 := b.bounds()
				if ax0 < bx1-slip && bx0 < ax1-slip && ay0 < by1-slip && by0 < ay1-slip {
					t.Errorf("%q (x %.1f–%.1f, y %.1f–%.1f) and %q (x %.1f–%.1f, y %.1f–%.1f) overlap", a.s, ax0, ax1, ay0, ay1, b.s, bx0, bx1, by0, by1)
				}
			}
		}
	})
}

func TestShapesAreInsideThePicture(t *testing.T) {
	everything(t, func(t *testing.T, g *bottle.Graph, opt Options) {
		s := mustLayout(t, g, opt)
		inside := func(what string, x, y float64) {
			if !(x >= -0.01 && y >= -0.01 && x <= s.width+0.01 && y <= s.height+0.01) {
				t.Errorf("%s: %v, %v is outside of %v × %v", what, x, y, s.width, s.height)
			}
		}
		walk(s.shapes, func(sh shape) {
			switch sh := sh.(type) {
			case rect:
				inside("rectangle", sh.x, sh.y)
				inside("rectangle", sh.x+sh.w, sh.y+sh.h)
				if sh.w < 0 || sh.h < 0 {
					t.Errorf("rectangle of %v × %v", sh.w, sh.h)
				}
			case lines:
				for _, l := range sh.segments {
					inside("line", l.x1, l.y1)
					inside("line", l.x2, l.y2)
				}
			}
		})
		if s.height > 1700 && opt.Top >= 0 && opt.Top < 50 {
			t.Errorf("the picture is %v high", s.height)
		}
	})
}

// drawnBox is a visible box.
type drawnBox struct {
	name string
	rect rect
}

// drawn finds the boxes of a chart by their tooltips, and the height of the idle time.
func drawn(shapes []shape) (boxes []drawnBox, idle float64) {
	walk(shapes, func(s shape) {
		g, ok := s.(*group)
		if !ok || len(g.shapes) == 0 {
			return
		}
		name, _, _ := strings.Cut(g.title, "\n")
		switch first := g.shapes[0].(type) {
		case rect:
			if first.w != swatchSide || first.h != swatchSide { // not that of the legend
				boxes = append(boxes, drawnBox{name, first})
			}
		case lines:
			if strings.HasPrefix(g.title, "idle: no goroutine ran for") {
				idle += first.segments[0].y1 - first.segments[0].y2
			}
		}
	})
	return boxes, idle
}

// unit returns the length of one unit of an axis, from the labels of its ticks.
func unit(t *testing.T, s *Drawing, vertical bool) float64 {
	t.Helper()
	places := map[string]float64{}
	for _, x := range texts(s) {
		_, err := strconv.ParseFloat(x.s, 64)
		if err != nil || x.size != axisSize {
			continue
		}
		if vertical && x.anchor == end {
			places[x.s] = -x.y
		} else if !vertical && x.anchor == middle {
			places[x.s] = max(places[x.s], x.x)
		}
	}
	for label, at := range places {
		if v, _ := strconv.ParseFloat(label, 64); v != 0 {
			return (at - places["0"]) / v
		}
	}
	t.Fatal("no ticks")
	return 0
}

func TestBoxesAreToScale(t *testing.T) {
	for name, g := range map[string]*bottle.Graph{
		"lusearch": lusearch(), "pipeline": pipeline(), "three": samples()["three"], "many": many(12), "idle": graph(2, 30*ms, box("main", bottle.Application, 50*ms, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			s := mustLayout(t, g, Options{Top: -1})
			boxes, idle := drawn(s.shapes)
			perParallelism, perUnit := unit(t, s, false), unit(t, s, true)
			_, size := timeUnit(float64(g.Wall))
			perNano := perUnit / size

			sum := idle
			i := 0
			bottom := math.NaN()
			for _, b := range g.Boxes {
				if b.Share == 0 {
					continue
				}
				d := boxes[i]
				i++
				if want := perNano * float64(b.Share); math.Abs(d.rect.h-want) > 1e-6 {
					t.Errorf("%s is %v high, want %v", d.name, d.rect.h, want)
				}
				if want := 2 * b.Parallelism * perParallelism; math.Abs(d.rect.w-want) > 1e-6 {
					t.Errorf("%s is %v wide, want %v", d.name, d.rect.w, want)
				}
				if d.name != fullName(b.Group) {
					t.Errorf("box %d is %s, want %s", i, d.name, b.Group)
				}
				if i > 1 && math.Abs(d.rect.y+d.rect.h-bottom) > 1e-6 {
					t.Errorf("%s does not stand on the box below", d.name)
				}
				if c, first := d.rect.x+d.rect.w/2, boxes[0].rect.x+boxes[0].rect.w/2; math.Abs(c-first) > 1e-6 {
					t.Errorf("%s is not centred", d.name)
				}
				bottom = d.rect.y
				sum += d.rect.h
			}
			if i != len(boxes) {
				t.Errorf("%d boxes drawn, want %d", len(boxes), i)
			}
			if want := perNano * float64(g.Wall); math.Abs(sum-want) > 1e-6 {
				t.Errorf("boxes and idle time are %v high, the wall time is %v", sum, want)
			}
		})
	}
}

func TestWindowsShareScaleAndColors(t *testing.T) {
	g := phases(8)
	s := mustLayout(t, g, Options{})
	color := map[string]paint{}
	panel := 0
	walk(s.shapes, func(sh shape) {
		gr, ok := sh.(*group)
		if !ok || !strings.HasPrefix(gr.title, "window from") {
			return
		}
		w := g.Windows[panel]
		boxes, idle := drawn(gr.shapes)
		if len(boxes) != len(w.Boxes) {
			t.Fatalf("window %d has %d boxes, want %d", panel, len(boxes), len(w.Boxes))
		}
		sum := idle
		for i, b := range w.Boxes {
			d := boxes[i]
			if c, ok := color[d.name]; ok && c != d.rect.fill {
				t.Errorf("%s changes its color in window %d", d.name, panel)
			}
			color[d.name] = d.rect.fill
			perNano, perParallelism := d.rect.h/float64(b.Share), d.rect.w/b.Parallelism
			first, _ := drawn(s.shapes)
			if f := g.Windows[0].Boxes[0]; math.Abs(perNano/(first[0].rect.h/float64(f.Share))-1) > 1e-6 ||
				math.Abs(perParallelism/(first[0].rect.w/f.Parallelism)-1) > 1e-6 {
				t.Errorf("%s in window %d has another scale", d.name, panel)
			}
			sum += d.rect.h
		}
		if want := float64(w.Wall) * boxes[0].rect.h / float64(w.Boxes[0].Share); math.Abs(sum-want) > 1e-6 {
			t.Errorf("window %d is %v high, want %v", panel, sum, want)
		}
		panel++
	})
	if panel != 8 {
		t.Errorf("%d windows drawn, want 8", panel)
	}
	seen := map[paint]string{}
	for name, c := range color {
		if other := seen[c]; other != "" {
			t.Errorf("%s and %s have the same color", name, other)
		}
		seen[c] = name
	}
}

func TestMergedWindowsAreMentioned(t *testing.T) {
	g := phases(100)
	m := mustModel(t, g, Options{Top: 15})
	if len(m.charts) != 34 || m.merged != 3 {
		t.Fatalf("%d charts of %d windows", len(m.charts), m.merged)
	}
	var share, running, wall, idle, wantShare, wantRunning time.Duration
	for _, w := range m.graphs() {
		wall += w.Wall
		idle += w.Idle
		for _, b := range w.Boxes {
			share, running = share+b.Share, running+b.Running
			if math.Abs(b.Parallelism-float64(b.Running)/float64(b.Share)) > 1e-6 {
				t.Errorf("%s: parallelism %v is not running ÷ share", b.Group, b.Parallelism)
			}
		}
	}
	for _, b := range g.Boxes {
		wantShare, wantRunning = wantShare+b.Share, wantRunning+b.Running
	}
	if share != wantShare || running != wantRunning || wall != g.Wall || idle != g.Idle {
		t.Errorf("merged windows have share %v, running %v, wall %v, idle %v; want %v, %v, %v, %v", share, running, wall, idle, wantShare, wantRunning, g.Wall, g.Idle)
	}
	waiting := func(d time.Duration) *bottle.Graph {
		b := box("main", bottle.Application, 9*ms, 1)
		b.Waiting = map[string]time.Duration{"mutex": d}
		return graph(1, 0, b)
	}
	parts := slices.Repeat([]*bottle.Graph{waiting(3 * ms), waiting(4 * ms)}, maxCharts)
	m = mustModel(t, &bottle.Graph{GroupBy: "function", Windows: parts}, Options{})
	if got := m.charts[0].graph.Boxes[0].Waiting["mutex"]; got != 7*ms || parts[0].Boxes[0].Waiting["mutex"] != 3*ms {
		t.Errorf("merged windows wait for %v, and the first one for %v", got, parts[0].Boxes[0].Waiting["mutex"])
	}
	if !has(mustLayout(t, g, Options{}), "Each chart puts 3 windows together: one chart for each of the 100 would be more than fit.") {
		t.Error("the picture does not show that windows were merged")
	}
	if s := mustLayout(t, phases(8), Options{}); has(s, "Each chart puts") {
		t.Error("nothing was merged")
	}
}

// has reports whether a picture shows a text, possibly on several lines.
func has(s *Drawing, want string) bool {
	var all []string
	for _, t := range texts(s) {
		all = append(all, t.s)
	}
	return strings.Contains(strings.Join(all, " "), want)
}

func TestManyGroupsAreFolded(t *testing.T) {
	g := many(300)
	g.Verdict = &verdict.Verdict{Findings: []verdict.Finding{{Title: "What limits it."}}}
	s := mustLayout(t, g, Options{})
	boxes, idle := drawn(s.shapes)
	if len(boxes) != 18 {
		t.Errorf("%d boxes, want 15 and three for the others", len(boxes))
	}
	sum := idle
	for _, b := range boxes {
		sum += b.rect.h
	}
	_, size := timeUnit(float64(g.Wall))
	if want := unit(t, s, true) * float64(g.Wall) / size; math.Abs(sum-want) > 0.01 {
		t.Errorf("heights sum to %v, want %v", sum, want)
	}
	if want := "What limits it."; !has(s, " in all. "+want) {
		t.Errorf("the verdict is missing: %q", want)
	}
	never := 0
	for _, b := range g.Boxes {
		if b.Share == 0 {
			never++
		}
	}
	if want := fmt.Sprintf("%d groups never ran", never); never == 0 || !has(s, want) {
		t.Errorf("the picture does not show %q", want)
	}
	if got, _ := drawn(mustLayout(t, g, Options{Top: -1}).shapes); len(got) != 300-never {
		t.Errorf("%d boxes, want all %d", len(got), 300-never)
	}
	// Windows fold the same groups as the whole.
	g.Windows = []*bottle.Graph{many(300), many(120)}
	m := mustModel(t, g, Options{Top: 5})
	for _, w := range m.graphs() {
		for i := range w.Boxes {
			if m.byKey[chart.KeyOf(&w.Boxes[i])] == nil {
				t.Errorf("%s has no color", w.Boxes[i].Group)
			}
		}
	}
}

func TestSentences(t *testing.T) {
	offered := lusearch()
	offered.Offered = true
	small := graph(64, 0, box("main", bottle.Application, 10*ms, 40))
	small.Warnings = []string{"The clock ran backwards."}
	first, second, long := "The collector took 20% of the capacity.", "A lock took 6%.", strings.Repeat("And much more. ", 30)
	judged := lusearch()
	judged.Verdict = &verdict.Verdict{Findings: []verdict.Finding{{Title: first}, {Title: second}, {Title: long}}}
	for _, tt := range []struct {
		graph *bottle.Graph
		opt   Options
		want  []string
		not   []string
	}{
		{judged, Options{Title: "lusearch"}, []string{"lusearch", "3.28 s in all. " + first + " " + second, "execution time (s)", "parallelism (goroutines running at once)", "GOMAXPROCS 4", "bold: lost at least 5%", "garbage collector"}, []string{"never ran", "idle", "blocked on", "And much more"}},
		{offered, Options{}, []string{"offered parallelism (goroutines running or ready to run)", "Bottle graph by function, offered parallelism", "running or ready"}, nil},
		{pipeline(), Options{Subtitle: "pgzip.trace"}, []string{"pgzip.trace", "idle 120 ms (4%)", "2 groups never ran", "tracer, bottleneck itself", "Go runtime", "Warning: The trace ends", "blocked on", "chan-receive 3.13 s"}, nil},
		{&bottle.Graph{}, Options{}, []string{"no time passed: there is nothing to show"}, []string{"GOMAXPROCS"}},
		{graph(4, 300*ms), Options{}, []string{"300 ms in all."}, []string{"neck"}},
		{small, Options{}, []string{"10 ms in all.", "Warning: The clock ran backwards."}, nil},
		{samples()["nothing"], Options{}, []string{"GOMAXPROCS, 64, lies beyond the ends of the axis."}, []string{"GOMAXPROCS 64"}},
		{samples()["one"], Options{}, []string{"1.23 ms in all."}, []string{"neck"}},
		{phases(8), Options{}, []string{"3.82 s in all in 8 windows", "below it, the start of each window", "1.5 s"}, nil},
	} {
		s := mustLayout(t, tt.graph, tt.opt)
		for _, want := range tt.want {
			if !has(s, want) {
				t.Errorf("%s: %q is missing", s.title, want)
			}
		}
		for _, not := range tt.not {
			if has(s, not) {
				t.Errorf("%s: %q is there", s.title, not)
			}
		}
	}
}

func TestThinBoxesAreLabeledBesideTheBoxes(t *testing.T) {
	s := mustLayout(t, lusearch(), Options{})
	boxes, _ := drawn(s.shapes)
	found := false
	for _, x := range texts(s) {
		if x.s != "GC init" || x.size != labelSize || x.x > boxes[0].rect.x+boxes[0].rect.w+40 {
			continue
		}
		found = true
		x0, y0, _, y1 := x.bounds()
		for _, b := range boxes {
			if x0 < b.rect.x+b.rect.w && y0 < b.rect.y+b.rect.h && b.rect.y < y1-2 {
				t.Errorf("the label lies on %s", b.name)
			}
		}
	}
	if !found {
		t.Error("no label")
	}
}

func TestSettle(t *testing.T) {
	at := func(weight int, mid float64) *outside {
		return &outside{weight: time.Duration(weight), mid: mid, lowest: mid}
	}
	for _, tt := range []struct {
		name   string
		labels []*outside
		want   string
	}{
		{"apart", []*outside{at(1, 200), at(1, 100)}, "200 100"},
		{"too near: the upper one moves up", []*outside{at(1, 200), at(1, 195), at(1, 100)}, "200 183 100"},
		{"no room at the top: the lightest goes", []*outside{at(5, 30), at(1, 28), at(3, 26)}, "30 13"},
		{"none fits", []*outside{at(1, 3)}, ""},
	} {
		var got []string
		for _, l := range settle(tt.labels, 0) {
			got = append(got, fmt.Sprint(l.y))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

func TestGroupsTooSmallToSeeAreFolded(t *testing.T) {
	boxes := []bottle.Box{box("main", bottle.Application, 900*ms, 1.9)}
	for i := range 9 {
		boxes = append(boxes, box(fmt.Sprint("tiny", i), bottle.GC, 20*time.Microsecond, 1.7))
	}
	g := graph(2, 0, boxes...)
	if s := mustLayout(t, g, Options{}); !has(s, "9 others (gc)") || has(s, "tiny") {
		t.Error("tiny groups are not folded")
	}
	if s := mustLayout(t, g, Options{Top: -1}); has(s, "9 others") || !has(s, "tiny4") {
		t.Error("not all groups are shown")
	}
	for _, x := range texts(mustLayout(t, g, Options{Top: -1})) {
		if strings.HasPrefix(x.s, "tiny") && x.size == labelSize && x.x < 400 {
			t.Errorf("%s has a label beside a box that cannot be seen", x.s)
		}
	}
}

// bounds returns the area that a text may take in a font up to 15 % wider than the measured one.
func (t text) bounds() (x0, y0, x1, y1 float64) {
	w := room(t.s, t.size, t.bold)
	before := 0.0
	switch t.anchor {
	case middle:
		before = w / 2
	case end:
		before = w
	}
	ascent, descent := 0.76*t.size, 0.22*t.size
	if t.upright {
		return t.x - ascent, t.y - (w - before), t.x + descent, t.y + before
	}
	return t.x - before, t.y - ascent, t.x + w - before, t.y + descent
}

// walk calls f for every shape, including those inside of groups.
func walk(shapes []shape, f func(shape)) {
	for _, s := range shapes {
		f(s)
		if g, ok := s.(*group); ok {
			walk(g.shapes, f)
		}
	}
}
