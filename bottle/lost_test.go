package bottle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

const ms = time.Millisecond

// graphOf is a graph of boxes of the given share and parallelism, with GOMAXPROCS procs and idle
// time.
func graphOf(procs int, idle time.Duration, boxes ...Box) *Graph {
	g := &Graph{Idle: idle, Wall: idle}
	for _, b := range boxes {
		b.Running = time.Duration(float64(b.Share) * b.Parallelism)
		g.Wall += b.Share
		g.Boxes = append(g.Boxes, b)
	}
	g.SetProcs(procs)
	return g
}

// A graph with a verdict has its sentences and no others. A graph without one has no sentences
// unless GOMAXPROCS exceeds the processors of the machine.
func TestSentencesAreThoseOfTheVerdict(t *testing.T) {
	g := graphOf(4, 600*ms, Box{Group: "main.a", Share: 400 * ms, Parallelism: 1})
	if got := g.Sentences(); got != nil {
		t.Errorf("without a verdict: %q", got)
	}
	g.CPUs = 2
	if got := g.Sentences(); len(got) != 1 || !strings.HasPrefix(got[0], "GOMAXPROCS is 4, but the machine or its control group gives the process 2 processors") {
		t.Errorf("of 4 processors where there are 2: %q", got)
	}
	g.CPUs, g.Throttles, g.Throttled = 4, 7, 400*ms
	if got := g.Sentences(); len(got) != 1 || got[0] != "The control group of the process used up its quota of processor time 7 times and took away 10% of the capacity: goroutines that count as running did not run then." {
		t.Errorf("throttled for a tenth of the capacity: %q", got)
	}
	if g.Throttled = 39 * ms; g.Sentences() != nil {
		t.Errorf("throttled for less than 1 %%: %q", g.Sentences())
	}
	g.Verdict = &verdict.Verdict{Findings: []verdict.Finding{{Title: "One."}, {Title: "Two."}}}
	if got := g.Sentences(); !slices.Equal(got, []string{"One.", "Two."}) {
		t.Errorf("with a verdict: %q", got)
	}
}

// A neck lost at least 5 % of the capacity, idle time and the whole collector included.
func TestNeckIsWhatLostCapacity(t *testing.T) {
	for _, c := range []struct {
		g    *Graph
		want string
	}{
		{graphOf(4, 0, Box{Group: "a", Share: 10, Parallelism: 1}, Box{Group: "b", Share: 10, Parallelism: 2}, Box{Group: "c", Share: 100, Parallelism: 4}), "a 30"},
		{graphOf(4, 0, Box{Group: "a", Share: 10, Parallelism: 2}, Box{Group: "b", Share: 10, Parallelism: 2}, Box{Group: "c", Share: 10, Parallelism: 2}), "a 20, b 20, c 20"},
		{graphOf(4, 20, Box{Group: "a", Share: 10, Parallelism: 1}), "a 30, idle"},
		{graphOf(4, 5, Box{Group: "a", Share: 10, Parallelism: 1}, Box{Group: "g", Kind: GC, Share: 10, Parallelism: 2}, Box{Group: "h", Kind: GC, Share: 10, Parallelism: 2}), "g 20, h 20, a 30, idle"},
		{graphOf(4, 0, Box{Group: "a", Share: 100, Parallelism: 3.9}), ""},
		{graphOf(4, 0, Box{Group: "a", Share: 100, Parallelism: 3.75}, Box{Group: "b", Share: 100, Parallelism: 3.5}), "b 50"},
		{graphOf(0, 50, Box{Group: "a", Share: 100, Parallelism: 1}), ""},
		{&Graph{}, ""},
	} {
		var got []string
		boxes, idle := c.g.Neck()
		for _, b := range boxes {
			got = append(got, b.Group+" "+b.Lost.String())
		}
		if idle {
			got = append(got, "idle")
		}
		if s := strings.ReplaceAll(strings.Join(got, ", "), "ns", ""); s != c.want {
			t.Errorf("neck is %q, want %q", s, c.want)
		}
	}
}

