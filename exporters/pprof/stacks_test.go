package pprof_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	rpprof "runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func callChain(functions ...string) *timeline.Stack {
	s := &timeline.Stack{}
	for i, fn := range functions {
		s.Frames = append(s.Frames, &timeline.Frame{Func: fn, File: "/src/sort.go", Line: 10 * (i + 1)})
	}
	return s
}

// sortingCode is sorting with the call chains of its boxes.
func sortingCode() *bottle.Graph {
	g := sorting()
	g.Boxes[0].Stacks = []bottle.Stack{
		{Calls: callChain("sort.less", "main.sort", "main.work"), Source: bottle.CPUSamples, Share: 2 * time.Second, Running: 9 * time.Second},
		{Calls: callChain("main.sort", "main.work"), Source: bottle.CPUSamples, Share: time.Second, Running: 2 * time.Second},
		{Source: bottle.CPUSamples, Running: time.Second},
	}
	g.Boxes[2].Stacks = []bottle.Stack{
		{Calls: callChain("os.ReadFile", "main.main"), Source: bottle.SchedulingEvents, Share: time.Second, Running: time.Second},
		{Source: bottle.NotSampled, Share: 500 * time.Millisecond, Running: 500 * time.Millisecond},
	}
	return g
}

func TestStacksOfBoxes(t *testing.T) {
	p, err := pprof.Profile(sortingCode(), pprof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(render(p)), "\n") {
		lines = append(lines, strings.ReplaceAll(line, "example.com/sorter.(*Pool).worker", "worker"))
	}
	for i, s := range p.Sample {
		lines[i] += " " + strings.Join(s.Label["source"], ",")
	}
	want := `[group] worker (group) > main.work > main.sort > sort.less [worker] [application]: 2s, 9s cpu samples
[group] worker (group) > main.work > main.sort [worker] [application]: 1s, 2s cpu samples
[group] worker (group) > [others] (others) [worker] [application]: 0s, 1s cpu samples
[group] runtime.gcBgMarkWorker (group) [runtime.gcBgMarkWorker] [gc]: 500ms, 1s none
[group] main.main (group) > main.main > os.ReadFile [main.main] [application]: 1s, 1s scheduling events
[group] main.main (group) > [not sampled] (not sampled) [main.main] [application]: 500ms, 500ms not sampled
[idle] (idle) [[idle]] [idle]: 500ms, 0s none`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c := p.Comments[1]; c != "call chains of the running time: 89% cpu samples, 7% scheduling events, 4% not sampled" {
		t.Errorf("comment: %s", c)
	}
	// main.sort is in two lines of one file: one function, two locations.
	functions := map[string]int{}
	for _, f := range p.Function {
		functions[f.Name]++
	}
	if functions["main.sort"] != 1 {
		t.Errorf("main.sort is %d functions", functions["main.sort"])
	}
	out := goTool(t, sortingCode(), "-top", "-cum", "-unit=ms")
	for _, want := range []string{
		"     0     0%     0%     3000ms 54.55%  [group] example.com/sorter.(*Pool).worker\n",
		"1000ms 18.18% 18.18%     3000ms 54.55%  main.sort\n",
		"2000ms 36.36%",
		" 500ms  9.09%   100%      500ms  9.09%  [not sampled]\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
	if out := goTool(t, sortingCode(), "-raw"); !strings.Contains(out, "2000000000 9000000000: 1 2 3 4 \n") {
		t.Errorf("-raw:\n%s", out)
	}
}

// perBox sums the samples of each box, by its root frame.
func perBox(p *profile.Profile) map[string][2]int64 {
	sums := map[string][2]int64{}
	for _, s := range p.Sample {
		root := s.Location[len(s.Location)-1].Line[0].Function.Name
		sum := sums[root]
		sums[root] = [2]int64{sum[0] + s.Value[0], sum[1] + s.Value[1]}
	}
	return sums
}

// sumsHold checks that the samples of each box sum to it, to the nanosecond.
func sumsHold(t *testing.T, g *bottle.Graph, p *profile.Profile) {
	t.Helper()
	want := map[string][2]int64{}
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if b.Share > 0 || b.Running > 0 {
			sum := want["[group] "+b.Group]
			want["[group] "+b.Group] = [2]int64{sum[0] + int64(b.Share), sum[1] + int64(b.Running)}
		}
	}
	if g.Idle > 0 {
		want["[idle]"] = [2]int64{int64(g.Idle), 0}
	}
	got := perBox(p)
	if len(got) != len(want) {
		t.Errorf("%d boxes, want %d", len(got), len(want))
	}
	for root, sums := range want {
		if got[root] != sums {
			t.Errorf("%s: samples sum to %v, the box is %v", root, got[root], sums)
			return
		}
	}
	for _, s := range p.Sample {
		for _, label := range []string{"group", "kind", "source"} {
			if len(s.Label[label]) != 1 {
				t.Fatalf("a sample has the label %s %v", label, s.Label[label])
			}
		}
	}
}

