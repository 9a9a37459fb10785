package bottle

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// crowd runs n goroutines of two functions one after another. Number i runs for i ns and sleeps as
// long before.
func crowd(opt Options, n int) (*Graph, *Observer) {
	d := drive(opt, 0)
	d.appear(app(0, "main.main"), timeline.Running, timeline.WaitNone)
	for i := 1; i <= n; i++ {
		g := d.born(app(int64(i), []string{"main.even", "main.odd"}[i%2]))
		d.block(g, timeline.WaitSleep)
		d.at(d.now + timeline.Time(i)).run(g)
		d.at(d.now + timeline.Time(i)).exit(g)
	}
	return d.end(), d.o
}

type total struct {
	goroutines                     int
	share, running, runnable, wait time.Duration
	exact                          share
}

func totalOf(boxes []Box) (sum total) {
	for i := range boxes {
		b := &boxes[i]
		sum.goroutines += b.Goroutines
		sum.share += b.Share
		sum.running += b.Running
		sum.runnable += b.Runnable
		sum.wait += b.Blocked()
		sum.exact += b.exact
	}
	return sum
}

// The largest exited goroutines keep their own boxes. The others share one box per function.
func TestExitedGoroutinesFold(t *testing.T) {
	all, _ := crowd(Options{Group: ByGoroutine}, 100)
	if len(all.Boxes) != 101 {
		t.Fatalf("%d boxes without folding, want 101", len(all.Boxes))
	}
	folded, o := crowd(Options{Group: ByGoroutine, MaxSingle: 3}, 100)
	want := "[main.even #100 main.even #98 main.even (exited) main.main #0 main.odd #99 main.odd (exited)]"
	if got := fmt.Sprint(names(folded)); got != want {
		t.Errorf("boxes %s\nwant  %s", got, want)
	}
	if got, want := totalOf(folded.Boxes), totalOf(all.Boxes); got != want {
		t.Errorf("sums of the folded graph %+v\nwant %+v", got, want)
	}
	even := boxNamed(t, folded, "main.even (exited)")
	if even.Goroutines != 48 || !math.IsNaN(even.SelfParallelism) || even.Running != 96*98/4 || even.Waiting["sleep"] != even.Running {
		t.Errorf("folded box: %+v", even)
	}
	if err := identity(o); err != nil {
		t.Error(err)
	}
}

// The number of boxes is bounded however many goroutines start and exit.
func TestFoldingBoundsTheBoxes(t *testing.T) {
	d := drive(Options{Group: ByGoroutine, MaxSingle: 5}, 0)
	most := 0
	for i := range 2000 {
		g := d.born(app(int64(i), "main.f"))
		d.run(g)
		d.at(d.now + 1).exit(g)
		most = max(most, len(d.o.boxes))
	}
	used := 0
	for m := range d.o.members.All() {
		if m.g != nil || m.extra != nil {
			used++
		}
	}
	if most > 2*5+2 || used != 0 {
		t.Errorf("%d boxes and %d members after all goroutines exited", most, used)
	}
}

// Windows fold, too, and sum to the same totals.
func TestFoldingInWindows(t *testing.T) {
	all, _ := crowd(Options{Group: ByGoroutine}, 100)
	folded, o := crowd(Options{Group: ByGoroutine, MaxSingle: 3, Window: 777}, 100)
	var sum, want total
	for _, w := range folded.Windows {
		s := totalOf(w.Boxes)
		sum.share, sum.exact = sum.share+s.share, sum.exact+s.exact
		sum.running, sum.runnable, sum.wait = sum.running+s.running, sum.runnable+s.runnable, sum.wait+s.wait
	}
	want = totalOf(all.Boxes)
	want.goroutines = 0 // one goroutine belongs to several windows
	if sum != want {
		t.Errorf("windows sum to %+v\nwant %+v", sum, want)
	}
	if got := totalOf(folded.Boxes); got != totalOf(all.Boxes) {
		t.Errorf("the whole sums to %+v\nwant %+v", got, totalOf(all.Boxes))
	}
	if err := identity(o); err != nil {
		t.Error(err)
	}
}

// A goroutine in an assist during a fold has not exited. A goroutine that was named late, or that
// exits within an assist, has exited completely.
func TestOnlyExitedGoroutinesFold(t *testing.T) {
	d := drive(Options{Group: ByGoroutine, MaxSingle: 1}, 0)
	assisting := d.appear(app(1, "main.assisting"), timeline.Running, timeline.WaitNone)
	d.at(1).ranges(assisting, "GC mark assist")
	renamed := d.appear(app(2, ""), timeline.Running, timeline.WaitNone)
	d.at(2).name(renamed, "main.renamed", timeline.Application)
	d.at(3).exit(renamed)
	dying := d.appear(app(3, "main.dying"), timeline.Running, timeline.WaitNone)
	d.at(4).ranges(dying, "GC mark assist")
	d.at(5).exit(dying)
	for i := range 4 {
		g := d.appear(app(int64(4+i), "main.f"), timeline.Running, timeline.WaitNone)
		d.at(d.now + 100).exit(g)
	}
	d.ranges(assisting)
	graph := d.at(d.now + 1000).end()
	got := strings.Join(names(graph), ", ")
	want := "(unnamed) (exited), GC assist, main.assisting #1, main.dying (exited), main.f #4, main.f (exited), main.renamed (exited)"
	if got != want {
		t.Errorf("boxes %s\nwant  %s", got, want)
	}
	if b := boxNamed(t, graph, "main.assisting #1"); b.Goroutines != 1 || b.Running != 1001 {
		t.Errorf("%d goroutines, running %d in the box of the live one; want 1, 1001", b.Goroutines, b.Running)
	}
}

// A goroutine that moves through very many boxes and returns to each counts once in each.
func TestOneGoroutineInManyBoxes(t *testing.T) {
	d := drive(Options{}, 0)
	g := d.appear(app(1, "main.main"), timeline.Running, timeline.WaitNone)
	const n = 100
	for round := range 2 {
		for i := range n {
			extend(g)
			g.Extra.Label = fmt.Sprintf("label %d", (i+round*7)%n)
			d.o.Label(g, d.now)
			d.at(d.now + 10)
		}
	}
	visits := len(d.o.members.Known(g.Index).extra.visits)
	graph := d.end()
	if len(graph.Boxes) != n+1 || visits != n+1 {
		t.Errorf("%d boxes, %d visits, want %d", len(graph.Boxes), visits, n+1)
	}
	for i := range graph.Boxes {
		if b := &graph.Boxes[i]; b.Goroutines != 1 || b.Group != "main.main" && b.Running != 20 {
			t.Errorf("%s: %d goroutines, running %v", b.Group, b.Goroutines, b.Running)
		}
	}
}
