package bottle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// shelf is a graph with boxes of the given names, kinds, shares and running times.
func shelf(procs int, boxes ...Box) *Graph {
	g := &Graph{}
	for _, b := range boxes {
		b.Parallelism = float64(b.Running) / float64(b.Share)
		b.SelfParallelism = 1
		b.exact = share(b.Share) << fracBits
		g.Wall += b.Share
		g.Boxes = append(g.Boxes, b)
	}
	slices.SortFunc(g.Boxes, compareStack)
	g.SetProcs(procs)
	return g
}

func describe(g *Graph) string {
	var s []string
	for _, b := range g.Boxes {
		s = append(s, fmt.Sprintf("%s(%d) %d×%.4g", b.Group, b.Goroutines, b.Share, b.Parallelism))
	}
	return strings.Join(s, ", ")
}

func TestTopFoldsTheSmallBoxes(t *testing.T) {
	wait := func(reason string, d time.Duration) map[string]time.Duration {
		return map[string]time.Duration{reason: d}
	}
	g := shelf(4,
		Box{Group: "a", Goroutines: 1, Share: 100, Running: 400},
		Box{Group: "b", Goroutines: 2, Share: 50, Running: 60, Runnable: 1, Waiting: wait("mutex", 3)},
		Box{Group: "c", Goroutines: 3, Share: 40, Running: 140, Runnable: 2, Waiting: wait("mutex", 4)},
		Box{Group: "d", Goroutines: 4, Share: 10, Running: 10, Runnable: 4, Waiting: wait("select", 5)},
		Box{Group: "mark", Kind: GC, Goroutines: 5, Share: 30, Running: 90},
		Box{Group: "sweep", Kind: GC, Goroutines: 6, Share: 20, Running: 20},
		Box{Group: "sysmon", Kind: Runtime, Goroutines: 7, Share: 5, Running: 5},
	)
	for _, c := range []struct {
		k    int
		want string
	}{
		{0, "a(1) 100×4, c(3) 40×3.5, mark(5) 30×3, b(2) 50×1.2, sweep(6) 20×1, d(4) 10×1, sysmon(7) 5×1"},
		{-1, "a(1) 100×4, c(3) 40×3.5, mark(5) 30×3, b(2) 50×1.2, sweep(6) 20×1, d(4) 10×1, sysmon(7) 5×1"},
		{7, "a(1) 100×4, c(3) 40×3.5, mark(5) 30×3, b(2) 50×1.2, sweep(6) 20×1, d(4) 10×1, sysmon(7) 5×1"},
		{2, "a(1) 100×4, 2 others(7) 50×3, 2 others (gc)(11) 50×2.2, b(2) 50×1.2, sysmon(7) 5×1"},
		{1, "a(1) 100×4, 2 others (gc)(11) 50×2.2, 3 others(9) 100×2.1, sysmon(7) 5×1"},
	} {
		before := describe(g)
		top := g.Top(c.k)
		if got := describe(top); got != c.want {
			t.Errorf("Top(%d) is\n     %s\nwant %s", c.k, got, c.want)
		}
		if describe(g) != before {
			t.Errorf("Top(%d) changed the graph", c.k)
		}
		if got, want := totalOf(top.Boxes), totalOf(g.Boxes); got != want {
			t.Errorf("Top(%d) sums to %+v, want %+v", c.k, got, want)
		}
		for _, b := range top.Boxes {
			if folded := strings.Contains(b.Group, "others"); folded != math.IsNaN(b.SelfParallelism) {
				t.Errorf("Top(%d): self-parallelism of %s is %v", c.k, b.Group, b.SelfParallelism)
			}
		}
	}
	others := boxNamed(t, g.Top(1), "3 others")
	if fmt.Sprint(others.Waiting) != "map[mutex:7ns select:5ns]" || others.Runnable != 7 || others.Kind != Application {
		t.Errorf("3 others: waiting %v, runnable %d, kind %s", others.Waiting, others.Runnable, others.Kind)
	}
	g.Windows = []*Graph{shelf(4, g.Boxes...), shelf(4, g.Boxes[:3]...)}
	top := g.Top(2)
	if len(top.Windows) != 2 || len(top.Windows[0].Boxes) != 5 || len(top.Windows[1].Boxes) != 3 || len(g.Windows[0].Boxes) != 7 {
		t.Errorf("windows of Top(2): %v", top.Windows)
	}
}