// Call chains beyond the limit are summed, and every box keeps its sums.
func TestStacksFit(t *testing.T) {
	for _, c := range testenv.Some([]struct{ boxes, stacks, depth int }{{3, 9000, 1}, {20, 50, 100}, {2000, 8, 1}}) {
		g := &bottle.Graph{GroupBy: "function"}
		for i := range c.boxes {
			b := box(fmt.Sprintf("main.f%d", i), bottle.Application, 0, 0)
			for j := range c.stacks {
				s := bottle.Stack{Source: bottle.SchedulingEvents, Share: time.Duration(j + 1), Running: time.Duration(2*j + 1)}
				functions := make([]string, c.depth)
				for k := range functions {
					functions[k] = fmt.Sprintf("example.com/a/rather/long/path/of/a/package.function%d_%d", (i*c.stacks+j)%(20_000), k)
				}
				s.Calls = callChain(functions...)
				b.Stacks = append(b.Stacks, s)
				b.Share += s.Share
				b.Running += s.Running
			}
			g.Boxes = append(g.Boxes, b)
			g.Wall += b.Share
		}
		p, err := pprof.Profile(g, pprof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sumsHold(t, g, p)
		var buf bytes.Buffer
		if err := p.WriteUncompressed(&buf); err != nil {
			t.Fatal(err)
		}
		if len(p.Sample) >= 16_000 || buf.Len() >= 4<<20 {
			t.Errorf("%+v: %d samples, %d bytes", c, len(p.Sample), buf.Len())
		}
		if len(p.Sample) < 9_000 && buf.Len() < 5<<19 {
			t.Errorf("%+v: there is room for more: %d samples, %d bytes", c, len(p.Sample), buf.Len())
		}
		if notes := strings.Join(p.Comments, "|"); !strings.Contains(notes, "with the least time are added up under [others]") {
			t.Errorf("%+v: comments: %s", c, notes)
		}
	}
}

// The profiles of recorded traces sum to their boxes.
func TestStacksOfTraces(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.trace*"))
	if len(files) < 12 {
		t.Fatalf("%d traces", len(files))
	}
	for _, file := range testenv.Some(files) {
		g, err := bottle.ReadFile(context.Background(), file, bottle.Options{Stacks: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprof.Profile(g, pprof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sumsHold(t, g, p)
	}
}

var sink uint64

//go:noinline
func spinThrice(n int) (x uint64) {
	for range 3 * n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func spinOnce(n int) (x uint64) {
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// Of two functions, one does three times the work of the other, as the CPU samples of the trace
// show.
func TestCodeOfKnownSplit(t *testing.T) {
	var recorded, cpu bytes.Buffer
	if err := rpprof.StartCPUProfile(&cpu); err != nil {
		t.Skip(err)
	}
	if err := trace.Start(&recorded); err != nil {
		rpprof.StopCPUProfile()
		t.Skip(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for begin := time.Now(); time.Since(begin) < 1500*time.Millisecond; {
			sink += spinThrice(20_000) + spinOnce(20_000)
		}
	}()
	<-done
	trace.Stop()
	rpprof.StopCPUProfile()
	g, err := bottle.ReadTrace(context.Background(), &recorded, bottle.Options{Stacks: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Profile(g, pprof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sumsHold(t, g, p)
	sampled, by := 0.0, map[string]float64{}
	for _, s := range p.Sample {
		if s.Label["source"][0] != "cpu samples" {
			continue
		}
		leaf := s.Location[0].Line[0].Function.Name
		by[leaf[strings.LastIndexByte(leaf, '.')+1:]] += float64(s.Value[0])
		sampled += float64(s.Value[0])
	}
	for _, f := range p.Function {
		if f.Name == "runtime.goexit" || f.Name == "runtime.asyncPreempt" {
			t.Errorf("%s is in the profile", f.Name)
		}
	}
	if sampled == 0 {
		t.Skipf("too few CPU samples, as on a busy machine, or the platform has none: %v", p.Comments)
	}
	// At least 20 samples: a part of 0.75 ± 0.4 is four standard deviations.
	if part := by["spinThrice"] / (by["spinThrice"] + by["spinOnce"]); math.IsNaN(part) || part < 0.45 || part > 0.97 {
		t.Errorf("spinThrice has %.2f of the share of both, want about 0.75: %v", part, by)
	}
}
