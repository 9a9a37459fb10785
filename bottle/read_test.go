package bottle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func small(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "small", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The mutex trace covers 893.94368 ms.
func TestEmptyRangesAreErrors(t *testing.T) {
	file := filepath.Join("..", "testdata", "small", "mutex-go1.26.8.trace")
	for _, c := range []struct {
		from, to time.Duration
		want     string // the error, or "" if there is a graph
	}{
		{0, 0, ""},
		{893 * time.Millisecond, 0, ""},
		{893 * time.Millisecond, time.Hour, ""},
		{0, 1, ""},
		{893943679, 0, ""},
		{893943680, 0, "x.trace: the trace covers 893.94368ms, so nothing is left from 893.94368ms"},
		{time.Second, 0, "x.trace: the trace covers 893.94368ms, so nothing is left from 1s"},
		{time.Second, 2 * time.Second, "x.trace: the trace covers 893.94368ms, so nothing is left from 1s"},
		{200 * time.Millisecond, 100 * time.Millisecond, "x.trace: the graph would end (100ms) before it begins (200ms)"},
		{200 * time.Millisecond, 200 * time.Millisecond, "x.trace: the graph would end (200ms) before it begins (200ms)"},
	} {
		g, err := ReadFile(context.Background(), file, Options{From: c.from, To: c.to, Name: "x.trace"})
		if c.want == "" {
			if err != nil || g.Start != c.from {
				t.Errorf("from %v to %v: %v", c.from, c.to, err)
				continue
			}
			holds(t, "", g)
			continue
		}
		if g != nil || err == nil || err.Error() != c.want {
			t.Errorf("from %v to %v: graph %v, error %v\nwant %s", c.from, c.to, g, err, c.want)
		}
	}
	_, err := ReadFile(context.Background(), file, Options{From: time.Second})
	if err == nil || !strings.HasPrefix(err.Error(), file+": ") {
		t.Errorf("the error does not name the file: %v", err)
	}
	_, err = ReadTrace(context.Background(), bytes.NewReader(small(t, "mutex-go1.26.8.trace")), Options{From: time.Second})
	if err == nil || !strings.HasPrefix(err.Error(), "the trace covers") {
		t.Errorf("the error names what has no name: %v", err)
	}
}

// However early a trace is cut off, the readable part gives a valid graph with the error as a
// warning. If nothing is readable, there is no graph.
func TestTracesCutOff(t *testing.T) {
	whole := small(t, "phases-go1.26.8.trace") // three generations
	var graphs int
	walls := map[time.Duration]bool{}
	for n := 0; n < len(whole); n += 1 + len(whole)/500 {
		o := NewObserver(Options{Window: time.Second, Name: "cut.trace"})
		info, terr := timeline.Read(context.Background(), bytes.NewReader(whole[:n]), timeline.Options{Name: "cut.trace"}, o)
		g, err := o.Result(info, terr)
		if err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(whole))
			continue
		}
		if e := (*timeline.Error)(nil); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "cut.trace: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d bytes: %v", n, err)
		}
		if (g == nil) != (info.Generations == 0) {
			t.Errorf("%d bytes: %d generations, graph %v", n, info.Generations, g)
		}
		if g == nil {
			continue
		}
		graphs++
		walls[g.Wall] = true
		g.Procs = max(g.Procs, 2)
		holds(t, "cut off", g)
		if ierr := identity(o); ierr != nil {
			t.Errorf("%d bytes: %v", n, ierr)
		}
		if want := "The trace could not be read to its end: " + err.Error() + "."; !slices.Contains(g.Warnings, want) {
			t.Errorf("%d bytes: warnings %q\nlack %s", n, g.Warnings, want)
		}
	}
	if graphs < 300 || len(walls) < 3 {
		t.Errorf("%d graphs of %d different lengths", graphs, len(walls))
	}
}

