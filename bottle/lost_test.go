package bottle

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

const ms = time.Millisecond

// graphOf is a graph of boxes of the given share and parallelism, with GOMAXPROCS procs and idle time.
func graphOf(procs int, idle time.Duration, boxes ...Box) *Graph {
	g := &Graph{Idle: idle, Wall: idle}
	for _, b := range boxes {
		b.Running = time.Duration(float64(b.Share) * b.Parallelism)
		if b.Kind == "" {
			b.Kind = Application
		}
		g.Wall += b.Share
		g.Boxes = append(g.Boxes, b)
	}
	g.SetProcs(procs)
	return g
}

func TestEverySentenceSaysTheCauseThatIsKnown(t *testing.T) {
	offered := func(g *Graph) *Graph { g.Offered = true; return g }
	on := func(cpus float64, g *Graph) *Graph { g.CPUs = cpus; return g }
	gc := func(share time.Duration, p float64) Box {
		return Box{Group: "GC (dedicated)", Kind: GC, Share: share, Parallelism: p}
	}
	for _, c := range []struct {
		cause string
		g     *Graph
		want  string
	}{
		{"empty trace", &Graph{Procs: 4}, "No time passed."},
		{"nothing runs", graphOf(4, 100*ms), "Nothing ran in this time."},
		{"GOMAXPROCS not known", graphOf(0, 10*ms, Box{Group: "main.a", Share: 10 * ms, Parallelism: 2}),
			"GOMAXPROCS is not known, so the lost capacity is not known either: the mean parallelism is 1.00."},
		{"serial part", graphOf(4, 0, Box{Group: "main.work", Share: 500 * ms, Parallelism: 4}, Box{Group: "main.read", Share: 500 * ms, Parallelism: 1}),
			"38% of the capacity of 4 processors was not used: 38% while main.read ran (500 ms at a parallelism of 1.00)."},
		{"one box a little narrower than half of the processors is no cliff", graphOf(2, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 1.51}),
			"25% of the capacity of 2 processors was not used: 25% while main.a ran (1 s at a parallelism of 1.51)."},
		{"idle loses more than the box that is narrower", graphOf(4, 600*ms, Box{Group: "main.a", Share: 400 * ms, Parallelism: 1}),
			"90% of the capacity of 4 processors was not used: 60% while nothing ran (idle for 600 ms), 30% while main.a ran (400 ms at a parallelism of 1.00)."},
		{"the collector, of several boxes, loses more than any box", graphOf(4, 0, gc(300*ms, 1), Box{Group: "GC assist", Kind: GC, Share: 300 * ms, Parallelism: 3},
			Box{Group: "main.a", Share: 400 * ms, Parallelism: 2}),
			"50% of the capacity of 4 processors was not used: 30% while the garbage collector ran (600 ms at a parallelism of 2.00), 20% while main.a ran (400 ms at a parallelism of 2.00)."},
		{"a stop of microseconds is not said first", graphOf(2, 10*ms, Box{Group: "main.a", Share: 90 * ms, Parallelism: 1.9},
			Box{Group: "stop-the-world (start trace)", Kind: Tracer, Share: 6 * time.Microsecond, Parallelism: 1}),
			"15% of the capacity of 2 processors was not used: 10% while nothing ran (idle for 10 ms), 4% while main.a ran (90 ms at a parallelism of 1.90). Running is not progressing: false sharing, atomics, spinning, C code and other programs do not show in a trace."},
		{"many small ones", graphOf(2, 0, Box{Group: "a", Share: 10 * ms, Parallelism: 1}, Box{Group: "b", Share: 10 * ms, Parallelism: 1}, Box{Group: "c", Share: 10 * ms, Parallelism: 1},
			Box{Group: "d", Share: 10 * ms, Parallelism: 1}, Box{Group: "e", Share: 10 * ms, Parallelism: 1}),
			"50% of the capacity of 2 processors was not used: 10% while a ran (10 ms at a parallelism of 1.00), 10% while b ran (10 ms at a parallelism of 1.00), 10% while c ran (10 ms at a parallelism of 1.00), 20% while others ran."},
		{"saturated", graphOf(8, 0, Box{Group: "main.spin", Share: time.Second, Parallelism: 7.9}),
			"Goroutines were running for 99% of the capacity of 8 processors. Running is not progressing: false sharing, atomics, spinning, C code and other programs do not show in a trace."},
		{"one processor", graphOf(1, 0, Box{Group: "main.a", Share: 100 * ms, Parallelism: 1}),
			"With GOMAXPROCS 1, one goroutine runs at a time, and none can lack parallelism: one ran for 100% of the time."},
		{"one processor, idle", graphOf(1, 60*ms, Box{Group: "main.a", Share: 40 * ms, Parallelism: 1}),
			"With GOMAXPROCS 1, one goroutine runs at a time, and none can lack parallelism: for 60% of the time none ran, as they waited or the scheduler switched between them."},
		{"GOMAXPROCS above the processors", on(2, graphOf(4, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 4})),
			"GOMAXPROCS is 4, but the machine or its control group gives the process 2 processors: goroutines that count as running may have waited for one. " +
				"Goroutines were running for 100% of the capacity of 4 processors. Running is not progressing: false sharing, atomics, spinning, C code and other programs do not show in a trace."},
		{"GOMAXPROCS above a quota", on(.5, graphOf(1, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 1})),
			"GOMAXPROCS is 1, but the machine or its control group gives the process 0.5 processors: goroutines that count as running may have waited for one. " +
				"With GOMAXPROCS 1, one goroutine runs at a time, and none can lack parallelism: one ran for 100% of the time."},
		{"GOMAXPROCS of the machine", on(4, graphOf(4, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 2})),
			"50% of the capacity of 4 processors was not used: 50% while main.a ran (1 s at a parallelism of 2.00)."},
		{"offers too little", offered(graphOf(4, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 3})),
			"The program does not offer enough work for 4 processors: 25% of the capacity was not asked for: 25% while main.a ran (1 s at an offered parallelism of 3.00)."},
		{"offers more than there is", offered(graphOf(4, 0, Box{Group: "main.a", Share: time.Second, Parallelism: 30})),
			"The program offers enough work for 4 processors: on average, 30.00 goroutines were running or ready to run."},
	} {
		if got := c.g.Sentence(nil); got != c.want {
			t.Errorf("%s:\n  %s\nwant\n  %s", c.cause, got, c.want)
		}
	}
}

