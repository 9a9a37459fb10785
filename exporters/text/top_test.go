package text_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// later is sorting a second later: main.main has less of the time, and there is a new group.
func later() *bottle.Graph {
	g := sorting()
	g.Warnings = nil
	g.Boxes[2].Share, g.Boxes[2].Running = time.Second, time.Second
	g.Boxes = append(g.Boxes, bottle.Box{Group: "main.(*cache).get", Kind: bottle.Application, Goroutines: 12,
		Share: time.Second / 2, Running: time.Second / 2, Parallelism: 1, SelfParallelism: 1,
		Waiting: map[string]time.Duration{"mutex": 11 * time.Second}})
	return g
}

func view() *chart.Screen {
	return &chart.Screen{
		Graph: later(), Before: sorting(), Source: "http://localhost:6060/debug/bottleneck/",
		Taken: time.Date(2026, 3, 1, 14, 3, 22, 0, time.UTC), Interval: time.Second,
	}
}

func ExampleWriteTop() {
	if err := text.WriteTop(os.Stdout, view(), text.Options{Width: 96}); err != nil {
		panic(err)
	}
	// Output:
	// bottleneck top: http://localhost:6060/debug/bottleneck/                      14:03:22  every 1 s
	// 5.5 s seen   mean parallelism 2.64   GOMAXPROCS 4   idle 9%
	// waiting for locks: 2.36 goroutines
	// * lost: 34% of the capacity
	//
	//   group                       share   lost  trend  parallel  running  runnable  blocked on
	// * main.main                   18.2%  20.5%  -9.1%      1.00     0.18      0.00  wait-group 100%
	//   runtime.gcBg…rkWorker (gc)   9.1%   4.5%             2.00     0.18      0.00  gc 100%
	//   main.(*cache).get            9.1%   0.0%  +9.1%      1.00     0.09      0.00  mutex 100%
	//   signal.loop                  0.0%   0.0%                      0.00      0.00  syscall 100%
	//   sorter.(*Pool).worker       54.5%   0.0%             4.00     2.18      0.73  chan-receive 87%
	// No room for: blocked.
}