// A truncated trace lacks its end, not its beginning.
func TestCutOffTraceKeepsItsBeginning(t *testing.T) {
	whole := small(t, "phases-go1.26.8.trace")
	full, err := ReadTrace(context.Background(), bytes.NewReader(whole), Options{To: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	o := NewObserver(Options{To: time.Second})
	if _, err := timeline.Read(context.Background(), bytes.NewReader(whole[:len(whole)-100]), timeline.Options{}, o); err == nil {
		t.Fatal("no error")
	}
	compare(t, "cut off", byBox(o.Graph()), byBox(full), 0)
	// A graph of the beginning only has no warning about the end, which is not read.
	part, err := ReadTrace(context.Background(), bytes.NewReader(whole[:len(whole)-100]), Options{To: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "the beginning", byBox(part), byBox(full), 0)
}

func TestTracesThatCannotBeRead(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "x: it is empty",
		"<html>404</html>":                  "x: not a Go execution trace: it is an HTML or XML page",
		"go 1.99 trace\x00\x00\x00 and all": "x: a trace of Go 1.99",
	} {
		g, err := ReadTrace(context.Background(), strings.NewReader(in), Options{Name: "x"})
		if g != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: graph %v, error %v; want %s", in, g, err, want)
		}
	}
	if g, err := ReadFile(context.Background(), "not-there.trace", Options{}); g != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: graph %v, error %v", g, err)
	}
}

// A canceled pass returns the cause.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ReadTrace(ctx, bytes.NewReader(small(t, "phases-go1.26.8.trace")), Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A stream and a file of the same trace give the same graph.
func TestFileAndStream(t *testing.T) {
	b := small(t, "phases-go1.26.8.trace")
	file, err := ReadFile(context.Background(), filepath.Join("..", "testdata", "small", "phases-go1.26.8.trace"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := ReadTrace(context.Background(), io.MultiReader(bytes.NewReader(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "stream", byBox(stream), byBox(file), 0)
}

// The warnings include those of the pass and of traces of old versions.
func TestWarningsOfThePass(t *testing.T) {
	d := drive(Options{}, 0)
	d.o.version = 19
	d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.at(100).end()
	g, err := d.o.Result(&timeline.Info{Generations: 1, Events: 1000, End: 100, Inconsistent: 3, Reordered: 4, Notes: []string{"A note."}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"A trace of Go 1.19: its goroutine states are less exact than those since Go 1.22.",
		"A note.",
		"3 of 1000 events contradict what was known before them: the trace may be damaged.",
		"4 of 1000 events were moved to keep time from running backwards between generations.",
	}
	if !slices.Equal(g.Warnings, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(g.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

// Shares of more than 39 hours do not fit into 64 bits. There is no graph, whether or not the
// trace was read to its end.
func TestTooLongForAGraph(t *testing.T) {
	const most = 140737 * time.Second
	for _, broken := range []error{nil, errors.New("it broke off")} {
		for d, ok := range map[time.Duration]bool{most: true, most + time.Second: false, 1<<63 - 1: false} {
			dr := drive(Options{Name: "x"}, 0)
			dr.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
			own := dr.at(timeline.Time(d)).end()
			if warned := slices.Contains(own.Warnings, "The graph covers "+d.String()+": shares are right up to 39 hours only."); warned == ok {
				t.Errorf("%v: the observer's own graph has the warnings %q", d, own.Warnings)
			}
			g, err := dr.o.Result(&timeline.Info{Generations: 1, End: timeline.Time(d)}, broken)
			if ok {
				if g == nil || err != broken || g.Boxes[0].Share != d {
					t.Errorf("%v: graph %v, error %v", d, g, err)
				}
				continue
			}
			if g != nil || err == nil || !errors.Is(err, broken) && broken != nil || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(err.Error(), "the trace covers "+d.String()+"; graphs are exact up to 39 hours only") {
				t.Errorf("%v: graph %v, error %v", d, g, err)
			}
		}
	}
}
