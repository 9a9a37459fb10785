package text_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// sorting is a program on 4 processors that sorts in parallel (3 s at 4) after reading alone (1.5
// s), with a collector in parallel, and idle for 0.5 s.
func sorting() *bottle.Graph {
	const s = time.Second
	g := &bottle.Graph{
		Wall: 5500 * time.Millisecond, Idle: 500 * time.Millisecond, Procs: 4, GoVersion: "go1.26", GroupBy: "function",
		Boxes: []bottle.Box{
			{Group: "example.com/sorter.(*Pool).worker", Kind: bottle.Application, Goroutines: 1600, Share: 3 * s, Running: 12 * s, Parallelism: 4, SelfParallelism: 3.9,
				Runnable: 4 * s, Waiting: map[string]time.Duration{"chan-receive": 20 * s, "mutex": 2 * s, "sleep": s}},
			{Group: "runtime.gcBgMarkWorker", Kind: bottle.GC, Goroutines: 4, Share: s / 2, Running: s, Parallelism: 2, SelfParallelism: math.NaN(),
				Waiting: map[string]time.Duration{"gc": 20 * s}},
			{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: 3 * s / 2, Running: 3 * s / 2, Parallelism: 1, SelfParallelism: 1,
				Waiting: map[string]time.Duration{"wait-group": 4 * s}},
			{Group: "os/signal.loop", Kind: bottle.Application, Goroutines: 1, SelfParallelism: math.NaN(), Waiting: map[string]time.Duration{"syscall": 5 * s}},
		},
		Warnings: []string{"The trace ends early: the last 120 ms are missing."},
	}
	g.SetProcs(4)
	return g
}

// phases is the same program in windows: read alone, sort, idle.
func phases() *bottle.Graph {
	g := sorting()
	g.Warnings = nil
	box := func(i int, share, running time.Duration) bottle.Box {
		b := g.Boxes[i]
		b.Share, b.Running, b.Parallelism = share, running, float64(running)/float64(share)
		return b
	}
	const s = time.Second
	g.Windows = []*bottle.Graph{
		{Start: 0, Wall: 2 * s, Procs: 4, Boxes: []bottle.Box{box(1, s/2, s), box(2, 3*s/2, 3*s/2)}},
		{Start: 2 * s, Wall: 2 * s, Procs: 4, Boxes: []bottle.Box{box(0, 2*s, 8*s)}},
		{Start: 4 * s, Wall: 3 * s / 2, Procs: 4, Idle: s / 2, Boxes: []bottle.Box{box(0, s, 4*s)}},
	}
	g.SetProcs(4)
	return g
}

func ExampleWrite() {
	if err := text.Write(os.Stdout, sorting(), text.Options{Width: 96}); err != nil {
		panic(err)
	}
	// Output:
	// Bottle graph by function: 5.5 s, GOMAXPROCS 4, mean parallelism 2.64
	//
	//                         │
	//                         │ ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ idle                    500 ms   9%
	//                   ▗▃▃▃▃▃▃▃▃▃▃▃▖
	//                   ▐███████████▌
	//                   ▐███████████▌ ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ main.main                1.5 s  27%
	//                   ▐███████████▌
	//                   ▐███████████▌
	//             ▗▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▖
	//             ▐███████████████████████▌ ┄┄┄┄┄┄┄┄┄┄┄┄┄ runtime.gcBgMarkWorker  500 ms   9%
	// ▐▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▌
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌   sorter.(*Pool).worker      3 s  55%
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌
	// ▐███████████████████████████████████████████████▌
	// ┌─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┐
	// 4     3     2     1     0     1     2     3     4
	//                    parallelism
	//
	//                                                      paral-
	//   group              goroutines   share     %  lost  lelism  runnable  blocked  blocked on
	// * idle                           500 ms    9%    9%
	// * main.main                   1   1.5 s   27%   20%    1.00       0 s      4 s  wait-group 100%
	//   runtime.gcB…orker (gc)      4  500 ms    9%    5%    2.00       0 s     20 s  gc 100%
	//   sorter.(*Pool).worker   1,600     3 s   55%    0%    4.00       4 s     23 s  chan-receive 87%
	//   all                     1,605   5.5 s  100%   34%    2.64       4 s     47 s  chan-receive 43%
	// * lost at least 5%. lost: capacity (GOMAXPROCS × time) not used while the group ran.
	//   parallelism: goroutines running while the group ran (mean).
	// Not shown: 1 group that never ran, signal.loop.
	//
	// Warning: The trace ends early: the last 120 ms are missing.
}