func TestTopWide(t *testing.T) {
	const want = `bottleneck top: http://localhost:6060/debug/bottleneck/                                    14:03:22  every 1 s
5.5 s seen   mean parallelism 2.64   GOMAXPROCS 4   idle 9%
waiting for locks: 2.36 goroutines
* lost: 34% of the capacity

  group                        share   lost  trend  parallel  running  runnable  blocked  blocked on
* main.main                    18.2%  20.5%  -9.1%      1.00     0.18      0.00     0.73  wait-group 100%
  runtime.gcBgMarkWorker (gc)   9.1%   4.5%             2.00     0.18      0.00     3.64  gc 100%
  main.(*cache).get             9.1%   0.0%  +9.1%      1.00     0.09      0.00     2.00  mutex 100%
  signal.loop                   0.0%   0.0%                      0.00      0.00     0.91  syscall 100%
  sorter.(*Pool).worker        54.5%   0.0%             4.00     2.18      0.73     4.18  chan-receive 87%
`
	if got := top(t, view(), text.Options{Width: 110}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func top(t *testing.T, v *chart.Screen, opt text.Options) string {
	t.Helper()
	var buf bytes.Buffer
	if err := text.WriteTop(&buf, v, opt); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// hostileView has names, numbers and notes of all kinds.
func hostileView(name string, groups int, wall time.Duration, problem string) *chart.Screen {
	g := &bottle.Graph{Wall: wall, Idle: wall / 10, Procs: 4, GroupBy: name, Instances: 3, Warnings: []string{name}}
	for i := range groups {
		share := wall / time.Duration(groups+1)
		g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprint(name, i), Kind: timeline.Kind(i % 5), Share: share,
			Running: share * time.Duration(i), Parallelism: float64(i), SelfParallelism: math.NaN(), Runnable: time.Duration(i) * wall, Waiting: map[string]time.Duration{name: wall, "mutex": wall / 3}})
	}
	g.SetProcs(4)
	before := *g
	before.Boxes = before.Boxes[:groups/2]
	before.Wall *= 2
	return &chart.Screen{Graph: g, Before: &before, Source: name, Problem: problem, Note: name, Taken: time.Unix(1e9, 0), Interval: time.Second}
}

// checkFrame checks that a frame fits its screen and sends only colors to the terminal.
func checkFrame(t *testing.T, frame string, height int, opt text.Options) {
	t.Helper()
	if !utf8.ValidString(frame) || !strings.HasSuffix(frame, "\n") {
		t.Fatalf("not lines of text: %q", frame)
	}
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if height > 0 && len(lines) != max(1, height) {
		t.Errorf("%d lines on a screen of %d", len(lines), height)
	}
	for _, line := range lines {
		plain := escape.ReplaceAllString(line, "")
		if opt.Color == false && plain != line {
			t.Errorf("colors in %q", line)
		}
		for _, r := range plain {
			if r < ' ' || r == 0x7f {
				t.Errorf("%q in the line %q", r, line)
			}
		}
		if n := columnsOf(plain); isPlain(frame) && n > max(48, opt.Width) {
			t.Errorf("%d columns of %d: %q", n, opt.Width, plain)
		}
	}
}

// A frame fits its screen, whatever the graph contains.
func TestTopFits(t *testing.T) {
	for _, name := range testenv.Some([]string{"évil\x1b[2Jname\n\r", "main.work", "", strings.Repeat("世界", 60), "github.com/a/b.(*T[...]).run.func1"}) {
		for _, width := range []int{1, 48, 60, 80, 100, 132, 240} {
			for _, height := range []int{0, 1, 2, 5, 24, 400} {
				for i, problem := range []string{"", "no answer for 3 s: " + name} {
					opt := text.Options{Width: width, Color: i == 0}
					for _, groups := range []int{0, 3, 60} {
						v := hostileView(name, groups, 2*time.Second, problem)
						v.Skip, v.Height = 7, height
						checkFrame(t, top(t, v, opt), height, opt)
					}
				}
			}
		}
	}
	for _, v := range []*chart.Screen{{}, {Graph: &bottle.Graph{}}, {Problem: "no answer yet"}, {Before: sorting()}, hostileView("x", 3, math.MaxInt64, ""), hostileView("x", 3, 1, ""), hostileView("x", 2, -5, "")} {
		for _, height := range []int{0, 24} {
			v.Height = height
			opt := text.Options{Width: 100}
			checkFrame(t, top(t, v, opt), height, opt)
		}
	}
}

// groupsOf returns the first words of the lines below the heading.
func groupsOf(frame string) (names []string) {
	_, table, _ := strings.Cut(frame, "blocked on\n")
	for line := range strings.Lines(table) {
		if fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "* ")); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	return names
}

func TestTopSorts(t *testing.T) {
	worker, gc, main, cache, loop := "sorter.(*Pool).worker", "runtime.gcBgMarkWorker", "main.main", "main.(*cache).get", "signal.loop"
	for _, tt := range []struct {
		by   string
		want []string
	}{
		{"", []string{main, gc, cache, loop, worker}},
		{"lost", []string{main, gc, cache, loop, worker}},
		{"share", []string{worker, main, cache, gc, loop}},
		{"parallelism", []string{cache, main, gc, worker, loop}},
		{"running", []string{worker, gc, main, cache, loop}}, // gc and main.main both ran for 1 s: by name "main.main" is before "runtime…"
		{"runnable", []string{worker, cache, main, gc, loop}},
		{"blocked", []string{worker, gc, cache, loop, main}},
		{"name", []string{cache, main, gc, loop, worker}},
	} {
		v := view()
		v.Sort = tt.by
		if tt.by == "running" {
			tt.want = []string{worker, main, gc, cache, loop}
		}
		opt := text.Options{Width: 120}
		if got := groupsOf(top(t, v, opt)); strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("by %q: %q, want %q", tt.by, got, tt.want)
		}
	}
}