// The neck is what lost at least 5% of the capacity, idle time and the collector as a whole included.
func TestNeckIsWhatLostCapacity(t *testing.T) {
	for _, c := range []struct {
		g    *Graph
		want string
	}{
		{graphOf(4, 0, Box{Group: "a", Share: 10, Parallelism: 1}, Box{Group: "b", Share: 10, Parallelism: 2}, Box{Group: "c", Share: 100, Parallelism: 4}), "a 30"},
		{graphOf(4, 0, Box{Group: "a", Share: 10, Parallelism: 2}, Box{Group: "b", Share: 10, Parallelism: 2}, Box{Group: "c", Share: 10, Parallelism: 2}), "a 20, b 20, c 20"},
		{graphOf(4, 20, Box{Group: "a", Share: 10, Parallelism: 1}), "idle 80, a 30"},
		{graphOf(4, 5, Box{Group: "a", Share: 10, Parallelism: 1}, Box{Group: "g", Kind: GC, Share: 10, Parallelism: 2}, Box{Group: "h", Kind: GC, Share: 10, Parallelism: 2}), "g+h 40, a 30, idle 20"},
		{graphOf(4, 0, Box{Group: "a", Share: 100, Parallelism: 3.9}), ""},
		{graphOf(4, 0, Box{Group: "a", Share: 100, Parallelism: 3.75}, Box{Group: "b", Share: 100, Parallelism: 3.5}), "b 50"},
		{graphOf(0, 50, Box{Group: "a", Share: 100, Parallelism: 1}), ""},
		{&Graph{}, ""},
	} {
		var got []string
		for _, l := range c.g.Neck() {
			var names []string
			for _, b := range l.Boxes {
				names = append(names, b.Group)
			}
			if l.Idle() {
				names = []string{"idle"}
			}
			got = append(got, strings.Join(names, "+")+" "+time.Duration(l.Lost).String())
		}
		if s := strings.ReplaceAll(strings.Join(got, ", "), "ns", ""); s != c.want {
			t.Errorf("neck is %q, want %q", s, c.want)
		}
	}
}

// While GOMAXPROCS is 4, one goroutine runs for 10 ns and two for 6; while it is 2, both run for 8 ns, and nothing for 5.
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

// GOMAXPROCS becomes known after the trace has begun: it holds for the time before, too.
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

// Graphs of which one does not know GOMAXPROCS lose an unknown capacity together, in whatever order.
func TestMergedLostCapacity(t *testing.T) {
	a := graphOf(4, 10, Box{Group: "a", Share: 10, Parallelism: 1})
	b := graphOf(2, 5, Box{Group: "a", Share: 10, Parallelism: 2}, Box{Group: "b", Share: 10, Parallelism: 1})
	unknown := graphOf(0, 5, Box{Group: "a", Share: 10, Parallelism: 2})
	a.CPUs, b.CPUs = 2, 2
	g, err := Merge(a, b)
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

// A program that records itself knows the processors of its machine; a file does not.
func TestSnapshotKnowsTheProcessorsOfTheMachine(t *testing.T) {
	const file = "../testdata/small/mutex-go1.26.8.trace"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewRecorder(RecorderOptions{Source: bytes.NewReader(data)}).Snapshot(t.Context())
	if err != nil || g.CPUs != host.Processors() {
		t.Errorf("%v processors, want %v; %v", g.CPUs, host.Processors(), err)
	}
	if g, err := ReadFile(t.Context(), file, Options{}); err != nil || g.CPUs != 0 || g.Oversubscribed() != "" {
		t.Errorf("a file has %v processors; %v", g.CPUs, err)
	}
}
