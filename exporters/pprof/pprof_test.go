package pprof_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func box(group string, kind timeline.Kind, share, running time.Duration) bottle.Box {
	return bottle.Box{
		Group: group, Kind: kind, Goroutines: 1, Share: share, Running: running,
		Parallelism: float64(running) / float64(max(1, share)), SelfParallelism: math.NaN(),
	}
}

// sorting is a program with 4 processors that sorts in parallel (3 s at 4) after
// reading alone (1.5 s), with a collector beside it, and idle for 0.5 s.
func sorting() *bottle.Graph {
	return &bottle.Graph{
		Start: time.Second, Wall: 5500 * time.Millisecond, Idle: 500 * time.Millisecond, Procs: 4, GoVersion: "go1.26", GroupBy: "function",
		Boxes: []bottle.Box{
			box("example.com/sorter.(*Pool).worker", bottle.Application, 3*time.Second, 12*time.Second),
			box("runtime.gcBgMarkWorker", bottle.GC, 500*time.Millisecond, time.Second),
			box("main.main", bottle.Application, 1500*time.Millisecond, 1500*time.Millisecond),
			box("main.never", bottle.Application, 0, 0),
		},
		Warnings: []string{"The trace ends early."},
	}
}

func ExampleProfile() {
	p, err := pprof.Profile(sorting(), pprof.Options{})
	if err != nil {
		panic(err)
	}
	for _, s := range p.Sample {
		fmt.Println(time.Duration(s.Value[0]), time.Duration(s.Value[1]), s.Location[0].Line[0].Function.Name)
	}
	// Output:
	// 3s 12s [group] example.com/sorter.(*Pool).worker
	// 500ms 1s [group] runtime.gcBgMarkWorker
	// 1.5s 1.5s [group] main.main
	// 500ms 0s [idle]
}

// render formats a profile in words: one sample a line, root first.
func render(p *profile.Profile) string {
	var s strings.Builder
	for _, smp := range p.Sample {
		for i := len(smp.Location) - 1; i >= 0; i-- {
			loc := smp.Location[i]
			fn := loc.Line[0].Function
			fmt.Fprintf(&s, "%s", fn.Name)
			if loc.Mapping == nil {
				fmt.Fprintf(&s, " (%s)", fn.Filename)
			}
			if i > 0 {
				s.WriteString(" > ")
			}
		}
		fmt.Fprintf(&s, " %v %v", smp.Label["group"], smp.Label["kind"])
		if start, ok := smp.NumLabel["window_start"]; ok {
			fmt.Fprintf(&s, " at %v", time.Duration(start[0]))
		}
		fmt.Fprintf(&s, ": %v, %v\n", time.Duration(smp.Value[0]), time.Duration(smp.Value[1]))
	}
	return s.String()
}

