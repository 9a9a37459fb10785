package bottle

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func openReal(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open("../testdata/real/" + name + ".trace.zst")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func readReal(t *testing.T, name string, opt Options) *Graph {
	t.Helper()
	f := openReal(t, name)
	g, err := ReadTrace(context.Background(), f, opt)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// collections lists when collections begin, relative to the beginning of the trace.
type collections struct {
	timeline.Base
	begin timeline.Time
	at    []time.Duration
}

func (c *collections) Begin(t timeline.Time, _ int) { c.begin = t }

func (c *collections) Range(e *timeline.Span) {
	if e.Begin && e.Name == timeline.MarkPhase {
		c.at = append(c.at, time.Duration(e.Time-c.begin))
	}
}

// The collector's boxes of a program with 86 collections agree with the counts of other tools.
func TestCollector(t *testing.T) {
	whole := readReal(t, "json-gogc5", Options{})
	c := whole.Collector
	if c.Cycles != 86 {
		t.Errorf("%d collections; want 86", c.Cycles)
	}
	if c.Pauses != 2*c.Cycles {
		t.Errorf("%d pauses in %d collections", c.Pauses, c.Cycles)
	}
	var work, share, longest, paused, assists time.Duration
	for i := range whole.Boxes {
		b := &whole.Boxes[i]
		if b.Kind != GC {
			continue
		}
		work, share, longest = work+b.Running, share+b.Share, max(longest, b.busy)
		if len(b.Group) > len(worldRange) && b.Group[:len(worldRange)] == worldRange {
			paused += b.Running
		}
		if b.Group == assistBox {
			assists = b.Running
		}
	}
	if c.Work != work || c.Share != share || c.Paused != paused || c.Assists != assists || assists == 0 || c.Time < longest || c.Time > c.Work {
		t.Errorf("%+v; the boxes ran for %v, have %v, the longest worked for %v, pauses %v, assists %v", c, work, share, longest, paused, assists)
	}

	// By kind, the collector is one box with that time.
	kinds := readReal(t, "json-gogc5", Options{Group: ByKind, Window: 50 * time.Millisecond})
	rounded := kinds.Collector // shares are rounded in each graph
	if d := rounded.Share - c.Share; d < -10 || d > 10 {
		t.Errorf("a share of %v by kind, %v by function", rounded.Share, c.Share)
	}
	if rounded.Share = c.Share; rounded != c {
		t.Errorf("by kind %+v; by function %+v", kinds.Collector, c)
	}
	var names []string
	var sum time.Duration
	for i := range kinds.Boxes {
		b := &kinds.Boxes[i]
		names = append(names, b.Group)
		sum += b.Share
		if b.Group == "collector" && (b.Running != c.Work || b.busy != c.Time || b.SelfParallelism != c.Width()) {
			t.Errorf("the box ran for %v, in %v, %g wide; want %v, %v, %g", b.Running, b.busy, b.SelfParallelism, c.Work, c.Time, c.Width())
		}
	}
	slices.Sort(names)
	if want := []string{"application", "collector", "runtime", "tracer"}; !slices.Equal(names, want) || sum+kinds.Idle != kinds.Wall {
		t.Errorf("boxes %q, want %q; %v and %v idle of %v", names, want, sum, kinds.Idle, kinds.Wall)
	}

	// Windows sum to the whole, and so do graphs that are merged or read back.
	var all Collector
	for i, w := range kinds.Windows {
		all.add(&w.Collector, 1)
		// A mark phase that goes on at the end of a window is in both.
		busy := time.Duration(0)
		for j := range w.Boxes {
			if b := &w.Boxes[j]; b.Group == "collector" {
				busy = b.busy
			}
		}
		if w.Collector.Time != busy {
			t.Errorf("window %d: the collector worked in %v; its box in %v", i, w.Collector.Time, busy)
		}
	}
	if all.Share = c.Share; all != c {
		t.Errorf("the windows sum to %+v; the whole is %+v", all, c)
	}
	// From collection to collection, each window has one, and they sum to the whole, too.
	begins := readReal(t, "json-gogc5", Options{Collections: true}).Windows
	all = Collector{}
	for i, w := range begins {
		all.add(&w.Collector, 1)
		if w.Collector.Cycles > 1 || w.Collector.Cycles == 0 && i > 0 || i > 0 && w.Start != begins[i-1].Start+begins[i-1].Wall {
			t.Errorf("window %d from %v has %d collections", i, w.Start, w.Collector.Cycles)
		}
	}
	if all.Share = c.Share; all != c || len(begins) < 86 || len(begins) > 87 {
		t.Errorf("%d windows sum to %+v; the whole is %+v", len(begins), all, c)
	}
	begun := collections{}
	if _, err := timeline.Read(t.Context(), openReal(t, "json-gogc5"), timeline.Options{}, &begun); err != nil {
		t.Fatal(err)
	}
	for i, at := range begun.at {
		if w := begins[len(begins)-len(begun.at)+i]; w.Start != at {
			t.Errorf("collection %d begins at %v, its window at %v", i+1, at, w.Start)
		}
	}
	twice, err := Merge(whole, whole)
	if err != nil {
		t.Fatal(err)
	}
	double := whole.Scale(2).Collector
	if double.Share = twice.Collector.Share; twice.Collector != double || double.Work != 2*c.Work || double.Cycles != 172 {
		t.Errorf("twice: %+v, scaled: %+v", twice.Collector, double)
	}
	text, err := whole.MarshalJSON()
	var again Graph
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || again.Collector != c {
		t.Errorf("%v: read again it is %+v", err, again.Collector)
	}
}