// A box has a width even if its share is less than a nanosecond, folded or not.
func TestWidthOfTinyBoxes(t *testing.T) {
	d := drive(Options{Offered: true}, 0)
	for i := range 8 {
		d.appear(app(int64(i), "main."+string(rune('a'+i))), timeline.Runnable, timeline.WaitOther)
	}
	g := d.at(1).end()
	for _, b := range append(g.Boxes, g.Top(5).Boxes...) {
		if b.Share > 1 || b.Share == 0 && math.Abs(b.Parallelism-8) > 1e-9 {
			t.Errorf("%s: share %d, width %v; 8 goroutines ran for 1 ns", b.Group, b.Share, b.Parallelism)
		}
	}
}

func TestMeanParallelism(t *testing.T) {
	g := shelf(2, Box{Group: "a", Share: 60, Running: 120}, Box{Group: "b", Share: 20, Running: 20})
	g.Wall += 20
	g.Idle = 20
	if m := g.MeanParallelism(); m != 1.4 {
		t.Errorf("mean parallelism %v, want 1.4: idle time counts", m)
	}
	if m := (&Graph{}).MeanParallelism(); m != 0 {
		t.Errorf("mean parallelism of nothing is %v", m)
	}
}

// Boxes are stacked widest first. Of two boxes of equal width, the taller comes first; remaining
// ties have a deterministic order.
func TestOrderOfBoxes(t *testing.T) {
	g := shelf(4,
		Box{Group: "z", Share: 10, Running: 10}, Box{Group: "y", Share: 10, Running: 10}, Box{Group: "x", Share: 20, Running: 20},
		Box{Group: "w", Share: 5, Running: 20}, Box{Group: "v", Share: 10, Running: 10, Runnable: 1},
		Box{Group: "y", Kind: GC, Share: 10, Running: 10})
	var got []string
	for _, b := range g.Boxes {
		got = append(got, b.Group+" "+b.Kind.String())
	}
	want := "w application, x application, v application, y application, y gc, z application"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("order %s\nwant  %s", s, want)
	}
}

// GOMAXPROCS is the maximum in the graph or window. A change of it is reported.
func TestGomaxprocs(t *testing.T) {
	d := drive(Options{Window: 100}, 0)
	d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.gomaxprocs(4)
	d.at(150).gomaxprocs(2)
	d.at(250).gomaxprocs(3)
	g := d.at(400).end()
	got := fmt.Sprint(g.Procs)
	for _, w := range g.Windows {
		got += fmt.Sprint(" ", w.Procs)
	}
	if got != "4 4 4 3 3" {
		t.Errorf("GOMAXPROCS of the whole and of the windows: %s; want 4 4 4 3 3", got)
	}
	if w := strings.Join(g.Warnings, "\n"); w != "GOMAXPROCS changed during the trace, between 2 and 4." {
		t.Errorf("warnings: %s", w)
	}
}

// Offered parallelism counts ready goroutines as if they ran.
func TestOffered(t *testing.T) {
	for offered, want := range map[bool]string{
		false: "a: share 60, width 1; b: share 40, width 1; wall 100, idle 0",
		true:  "a: share 60, width 1.667; b: share 40, width 2; wall 100, idle 0",
	} {
		d := drive(Options{Offered: offered}, 0)
		a := d.appear(app(1, "a"), timeline.Running, timeline.WaitNone)
		b := d.appear(app(2, "b"), timeline.Runnable, timeline.WaitOther)
		d.at(40).ready(a)
		d.run(b)
		d.at(80).run(a)
		d.block(b, timeline.WaitMutex)
		g := d.at(100).end()
		ba, bb := boxNamed(t, g, "a"), boxNamed(t, g, "b")
		got := fmt.Sprintf("a: share %d, width %.4g; b: share %d, width %.4g; wall %d, idle %d", ba.Share, ba.Parallelism, bb.Share, bb.Parallelism, g.Wall, g.Idle)
		if got != want || g.Offered != offered {
			t.Errorf("offered %v: %s\nwant %s", offered, got, want)
		}
		if ba.Runnable != 40 || bb.Runnable != 40 || bb.Waiting["mutex"] != 20 {
			t.Errorf("offered %v: runnable %d, %d, mutex %d; want 40, 40, 20", offered, ba.Runnable, bb.Runnable, bb.Waiting["mutex"])
		}
	}
}