// With more room, the table has two more columns than that of the example.
func TestWriteWide(t *testing.T) {
	const want = `Bottle graph by function: 5.5 s, GOMAXPROCS 4, mean parallelism 2.64

                            │
                            │ ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ idle                    500 ms   9%
                     ▗▃▃▃▃▃▃▃▃▃▃▃▃▃▖
                     ▐█████████████▌
                     ▐█████████████▌ ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ main.main                1.5 s  27%
                     ▐█████████████▌
                     ▐█████████████▌
              ▗▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▖
              ▐███████████████████████████▌ ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ runtime.gcBgMarkWorker  500 ms   9%
▐▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▌
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌   sorter.(*Pool).worker      3 s  55%
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌
▐███████████████████████████████████████████████████████▌
┌──────┬──────┬──────┬──────┬──────┬──────┬──────┬──────┐
4      3      2      1      0      1      2      3      4
                       parallelism

                                                     parallelism
  group               goroutines   share     %  lost   all  self  running  runnable  blocked  blocked on
* idle                            500 ms    9%    9%
* main.main                    1   1.5 s   27%   20%  1.00  1.00    1.5 s       0 s      4 s  wait-group 100%
  runtime.gcB…Worker (gc)      4  500 ms    9%    5%  2.00     –      1 s       0 s     20 s  gc 100%
  sorter.(*Pool).worker    1,600     3 s   55%    0%  4.00  3.90     12 s       4 s     23 s  chan-receive 87%
  all                      1,605   5.5 s  100%   34%  2.64         14.5 s       4 s     47 s  chan-receive 43%
* lost at least 5%. lost: capacity (GOMAXPROCS × time) not used while the group ran. all: goroutines running
  while the group ran (mean); self: its own.
Not shown: 1 group that never ran, signal.loop.

Warning: The trace ends early: the last 120 ms are missing.
`
	if got := write(t, sorting(), text.Options{Width: 110}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableCSV(t *testing.T) {
	var b strings.Builder
	if err := text.TableCSV(&b, phases().Table()); err != nil {
		t.Fatal(err)
	}
	const want = `window,start_ns,wall_ns,group,kind,goroutines,share_ns,running_ns,lost_ns,parallelism,self_parallelism,runnable_ns,blocked_ns,starts,gc-work,gc-time,gc-width,gc-assists,gc-cycles,gc-pauses,waiting_chan-receive_ns,waiting_gc_ns,waiting_mutex_ns,waiting_sleep_ns,waiting_wait-group_ns
0,0,2000000000,runtime.gcBgMarkWorker,gc,4,500000000,1000000000,1000000000,2,,0,20000000000,,,,,,,,0,20000000000,0,0,0
0,0,2000000000,main.main,application,1,1500000000,1500000000,4500000000,1,1,0,4000000000,,,,,,,,0,0,0,0,4000000000
1,2000000000,2000000000,example.com/sorter.(*Pool).worker,application,1600,2000000000,8000000000,0,4,3.9,4000000000,23000000000,,0,0,0,0,0,0,20000000000,0,2000000000,1000000000,0
2,4000000000,1500000000,example.com/sorter.(*Pool).worker,application,1600,1000000000,4000000000,0,4,3.9,4000000000,23000000000,,0,0,0,0,0,0,20000000000,0,2000000000,1000000000,0
2,4000000000,1500000000,[idle],idle,0,500000000,0,2000000000,0,,0,0,,0,0,0,0,0,0,0,0,0,0,0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func write(t testing.TB, g *bottle.Graph, opt text.Options) string {
	t.Helper()
	var buf bytes.Buffer
	if err := text.Write(&buf, g, opt); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// The sentences of the verdict are above the graph, complete, with their places. Without a verdict
// there are none.
func TestVerdictStandsAboveTheGraph(t *testing.T) {
	g := sorting()
	bare := write(t, g, text.Options{Width: 80})
	g.Verdict = &verdict.Verdict{Findings: []verdict.Finding{
		{Title: "While main.main ran alone, the other processors had nothing to do: 20% of the capacity.", Where: []timeline.Place{{Func: "main.main", File: "/src/sorter/main.go", Line: 12}}},
		{Title: "The collector took 5% of the capacity."},
	}}
	got := write(t, g, text.Options{Width: 80})
	want := `Bottle graph by function: 5.5 s, GOMAXPROCS 4, mean parallelism 2.64
1. While main.main ran alone, the other processors had nothing to do: 20% of the
   capacity.
   where main.main main.go:12
2. The collector took 5% of the capacity.
`
	head, rest, _ := strings.Cut(bare, "\n")
	if got != want+rest || !strings.HasPrefix(want, head+"\n") {
		t.Errorf("with a verdict\n%s\nwithout\n%s", got, bare)
	}
}

func TestOffered(t *testing.T) {
	g := phases()
	g.Offered = true
	out := write(t, g, text.Options{Width: 120})
	for _, want := range []string{
		"mean offered parallelism (running + runnable) 2.64\n",
		"  offered parallelism (running + runnable)\n", // caption of the axis
		"all: goroutines running or",
		"start  offered parallelism  lost", // the windows
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestWindows(t *testing.T) {
	out := write(t, phases(), text.Options{Width: 80})
	want := `
3 windows of 2 s
start  parallelism  lost  mostly
  0 s         1.25   69%  main.main
  2 s         4.00    0%
  4 s         2.67   33%  idle
`
	if !strings.HasSuffix(out, want) {
		t.Errorf("want it to end in\n%s\ngot\n%s", want, out)
	}

	// Many windows share lines, and short ones need decimals.
	g := phases()
	windows := g.Windows
	g.Windows = nil
	for i := range 100 {
		w := *windows[i%2]
		w.Start = time.Duration(i) * 20 * time.Millisecond
		g.Windows = append(g.Windows, &w)
	}
	out = write(t, g, text.Options{Width: 80})
	want = `
100 windows of 2 s, 3 a line
 start  parallelism  lost  mostly
0.00 s         2.17   46%  main.main
0.06 s         3.08   23%  main.main
`
	if !strings.Contains(out, want) {
		t.Errorf("want in it\n%s\ngot\n%s", want, out)
	}
	if n := strings.Count(out[strings.Index(out, "100 windows"):], "\n"); n > 42 {
		t.Errorf("100 windows take %d lines", n)
	}
}

func TestManyGroups(t *testing.T) {
	g := &bottle.Graph{Procs: 8}
	for i := range 300 {
		share := time.Duration(i+1) * time.Millisecond
		g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprintf("main.worker%d", i), Kind: bottle.Application, Goroutines: 1, Share: share, Running: 3 * share, Parallelism: 3, SelfParallelism: 1})
		g.Wall += share
	}
	for _, c := range []struct {
		top    int
		others string
		lines  int
	}{
		{0, "285 others", 60},
		{3, "297 others", 40},
		{-1, "", 700},
	} {
		out := write(t, g, text.Options{Top: c.top})
		if c.others != "" && strings.Count(out, c.others) != 2 { // in the bottle and in the table
			t.Errorf("Top %d: want %q twice in\n%s", c.top, c.others, out)
		}
		if c.others == "" && strings.Contains(out, " others ") {
			t.Errorf("Top %d: others in\n%s", c.top, out)
		}
		if n := strings.Count(out, "\n"); n > c.lines {
			t.Errorf("Top %d: %d lines, want at most %d", c.top, n, c.lines)
		}
	}
}

// Groups that ran for less than half a percent of the time share a line, unless all are requested.
func TestSliversShareALine(t *testing.T) {
	g := sorting()
	g.Warnings = nil
	for i := range 12 {
		g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprintf("runtime.sliver%d", i), Kind: bottle.Runtime, Share: time.Millisecond, Running: time.Millisecond, Parallelism: 1})
		g.Boxes[0].Share -= time.Millisecond
	}
	if out := write(t, g, text.Options{}); !strings.Contains(out, "12 others (runtime)") || strings.Contains(out, "sliver") {
		t.Errorf("want 12 others in\n%s", out)
	}
	if out := write(t, g, text.Options{Width: 120, Top: -1}); strings.Count(out, "runtime.sliver") != 24 {
		t.Errorf("want 12 slivers twice in\n%s", out)
	}
}

// The heights of boxes are exact to an eighth of a line. With 16 lines for the wall time, a box of
// 25 % has 4 lines minus the eighth that separates it from the next one, and a box of 10 % has 1.6
// lines.
func TestHeights(t *testing.T) {
	g := &bottle.Graph{Wall: 1000, Procs: 2, Boxes: []bottle.Box{
		{Group: "a", Share: 250, Running: 500, Parallelism: 2},
		{Group: "b", Share: 100, Running: 200, Parallelism: 2},
		{Group: "c", Share: 649, Running: 649, Parallelism: 1},
		{Group: "d", Share: 1, Running: 1, Parallelism: 1},
	}}
	out := write(t, g, text.Options{})
	var eighths []int // of each box from the top
	for _, line := range strings.Split(out[:strings.Index(out, "┌")], "\n")[2:] {
		level := 0
		for _, r := range line {
			if r >= '▁' && r <= '█' {
				level = int(r-'▁') + 1
			}
		}
		if level > 0 && level < 8 { // the upper line of a box
			eighths = append(eighths, 0)
		}
		if level > 0 {
			eighths[len(eighths)-1] += level
		}
	}
	// d is too small to be visible and gets one eighth.
	if got, want := fmt.Sprint(eighths), "[1 83 13 31]"; got != want {
		t.Errorf("eighths: got %s, want %s in\n%s", got, want, out)
	}
}

var escape = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// columnsOf counts columns as terminals do, for the letters of the tests.
func columnsOf(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Hangul) || r >= 0xff01 && r <= 0xff60:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Names of any length and width keep the numbers aligned and the lines within the width.
func TestAlignment(t *testing.T) {
	for _, name := range []string{"", "x", strings.Repeat("main.long", 45), "解析器.解析する", strings.Repeat("解析", 200), "e\u0301" + strings.Repeat("\u0301", 300), "＝ｆｕｌｌ", "한국어.함수"} {
		for _, opt := range []text.Options{{}, {Width: 48}, {Width: 77}, {Width: 120, Color: true}, {Width: 240}, {Width: 60, Color: true}} {
			g := phases()
			g.Boxes[1].Group = name
			g.Windows[0].Boxes[0].Group = name
			out := escape.ReplaceAllString(write(t, g, opt), "")
			limit := max(48, opt.Width)
			if opt.Width == 0 {
				limit = 100
			}
			end := 0
			table := false
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if n := columnsOf(line); n > limit {
					t.Errorf("%.20q, %+v: a line of %d columns: %s", name, opt, n, line)
				}
				if strings.Contains(line, "group ") && strings.Contains(line, "share") {
					end, table = strings.Index(line, "share")+len("share"), true
				} else if strings.Contains(line, "lost at least 5%") || strings.Contains(line, "lost: capacity") {
					table = false
				} else if i := strings.Index(line, "% "); table && i > 0 {
					// The share's unit ends where its heading does, whatever
					// comes before.
					before := line[:strings.LastIndex(line[:i], "s ")+1]
					if n := columnsOf(before); n != end {
						t.Errorf("%.20q, %+v: the share ends in column %d, its heading in %d: %s", name, opt, n, end, line)
					}
				}
			}
		}
	}
}

func TestColor(t *testing.T) {
	g := sorting()
	plain := write(t, g, text.Options{})
	if strings.Contains(plain, "\x1b") {
		t.Error("an escape sequence without Color")
	}
	out := write(t, g, text.Options{Color: true})
	for what, want := range map[string]string{
		"the widest box is blue":    "\x1b[38;5;32m▐██",
		"the neck's box is warm":    "\x1b[38;5;202m▐██",
		"the collector's is purple": "\x1b[38;5;175m▐██",
		"the neck's name is bold":   "\x1b[1mmain.main",
		"the table has the colors":  "\x1b[38;5;202m■\x1b[0m * \x1b[1mmain.main",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: want %q", what, want)
		}
	}
	for line := range strings.Lines(out) {
		if n := len(escape.FindAllString(line, -1)); n%2 != 0 {
			t.Errorf("a line that does not end what it paints: %q", line)
		}
	}
}

// Unusual graphs are written without a panic or an endless axis.
func TestOddGraphs(t *testing.T) {
	for name, g := range map[string]*bottle.Graph{
		"empty":            {},
		"idle only":        {Wall: 5, Idle: 5, Procs: 4},
		"no wall time":     {Boxes: []bottle.Box{{Group: "a", Share: 5, Running: 5, Parallelism: 1}}},
		"a name of 3 MB":   {Wall: 5, GroupBy: strings.Repeat("é", 1<<20), Boxes: []bottle.Box{{Group: strings.Repeat("x", 3<<20), Share: 5, Running: 5, Parallelism: 1}}},
		"wide beyond hope": {Wall: 5, Procs: math.MaxInt, Boxes: []bottle.Box{{Group: "a", Share: 5, Running: math.MaxInt64, Parallelism: math.MaxFloat64}}},
		"not a number":     {Wall: 5, Boxes: []bottle.Box{{Group: "a", Share: 5, Running: 5, Parallelism: math.NaN(), SelfParallelism: math.Inf(1)}}},
		"too tall":         {Wall: 5, Boxes: []bottle.Box{{Group: "a", Share: 1 << 60, Running: 5, Parallelism: 1}}},
		"nil windows":      {Wall: 5, Idle: 5, Windows: []*bottle.Graph{nil}},
		"empty windows":    {Wall: 5, Idle: 5, Windows: []*bottle.Graph{{}, {}}},
	} {
		for _, opt := range []text.Options{{}, {Width: 1}, {Color: true, Width: 1 << 30}} {
			if out := write(t, g, opt); strings.Count(out, "\n") > 60 {
				t.Errorf("%s: %d lines", name, strings.Count(out, "\n"))
			}
		}
		if err := text.TableCSV(io.Discard, g.Table()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := text.Write(io.Discard, nil, text.Options{}); err == nil {
		t.Error("want an error for no graph")
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestErrorsOfTheWriter(t *testing.T) {
	if err := text.Write(brokenPipe{}, sorting(), text.Options{}); !errors.Is(err, errPipe) {
		t.Errorf("Write: %v", err)
	}
	if err := text.TableCSV(brokenPipe{}, sorting().Table()); !errors.Is(err, errPipe) {
		t.Errorf("CSV: %v", err)
	}
}

func TestCSVIsHarmless(t *testing.T) {
	for name, want := range map[string]string{
		`main.main`:              `main.main`,
		`=cmd|' /C calc'!A0`:     `'=cmd|' /C calc'!A0`,
		`+1`:                     `'+1`,
		`-1`:                     `'-1`,
		`@SUM(A1)`:               `'@SUM(A1)`,
		` =1`:                    `' =1`,
		"\t=1":                   `' =1`,
		`＝1`:                     `'＝1`,
		"a\x1b[2Jb":              "a\uFFFD[2Jb",
		"two\nlines, \"quoted\"": `"two lines, ""quoted"""`,
	} {
		g := &bottle.Graph{Wall: 5, Boxes: []bottle.Box{{Group: name, Share: 5, Running: 5, Parallelism: 1}}}
		var buf bytes.Buffer
		if err := text.TableCSV(&buf, g.Table()); err != nil {
			t.Fatal(err)
		}
		if _, row, _ := strings.Cut(buf.String(), "\n"); !strings.HasPrefix(row, ",0,5,"+want+",") {
			t.Errorf("%q: got row %s", name, row)
		}
	}
}

// FuzzWrite: names from a traced program never control the terminal, and no line is wider than
// requested.
func FuzzWrite(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("main.main", "mutex", "A warning.", 100, true)
	f.Add("\x1b]0;title\x07\x1b[2J", "\x9b31m", "\u202eabc\r\n", 48, true)
	f.Add("解析器.(*解析)", "e\u0301\u0301\u0301\u0301\u0301", strings.Repeat("x", 500), 60, false)
	f.Add("👩‍👩‍👧 family\u00ad", "\ufeff", "\xff\xfe", 80, false)
	f.Fuzz(func(t *testing.T, name, reason, warning string, width int, color bool) {
		g := phases()
		g.GroupBy, g.Warnings = reason, []string{warning}
		g.Boxes[0].Group, g.Boxes[2].Group = name, reason+name
		g.Boxes[2].Waiting = map[string]time.Duration{reason: 5, name: 7}
		g.Boxes[1].Kind = timeline.Kind(len(warning))
		g.Windows[0].Boxes[1].Group = name
		out := write(t, g, text.Options{Width: width, Color: color})
		if color {
			out = escape.ReplaceAllString(out, "")
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			for _, r := range line {
				if r != ' ' && !unicode.IsPrint(r) && r != utf8.RuneError {
					t.Fatalf("%q in %q", r, line)
				}
			}
			// A letter has up to 3 marks.
			if limit := min(240, max(48, width)); width != 0 && utf8.RuneCountInString(line) > limit*(1+3) {
				t.Fatalf("%d characters in %d columns: %q", utf8.RuneCountInString(line), limit, line)
			}
		}
		var buf bytes.Buffer
		if err := text.TableCSV(&buf, g.Table()); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(buf.String(), func(r rune) bool { return r != '\n' && r != ' ' && r != utf8.RuneError && !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("CSV: %q", buf.String()[i:])
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{12, 300} {
		b.Run(fmt.Sprintf("boxes=%d", n), func(b *testing.B) {
			g := &bottle.Graph{GroupBy: "function", Procs: 4}
			for i := range n {
				g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprintf("example.com/pkg.(*Type).method%d", i), Kind: bottle.Application,
					Goroutines: 4, Share: 1000, Running: 2000, Parallelism: 2, SelfParallelism: 1, Waiting: map[string]time.Duration{"mutex": 10}})
			}
			g.Wall = time.Duration(n) * 1000
			for b.Loop() {
				if err := text.Write(io.Discard, g, text.Options{Color: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A graph by kind says what the collector did in all; other graphs do not.
func TestGraphByKindHasTheCollector(t *testing.T) {
	g := sorting()
	c := &g.Collector
	c.Work, c.Time, c.Share, c.Assists, c.Paused = 3*time.Second, 2*time.Second, time.Second, time.Second, 5*time.Millisecond
	c.Cycles, c.Pauses = 12, 24
	const want = "The garbage collector ran 12 times: 3 s of work in 2 s, on 1.50 processors on\n  average; assists 1 s, 24 pauses 5 ms.\n"
	for by, has := range map[string]bool{"function": false, "kind": true} {
		g.GroupBy = by
		var b strings.Builder
		if err := text.Write(&b, g, text.Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), want) != has {
			t.Errorf("by %s: want the collector: %v\n%s", by, has, b.String())
		}
	}
	if s := new(bottle.Graph).Collector.String(); s != "" {
		t.Errorf("without work: %q", s)
	}
}