func TestStacksAndLabels(t *testing.T) {
	byCreator := sorting()
	byCreator.GroupBy = "creator"
	byGoroutine := sorting()
	byGoroutine.GroupBy = "goroutine"
	byGoroutine.Boxes[0].Group = "worker 17"
	windows := sorting()
	windows.Windows = []*bottle.Graph{
		{Start: time.Second, Wall: time.Second, Boxes: []bottle.Box{box("main.main", bottle.Application, time.Second, time.Second)}},
		{Start: 2 * time.Second, Wall: time.Second, Idle: time.Second},
	}
	for _, c := range []struct {
		name string
		g    *bottle.Graph
		want string
	}{
		{"boxes are the roots", sorting(), `
[group] example.com/sorter.(*Pool).worker (group) [example.com/sorter.(*Pool).worker] [application]: 3s, 12s
[group] runtime.gcBgMarkWorker (group) [runtime.gcBgMarkWorker] [gc]: 500ms, 1s
[group] main.main (group) [main.main] [application]: 1.5s, 1.5s
[idle] (idle) [[idle]] [idle]: 500ms, 0s
`},
		{"what was folded is no code", sorting().Top(1), `
[group] example.com/sorter.(*Pool).worker (group) [example.com/sorter.(*Pool).worker] [application]: 3s, 12s
[group] runtime.gcBgMarkWorker (group) [runtime.gcBgMarkWorker] [gc]: 500ms, 1s
[group] 2 others (group) [2 others] [application]: 1.5s, 1.5s
[idle] (idle) [[idle]] [idle]: 500ms, 0s
`},
		{"so with other groupings", byCreator, `
[group] example.com/sorter.(*Pool).worker (group) [example.com/sorter.(*Pool).worker] [application]: 3s, 12s
[group] runtime.gcBgMarkWorker (group) [runtime.gcBgMarkWorker] [gc]: 500ms, 1s
[group] main.main (group) [main.main] [application]: 1.5s, 1.5s
[idle] (idle) [[idle]] [idle]: 500ms, 0s
`},
		{"goroutines get no label of their own", byGoroutine, `
[group] worker 17 (group) [] [application]: 3s, 12s
[group] runtime.gcBgMarkWorker (group) [] [gc]: 500ms, 1s
[group] main.main (group) [] [application]: 1.5s, 1.5s
[idle] (idle) [[idle]] [idle]: 500ms, 0s
`},
		{"windows are samples of their own, instead of the whole", windows, `
[group] main.main (group) [main.main] [application] at 1s: 1s, 1s
[idle] (idle) [[idle]] [idle] at 2s: 1s, 0s
`},
		{"an empty graph still has a sample", &bottle.Graph{}, `
[idle] (idle) [[idle]] [idle]: 0s, 0s
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := pprof.Profile(c.g, pprof.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := "\n" + render(p); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	began := time.Date(2026, 9, 8, 12, 0, 0, 5, time.UTC)
	p, err := pprof.Profile(sorting(), pprof.Options{Time: began, File: "/bin/sorter", BuildID: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	offered := sorting()
	offered.Offered = true
	o, err := pprof.Profile(offered, pprof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want any }{
		{"sample types", strings.Join([]string{p.SampleType[0].Type, p.SampleType[0].Unit, p.SampleType[1].Type, p.SampleType[1].Unit}, " "), "share nanoseconds running nanoseconds"},
		{"default sample type", p.DefaultSampleType, "share"},
		{"sample types when offered", o.SampleType[0].Type + " " + o.SampleType[1].Type + " " + o.DefaultSampleType, "offered_share offered_running offered_share"},
		{"period type", p.PeriodType.Type + "/" + p.PeriodType.Unit, "wall/nanoseconds"},
		{"period", p.Period, int64(1)},
		{"duration", time.Duration(p.DurationNanos), 5500 * time.Millisecond},
		{"time", p.TimeNanos, began.UnixNano()},
		{"time when not known", o.TimeNanos, int64(0)},
		{"mapping", fmt.Sprint(p.Mapping[0].ID, p.Mapping[0].File, p.Mapping[0].BuildID, p.Mapping[0].HasFunctions), "1/bin/sorterabctrue"},
		{"comments", strings.Join(p.Comments, "|"), "bottle graph by function, go1.26, GOMAXPROCS 4|The trace ends early."},
		{"comments when offered", o.Comments[0], "bottle graph by function: offered parallelism (running + runnable), go1.26, GOMAXPROCS 4"},
	} {
		if c.want == "1/bin/sorterabctrue" {
			c.got = strings.ReplaceAll(fmt.Sprint(c.got), " ", "")
		}
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) || p.Location[i].ID != uint64(i+1) {
			t.Errorf("function %d has id %d and its location %d", i, f.ID, p.Location[i].ID)
		}
	}
}

// A graph of any size becomes a profile that databases accept, with the same sums.
func TestLimits(t *testing.T) {
	graph := func(boxes int, start time.Duration, name string) *bottle.Graph {
		g := &bottle.Graph{Start: start, Idle: 7, GroupBy: "user-region"}
		kinds := []timeline.Kind{bottle.Application, bottle.Application, bottle.GC, bottle.Runtime, bottle.Tracer}
		for i := range boxes {
			g.Boxes = append(g.Boxes, box(fmt.Sprintf("%s%d", name, i), kinds[i%len(kinds)], 1000, 2000))
		}
		g.Wall = g.Idle + time.Duration(boxes)*1000
		return g
	}
	with := func(windows, boxes int, name string) *bottle.Graph {
		g := graph(boxes, 0, name)
		g.Wall, g.Idle = g.Wall*time.Duration(windows), g.Idle*time.Duration(windows)
		for i := range g.Boxes {
			g.Boxes[i].Share *= time.Duration(windows)
			g.Boxes[i].Running *= time.Duration(windows)
		}
		for i := range windows {
			g.Windows = append(g.Windows, graph(boxes, time.Duration(i)*g.Wall/time.Duration(windows), name))
		}
		return g
	}
	type limit struct {
		name string
		g    *bottle.Graph
		note string
	}
	for _, c := range testenv.Some([]limit{
		{"15,998 boxes fit", graph(15_998, 0, "b"), ""},
		{"20,000 boxes", graph(20_000, 0, "b"), "only the 15000 boxes with the largest shares are kept"},
		{"3,000 boxes with names of 10 kB", graph(3_000, 0, strings.Repeat("long", 2500)), "only the 1687 boxes"},
		{"1,000 windows of 30 boxes", with(1000, 30, "b"), "only the 9 boxes with the largest shares of each window are kept"},
		{"9,000 windows of 3 boxes", with(9000, 3, "b"), "9000 windows are too many for one profile; this is the whole"},
	}) {
		t.Run(c.name, func(t *testing.T) {
			p, err := pprof.Profile(c.g, pprof.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(p.Comments[1:], "|"); notes != "" && c.note == "" || !strings.Contains(notes, c.note) {
				t.Errorf("comments: got %q, want %q", notes, c.note)
			}
			var buf bytes.Buffer
			if err := p.WriteUncompressed(&buf); err != nil {
				t.Fatal(err)
			}
			if len(p.Sample) >= 16_000 || buf.Len() >= 4<<20 {
				t.Errorf("%d samples, %d bytes", len(p.Sample), buf.Len())
			}
			var share, running int64
			for _, s := range p.Sample {
				share += s.Value[0]
				running += s.Value[1]
			}
			if share != int64(c.g.Wall) || running != 2*int64(c.g.Wall-c.g.Idle) {
				t.Errorf("shares sum to %d and running to %d; the wall time is %d, idle %d", share, running, c.g.Wall, c.g.Idle)
			}
		})
	}
}

// goTool runs go tool pprof on a profile of g and returns what it printed.
func goTool(t *testing.T, g *bottle.Graph, args ...string) string {
	t.Helper()
	return goToolOn(t, written(pprof.Profile(g, pprof.Options{})), args...)
}

// pprofTool returns the program that go tool pprof runs.
var pprofTool = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(out)), err
})

// written returns a function that writes a profile, or returns the error of making it.
func written(p *profile.Profile, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		if err != nil {
			return err
		}
		return p.Write(w)
	}
}

// goToolOn runs go tool pprof on the output of write.
func goToolOn(t *testing.T, write func(io.Writer) error, args ...string) string {
	t.Helper()
	testenv.Program(t, "go")
	tool, err := pprofTool()
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "profile.pb.gz")
	if err := os.WriteFile(file, buf.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, append(slices.Clip(args), file)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The distribution's own pprof prints the numbers of the graph.
func TestGoToolPprof(t *testing.T) {
	windows := sorting()
	windows.Windows = []*bottle.Graph{
		{Start: 0, Wall: 4 * time.Second, Boxes: []bottle.Box{box("main.main", bottle.Application, 4*time.Second, 6*time.Second)}},
		{Start: 4 * time.Second, Wall: 1500 * time.Millisecond, Idle: 1500 * time.Millisecond},
	}
	for _, c := range []struct {
		name string
		g    *bottle.Graph
		args []string
		want []string
	}{
		{"the shares are 100% of the wall time", sorting(), []string{"-top", "-unit=ms"}, []string{
			"Type: share\n",
			"Duration: 5.50s, Total samples = 5500ms (  100%)\n",
			"3000ms 54.55% 54.55%     3000ms 54.55%  [group] example.com/sorter.(*Pool).worker\n",
			"1500ms 27.27% 81.82%     1500ms 27.27%  [group] main.main\n",
			" 500ms  9.09%   100%      500ms  9.09%  [idle]\n",
			" 500ms  9.09% 90.91%      500ms  9.09%  [group] runtime.gcBgMarkWorker\n",
		}},
		{"running is the mean parallelism, 14.5 s in 5.5 s", sorting(), []string{"-top", "-unit=ms", "-sample_index=running"}, []string{
			"Type: running\n",
			"Duration: 5.50s, Total samples = 14500ms (263.64%)\n",
			"12000ms 82.76% 82.76%    12000ms 82.76%  [group] example.com/sorter.(*Pool).worker\n",
		}},
		{"traces show stacks and labels", sorting(), []string{"-traces"}, []string{
			"group:  runtime.gcBgMarkWorker\n", "kind:  gc\n", "source:  none\n",
			"500ms   [group] runtime.gcBgMarkWorker\n",
		}},
		{"raw", sorting(), []string{"-raw"}, []string{
			"PeriodType: wall nanoseconds\nPeriod: 1\n", "Samples:\nshare/nanoseconds[dflt] running/nanoseconds\n",
			"3000000000 12000000000: 1", "Mappings\n1: 0x0/0x0/0x0 program  [FN][FL][LN]\n",
		}},
		{"comments", sorting(), []string{"-comments"}, []string{"bottle graph by function, go1.26, GOMAXPROCS 4\nThe trace ends early.\n"}},
		{"the focus on one window", windows, []string{"-top", "-unit=s", "-tagfocus=window_start=3s:5s"}, []string{
			"Showing nodes accounting for 1.50s, 27.27% of 5.50s total\n", "[idle]\n"}},
		{"a flame graph's first level can be the windows", windows, []string{"-traces", "-tagroot=window_start"}, []string{"4s   [group] main.main\n             0\n", "1.50s   [idle]\n             4s\n"}},
		{"an empty graph", &bottle.Graph{}, []string{"-top"}, []string{"Type: share\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := goTool(t, c.g, c.args...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("want %q in:\n%s", want, out)
				}
			}
		})
	}
}

// FuzzProfile: no name from a program breaks the profile or the terminal that shows it.
func FuzzProfile(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("main.main", "gc", "function", "A warning.")
	f.Add("\x1b[2J", "application", "goroutine", "\u202e")
	f.Add("12 others", "", "function", "\xff")
	f.Add("0", "\x14", "function", "\xff")
	f.Add("std::vector<int>(x)", "runtime", "creator", strings.Repeat("é", 3000))
	f.Fuzz(func(t *testing.T, name, kind, by, warning string) {
		g := sorting()
		g.GroupBy, g.Warnings = by, []string{warning}
		g.Boxes[0].Group, g.Boxes[1].Kind = name, timeline.Kind(len(kind))
		var buf bytes.Buffer
		if err := written(pprof.Profile(g, pprof.Options{}))(&buf); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(p.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e }); i >= 0 {
			t.Fatalf("a control character got through: %q", p.String()[i:])
		}
		var share int64
		for _, s := range p.Sample {
			share += s.Value[0]
		}
		if share != int64(g.Wall) {
			t.Fatalf("shares sum to %v, not to %v", share, g.Wall)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{12, 300} {
		b.Run(fmt.Sprintf("boxes=%d", n), func(b *testing.B) {
			g := &bottle.Graph{GroupBy: "function"}
			for i := range n {
				g.Boxes = append(g.Boxes, box(fmt.Sprintf("example.com/pkg.(*Type).method%d", i), bottle.Application, 1000, 2000))
			}
			g.Wall = time.Duration(n) * 1000
			for b.Loop() {
				if err := written(pprof.Profile(g, pprof.Options{}))(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The web interface of pprof shows "File Type" above a profile, with "unknown" for missing values.
func TestNoTitleIsUnknown(t *testing.T) {
	for title, write := range map[string]func(w io.Writer, file string) error{
		"share": func(w io.Writer, file string) error {
			return written(pprof.Profile(sorting(), pprof.Options{File: file}))(w)
		},
		"delay": func(w io.Writer, file string) error {
			return written(pprof.Contention(&contention.Profile{}, pprof.Options{File: file}))(w)
		},
		"time": func(w io.Writer, file string) error {
			return written(pprof.Tasks(&granularity.Profile{}, pprof.Options{File: file}))(w)
		},
	} {
		for file, want := range map[string]string{"": "program", "/home/somebody/shop.trace": "shop.trace"} {
			out := goToolOn(t, func(w io.Writer) error { return write(w, file) }, "-top")
			if !strings.HasPrefix(out, "File: "+want+"\n") && !strings.Contains(out, "\nFile: "+want+"\n") || !strings.Contains(out, "\nType: "+strings.Fields(title)[0]+"\n") || strings.Contains(out, "ymboliz") {
				t.Errorf("%s of %q: pprof prints %s", title, file, out)
			}
		}
	}
}