// While GOMAXPROCS is 4, one goroutine runs for 10 ns and two for 6 ns. While it is 2, both run
// for 8 ns, then nothing runs for 5 ns.
func TestLostCapacityWhereGomaxprocsChanges(t *testing.T) {
	d := drive(Options{Window: 20}, 100)
	d.gomaxprocs(4)
	a := d.appear(&timeline.Goroutine{ID: 1, Func: "main.a"}, timeline.Running, timeline.WaitNone)
	b := d.appear(&timeline.Goroutine{ID: 2, Func: "main.b"}, timeline.Runnable, timeline.WaitNone)
	d.at(110).run(b)
	d.at(116).gomaxprocs(2)
	d.at(124).block(a, timeline.WaitSleep)
	d.block(b, timeline.WaitSleep)
	g := d.at(129).end()
	if g.Capacity != 16*4+13*2 || g.IdleLost != 5*2 || g.Lost() != 64+26-10-28 {
		t.Errorf("capacity %d, %d of it idle, lost %d", g.Capacity, g.IdleLost, g.Lost())
	}
	// a: alone 10·(4−1), with b 6·(4−2)/2; b the same without the first.
	for name, want := range map[string]time.Duration{"main.a": 30 + 6, "main.b": 6} {
		if got := boxNamed(t, g, name).Lost; got != want {
			t.Errorf("%s lost %d ns·processors, want %d", name, got, want)
		}
	}
	var lost time.Duration
	for _, w := range g.Windows {
		lost += w.Lost()
	}
	if len(g.Windows) != 2 || lost != g.Lost() || g.Windows[1].Capacity != 9*2 || g.Windows[1].Lost() != 5*2 {
		t.Errorf("%d windows lost %d, want %d", len(g.Windows), lost, g.Lost())
	}
}

// The first GOMAXPROCS of a trace also holds for the time before it.
func TestLostCapacityBeforeGomaxprocsIsKnown(t *testing.T) {
	d := drive(Options{}, 100)
	a := d.appear(&timeline.Goroutine{ID: 1, Func: "main.a"}, timeline.Running, timeline.WaitNone)
	d.at(110).block(a, timeline.WaitSleep)
	d.at(112).run(a)
	d.at(115).gomaxprocs(3)
	g := d.at(120).end()
	if b := boxNamed(t, g, "main.a"); g.Capacity != 60 || g.IdleLost != 6 || b.Lost != 36 {
		t.Errorf("capacity %d, idle %d, main.a %d", g.Capacity, g.IdleLost, b.Lost)
	}
}

// If one graph has no GOMAXPROCS, the lost capacity of the merged graph is unknown, in any order
// of merging.
func TestMergedLostCapacity(t *testing.T) {
	a := graphOf(4, 10, Box{Group: "a", Share: 10, Parallelism: 1})
	b := graphOf(2, 5, Box{Group: "a", Share: 10, Parallelism: 2}, Box{Group: "b", Share: 10, Parallelism: 1})
	unknown := graphOf(0, 5, Box{Group: "a", Share: 10, Parallelism: 2})
	a.CPUs, b.CPUs = 2, 2
	a.Throttles, a.Throttled, b.Throttles, b.Throttled = 1, 20, 2, 30
	g, err := Merge(a, b)
	if g.Throttles != 3 || g.Throttled != 50 {
		t.Errorf("throttled %d times for %v, want 3 and 50ns", g.Throttles, g.Throttled)
	}
	if err != nil || g.Capacity != a.Capacity+b.Capacity || g.Lost() != a.Lost()+b.Lost() || g.IdleLost != 50 || boxNamed(t, g, "a").Lost != 30 || g.CPUs != 2 {
		t.Errorf("%+v, %v", g, err)
	}
	for _, gs := range [][]*Graph{{a, unknown}, {unknown, a}, {a, b, unknown}, {a, unknown, b}} {
		g, err := Merge(gs...)
		if err != nil || g.Capacity != 0 || g.Lost() != 0 || boxNamed(t, g, "a").Lost != 0 || g.CPUs != 0 {
			t.Errorf("%+v, %v", g, err)
		}
		if len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "GOMAXPROCS is 4") {
			t.Errorf("what no longer fits into a number becomes a warning: %q", g.Warnings)
		}
	}
}

// The throttling of a graph is that between the first and the last note of its time.
func TestThrottlingIsThatOfTheTime(t *testing.T) {
	for _, c := range []struct {
		opt       Options
		throttles int64
		throttled time.Duration
	}{{Options{}, 9, 90 * ms}, {Options{From: 2, To: 5}, 5, 50 * ms}, {Options{From: 4}, 7, 70 * ms}, {Options{From: 9}, 0, 0}} {
		o := NewObserver(c.opt)
		o.Begin(100, 0)
		for at, n := range []int64{3, 3, 4, 5, 8, 9, 12} {
			o.Log(&timeline.Log{Time: timeline.Time(101 + at), Category: "bottleneck.machine",
				Message: host.Machine{Processors: 2, All: 8, Throttling: host.Throttling{Periods: 100 + n, Throttled: n, For: time.Duration(n) * 10 * ms}}.String()})
		}
		o.Log(&timeline.Log{Time: 108, Category: "bottleneck.machine", Message: "2 of 8 processors, throttled in -7 of 200 periods for 3600000000000 ns"}) // not a note
		o.End(110)
		if g := o.Graph(); g.CPUs != 2 || g.Throttles != c.throttles || g.Throttled != c.throttled {
			t.Errorf("from %d to %d: %v processors, throttled %d times for %v, want %d and %v", c.opt.From, c.opt.To, g.CPUs, g.Throttles, g.Throttled, c.throttles, c.throttled)
		}
	}
}
