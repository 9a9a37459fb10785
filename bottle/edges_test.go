package bottle

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func app(id int64, fn string) *timeline.Goroutine { return &timeline.Goroutine{ID: id, Func: fn} }

// A goroutine that waits across two window boundaries has waited in all three windows.
func TestWindowEndsDuringAWait(t *testing.T) {
	d := drive(Options{Window: 10}, 1000)
	g := d.appear(app(1, "main.f"), timeline.Waiting, timeline.WaitMutex)
	d.at(1025).ready(g)
	d.at(1038).run(g)
	d.at(1040)
	graph := d.end()
	var got []string
	for _, w := range append(graph.Windows, graph) {
		b := boxNamed(t, w, "main.f")
		got = append(got, fmt.Sprintf("%d+%d: mutex %d, runnable %d, running %d, idle %d", w.Start, w.Wall, b.Waiting["mutex"], b.Runnable, b.Running, w.Idle))
	}
	want := []string{
		"0+10: mutex 10, runnable 0, running 0, idle 10",
		"10+10: mutex 10, runnable 0, running 0, idle 10",
		"20+10: mutex 5, runnable 5, running 0, idle 10",
		"30+10: mutex 0, runnable 8, running 2, idle 8",
		"0+40: mutex 25, runnable 13, running 2, idle 38",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// The state at the end of the graph is the state before the first transition after the end.
func TestGraphEndsDuringARun(t *testing.T) {
	d := drive(Options{To: 10}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.at(25).block(g, timeline.WaitMutex)
	b := boxNamed(t, d.at(40).end(), "main.f")
	if b.Running != 10 || b.Blocked() != 0 {
		t.Errorf("running %d, blocked %d of the first 10 ns; want 10, 0", b.Running, b.Blocked())
	}
}

// Events after the end of the graph do not count.
func TestNothingFromAfterTheEnd(t *testing.T) {
	d := drive(Options{To: 10}, 0)
	d.gomaxprocs(2)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.at(10).run(d.born(app(2, "main.atTheEnd")))
	d.at(15).run(d.born(app(3, "main.late")))
	d.region(g, "late", "")
	d.gomaxprocs(7)
	graph := d.at(40).end()
	if got := fmt.Sprint(names(graph)); got != "[main.f]" {
		t.Errorf("boxes %s", got)
	}
	if graph.Wall != 10 || graph.Procs != 2 || graph.Boxes[0].Share != 10 || len(graph.Warnings) > 0 {
		t.Errorf("wall %d, procs %d, share %d, warnings %q; want 10, 2, 10, none", graph.Wall, graph.Procs, graph.Boxes[0].Share, graph.Warnings)
	}
	if err := identity(d.o); err != nil {
		t.Error(err)
	}
}

// Events before the beginning of the graph do not count, except for GOMAXPROCS.
func TestNothingFromBeforeTheBeginning(t *testing.T) {
	d := drive(Options{From: 10}, 0)
	d.gomaxprocs(8)
	d.at(3).gomaxprocs(2)
	early := d.appear(app(1, "main.early"), timeline.Running, timeline.WaitNone)
	d.at(9).exit(early)
	d.appear(app(2, "main.f"), timeline.Running, timeline.WaitNone)
	graph := d.at(40).end()
	if got := fmt.Sprint(names(graph)); got != "[main.f]" {
		t.Errorf("boxes %s", got)
	}
	if graph.Start != 10 || graph.Wall != 30 || graph.Procs != 2 || len(graph.Warnings) > 0 {
		t.Errorf("start %d, wall %d, procs %d, warnings %q; want 10, 30, 2, none", graph.Start, graph.Wall, graph.Procs, graph.Warnings)
	}
}

// A goroutine's box is kept if the graph begins while the goroutine is in an assist.
func TestGraphBeginsDuringAnAssist(t *testing.T) {
	d := drive(Options{From: 10, Group: ByGoroutine}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.at(5).ranges(g, "GC mark assist")
	d.at(20).ranges(g)
	graph := d.at(40).end()
	if s, a := boxNamed(t, graph, "main.f #1").Share, boxNamed(t, graph, "GC assist").Share; s != 20 || a != 10 {
		t.Errorf("shares %d and %d of assist, want 20 and 10", s, a)
	}
}

// The first event after the beginning of the graph may change the box.
func TestFirstEventOfTheGraphChangesTheBox(t *testing.T) {
	for _, window := range []time.Duration{0, 7} {
		d := drive(Options{From: 10, Group: ByGoroutine, Window: window}, 0)
		g := d.appear(app(1, ""), timeline.Running, timeline.WaitNone)
		d.at(20).name(g, "main.f", timeline.Application)
		graph := d.at(40).end()
		if s, u := boxNamed(t, graph, "main.f #1").Share, boxNamed(t, graph, "(unnamed) #1").Share; s != 20 || u != 10 {
			t.Errorf("windows of %d: shares %d and %d before it had a name, want 20 and 10", window, s, u)
		}
	}
}

// Windows that are too small cost no more than the maximum number of windows, and the graph of the
// whole stays correct.
func TestWindowsAreBounded(t *testing.T) {
	d := drive(Options{Window: 1}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	for range 200 {
		d.at(d.now+1000).block(g, timeline.WaitSleep)
		d.at(d.now + timeline.Time(time.Hour)/200).run(g)
	}
	graph := d.end()
	if len(graph.Windows) != maxWindows {
		t.Errorf("%d windows, want %d", len(graph.Windows), maxWindows)
	}
	if b := boxNamed(t, graph, "main.f"); b.Running != 200*1000 || b.Waiting["sleep"] != time.Hour || graph.Wall != time.Hour+200*1000 {
		t.Errorf("running %d, asleep %v in %v", b.Running, b.Waiting["sleep"], graph.Wall)
	}
	if got := strings.Join(graph.Warnings, "\n"); got != "More than 100,000 windows: the later ones are missing." {
		t.Errorf("warnings: %s", got)
	}
}

// The maximum number of windows is accepted.
func TestMaximumNumberOfWindows(t *testing.T) {
	d := drive(Options{Window: 1}, 0)
	d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	graph := d.at(maxWindows).end()
	if len(graph.Windows) != maxWindows || len(graph.Warnings) > 0 {
		t.Errorf("%d windows, warnings %q", len(graph.Windows), graph.Warnings)
	}
}

// From, To and windows beyond the end of every trace are accepted.
func TestOptionsBeyondTheEndOfTheTrace(t *testing.T) {
	for _, opt := range []Options{{Window: math.MaxInt64}, {To: math.MaxInt64}, {Window: math.MaxInt64, To: math.MaxInt64}, {Window: math.MinInt64, From: math.MinInt64, To: math.MinInt64}} {
		d := drive(opt, 1<<40)
		d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
		graph := d.at(1<<40 + 100).end()
		if graph.Wall != 100 || graph.Boxes[0].Share != 100 || len(graph.Windows) > 1 {
			t.Errorf("%+v: wall %d, share %d, %d windows", opt, graph.Wall, graph.Boxes[0].Share, len(graph.Windows))
		}
	}
	d := drive(Options{From: math.MaxInt64}, 1<<40)
	d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	if graph := d.at(1<<40 + 100).end(); graph.Wall != 0 || graph.Idle != 0 {
		t.Errorf("from beyond all times: wall %d, idle %d", graph.Wall, graph.Idle)
	}
}