// Rows that do not fit can be scrolled to, and the last screen stays full.
func TestTopScrolls(t *testing.T) {
	v := hostileView("main.work", 40, time.Second, "")
	v.Sort, v.Height = "name", 20
	opt := text.Options{Width: 120}
	first := groupsOf(top(t, v, opt))
	v.Skip = 5
	if got := groupsOf(top(t, v, opt)); got[0] != first[5] || !strings.Contains(top(t, v, opt), "groups 6–") {
		t.Errorf("5 further: %q", got)
	}
	last := 0
	keys := top(t, v, opt)[strings.Index(top(t, v, opt), "groups 6–"):]
	// The last line of first lists the keys.
	if _, err := fmt.Sscanf(keys, "groups 6–%d of 40", &last); err != nil || last != 5+len(first)-1 {
		t.Errorf("%d groups from the sixth to the %dth (%v)", len(first)-1, last, err)
	}
	v.Skip = 4000
	if got := groupsOf(top(t, v, opt)); len(got) != len(first) || !strings.Contains(top(t, v, opt), "–40 of 40") {
		t.Errorf("at the end: %q", got)
	}
}

// Trends compare shares of the wall time, so graphs of different lengths are comparable.
func TestTopTrend(t *testing.T) {
	const s = time.Second
	box := func(name string, share time.Duration) bottle.Box {
		return bottle.Box{Group: name, Kind: bottle.Application, Share: share, Running: share, Parallelism: 1}
	}
	v := &chart.Screen{
		Before: &bottle.Graph{Wall: 10 * s, Procs: 4, Boxes: []bottle.Box{box("same", 5*s), box("more", s), box("less", 4*s)}},
		Graph:  &bottle.Graph{Wall: 2 * s, Procs: 4, Boxes: []bottle.Box{box("same", s), box("more", s/2), box("less", s/10), box("born", s/10)}, Idle: 3 * s / 10},
	}
	frame := top(t, v, text.Options{Width: 120})
	plain := strings.Join(strings.Fields(frame), " ")
	for _, want := range []string{"same 50.0% 1.00 ", "more 25.0% +15.0% 1.00 ", "less 5.0% -35.0% 1.00 ", "born 5.0% +5.0% 1.00 "} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
}

func TestTopWithoutWriter(t *testing.T) {
	if err := text.WriteTop(failingWriter{io.ErrClosedPipe}, view(), text.Options{}); err == nil {
		t.Error("no error of the writer")
	}
	if err := text.WriteTop(&bytes.Buffer{}, nil, text.Options{}); err == nil {
		t.Error("no error without a view")
	}
}

func FuzzTop(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("main.work", 3, int64(time.Second), "gone", 80, 24, 2)
	f.Fuzz(func(t *testing.T, name string, groups int, wall int64, problem string, width, height, skip int) {
		// More frames take longer and do not differ.
		v := hostileView(name, max(0, min(groups, 40)), time.Duration(wall), problem)
		v.Skip, v.Height = skip, min(height, 1000)
		opt := text.Options{Width: width, Color: skip%2 == 0}
		opt.Width = max(0, min(opt.Width, 240))
		if opt.Width == 0 {
			opt.Width = 100
		}
		checkFrame(t, top(t, v, opt), v.Height, opt)
	})
}

func BenchmarkWriteTop(b *testing.B) {
	v := hostileView("main.work", 300, time.Second, "")
	v.Height = 50
	opt := text.Options{Width: 120, Color: true}
	for b.Loop() {
		text.WriteTop(&bytes.Buffer{}, v, opt)
	}
}

// isPlain reports whether columnsOf supports all letters of a text.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r > 0x2fff && r < 0x4e00 || r > 0x9fff || r >= 0x300 && r < 0x2000
	})
}
