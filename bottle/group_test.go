package bottle

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// village is a program in which every grouping has a distinct result. Goroutines run one after
// another: 1 ns of goroutine 1, 2 ns of goroutine 2, and so on.
func village(opt Options) *Graph {
	d := drive(opt, 0)
	add := func(g *timeline.Goroutine) {
		d.appear(g, timeline.Running, timeline.WaitNone)
		d.at(d.now + timeline.Time(g.ID))
		d.block(g, timeline.WaitForever)
	}
	add(&timeline.Goroutine{ID: 1, Func: "main.main"})
	inMain := &timeline.Creator{Func: "main.main"}
	ofRequest := &timeline.Creator{Func: "main.main", Task: "request"}
	add(&timeline.Goroutine{ID: 2, Func: "main.(*Pool).worker", By: ofRequest})
	inRegions := func(g *timeline.Goroutine, regions ...timeline.Span) {
		extend(g)
		g.Extra.Regions = regions
		add(g)
	}
	outer := timeline.Span{Name: "outer", Task: "refresh"}
	inRegions(&timeline.Goroutine{ID: 4, Func: "main.(*Pool).worker", By: ofRequest}, outer, timeline.Span{Name: "inner"})
	inRegions(&timeline.Goroutine{ID: 8, Func: "main.reader", By: &timeline.Creator{Func: "main.(*Pool).worker"}}, outer)
	add(&timeline.Goroutine{ID: 16})
	add(&timeline.Goroutine{ID: 32, Func: "runtime.bgsweep", Kind: timeline.GC, By: &timeline.Creator{Func: "runtime.main"}})
	add(&timeline.Goroutine{ID: 64, Func: "runtime/trace.Start.func1", Kind: timeline.Tracer, By: inMain})
	add(&timeline.Goroutine{ID: 128, Func: "runtime.runFinalizers", Kind: timeline.Runtime})
	return d.end()
}

func TestGroupings(t *testing.T) {
	const rest = "runtime.bgsweep 32 gc, runtime/trace.Start.func1 64 tracer, runtime.runFinalizers 128 runtime"
	for _, c := range []struct {
		name string
		by   Grouping
		want string // running time and kind of each box, shortest first
	}{
		{"function", Grouping{},
			"main.main 1, main.(*Pool).worker 6, main.reader 8, (unnamed) 16, " + rest},
		{"function", ByFunction,
			"main.main 1, main.(*Pool).worker 6, main.reader 8, (unnamed) 16, " + rest},
		{"creator", ByCreator,
			"main.main 6, main.(*Pool).worker 8, (creator not known) 17, " + rest},
		{"goroutine", ByGoroutine,
			"main.main #1 1, main.(*Pool).worker #2 2, main.(*Pool).worker #4 4, main.reader #8 8, (unnamed) #16 16, " + rest},
		{"region", ByRegion,
			"inner 4, outer 8, (no region) 19, " + rest},
		{"task", ByTask,
			"request 6, refresh 8, (no task) 17, " + rest},
		{"/Pool|ea/", ByRegexp(regexp.MustCompile("Pool|ea")),
			"Pool 6, ea 8, (no match) 17, " + rest},
		{`/^main\.(.)/`, ByRegexp(regexp.MustCompile(`^main\.(.)`)),
			"m 1, ( 6, r 8, (no match) 16, " + rest},
		{"parity", Grouping{name: "parity", group: func(g *timeline.Goroutine) string { return fmt.Sprint("odd: ", g.ID&1 == 1) }},
			"odd: true 1, odd: false 30, " + rest},
	} {
		g := village(Options{Group: c.by})
		if g.GroupBy != c.name {
			t.Errorf("GroupBy %q, want %q", g.GroupBy, c.name)
		}
		var got []string
		for i := 1; i <= 256; i++ {
			for _, b := range g.Boxes {
				if int(b.Running) == i {
					s := fmt.Sprintf("%s %d", b.Group, b.Running)
					if b.Kind != Application {
						s += " " + b.Kind.String()
					}
					got = append(got, s)
				}
			}
		}
		if s := strings.Join(got, ", "); s != c.want || len(got) != len(g.Boxes) {
			t.Errorf("by %s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// A grouping is found by its name. The error for an unknown name lists the valid ones.
func TestParseGrouping(t *testing.T) {
	for _, g := range []Grouping{{}, ByFunction, ByStart, ByCreator, ByGoroutine, ByRegion, ByTask, ByRegexp(regexp.MustCompile(`a(b)/c`))} {
		p, err := ParseGrouping(g.String())
		if err != nil || p.String() != g.String() || p.single != g.single {
			t.Errorf("ParseGrouping(%q) = %q, %v", g, p, err)
			continue
		}
		a, b := village(Options{Group: g}), village(Options{Group: p})
		if fmt.Sprint(names(a)) != fmt.Sprint(names(b)) {
			t.Errorf("%q groups into %v once parsed, not %v", g, names(b), names(a))
		}
	}
	if g, err := ParseGrouping(""); err != nil || g.String() != "function" {
		t.Errorf("the empty name is %q, %v; want function", g, err)
	}
	for in, want := range map[string]string{
		"pool":     `unknown grouping "pool": want function, start, creator, goroutine, region, task, kind or /regexp/`,
		"/":        `unknown grouping "/": want function, start, creator, goroutine, region, task, kind or /regexp/`,
		"Function": `unknown grouping "Function": want function, start, creator, goroutine, region, task, kind or /regexp/`,
		"/a(/":     "grouping /a(/: error parsing regexp: missing closing ): `a(`",
	} {
		if _, err := ParseGrouping(in); err == nil || err.Error() != want {
			t.Errorf("ParseGrouping(%q): %v\nwant %s", in, err, want)
		}
	}
}

// A region moves its goroutine to another box while the region is open.
func TestRegionsOpenAndClose(t *testing.T) {
	d := drive(Options{Group: ByRegion}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	d.at(1).region(g, "outer", "")
	d.at(3).region(g, "inner", "")
	d.at(7).block(g, timeline.WaitMutex)
	d.at(15).run(g)
	d.region(g, "", "")
	d.at(31).region(g, "", "")
	graph := d.at(63).end()
	for name, want := range map[string][2]int64{"(no region)": {1 + 32, 0}, "outer": {2 + 16, 0}, "inner": {4, 8}} {
		if b := boxNamed(t, graph, name); int64(b.Running) != want[0] || int64(b.Waiting["mutex"]) != want[1] || b.Goroutines != 1 {
			t.Errorf("%s: running %d, mutex %d, %d goroutines; want %v, 1", name, b.Running, b.Waiting["mutex"], b.Goroutines, want)
		}
	}
}

// Work for the runtime has boxes of its own in every grouping. The widths of the other boxes do
// not change.
func TestWorkForTheRuntime(t *testing.T) {
	for _, by := range []Grouping{ByFunction, ByStart, ByCreator, ByGoroutine, ByRegion, ByTask} {
		d := drive(Options{Group: by}, 0)
		d.appear(app(9, "main.other"), timeline.Running, timeline.WaitNone)
		g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
		d.at(100).ranges(g, "GC mark assist")
		d.at(110).block(g, timeline.WaitGC)
		d.at(130).run(g)
		d.at(140).ranges(g, "GC mark assist", "stop-the-world (GC mark termination)")
		d.at(150).ranges(g, "GC mark assist")
		d.at(160).ranges(g)
		w := d.appear(&timeline.Goroutine{ID: 2, Func: "runtime.gcBgMarkWorker", Kind: timeline.GC}, timeline.Waiting, timeline.WaitGC)
		d.at(200).block(g, timeline.WaitMutex)
		d.run(w)
		d.label(w, "GC (dedicated)")
		d.at(300).label(w, "")
		d.block(w, timeline.WaitGC)
		d.ranges(g, "stop-the-world (start trace)")
		d.run(g)
		d.at(400).ranges(g, "stop-the-world (read mem stats)")
		d.at(500)
		graph := d.end()
		for name, want := range map[string]struct {
			kind                    timeline.Kind
			share, running, blocked int64
		}{
			"GC assist":                            {GC, 15, 30, 20},
			"stop-the-world (GC mark termination)": {GC, 5, 10, 0},
			"stop-the-world (start trace)":         {Tracer, 50, 100, 0},
			"stop-the-world (read mem stats)":      {Runtime, 50, 100, 0},
			"GC (dedicated)":                       {GC, 50, 100, 0},
			"runtime.gcBgMarkWorker":               {GC, 0, 0, 40 + 200},
		} {
			b := boxNamed(t, graph, name)
			if b.Kind != want.kind || int64(b.Share) != want.share || int64(b.Running) != want.running || int64(b.Blocked()) != want.blocked {
				t.Errorf("by %s: %s (%s): share %d, running %d, blocked %d; want %+v", by, name, b.Kind, b.Share, b.Running, b.Blocked(), want)
			}
		}
		var run int64
		for _, b := range graph.Boxes {
			if b.Kind == Application {
				run += int64(b.Running)
			}
		}
		if run != 500+100+40 {
			t.Errorf("by %s: the application ran for %d ns, want 640", by, run)
		}
	}
}

// If the trace shows a goroutine's name late, its earlier time stays in a box without a name.
func TestNamedLate(t *testing.T) {
	d := drive(Options{}, 0)
	g := d.appear(app(1, ""), timeline.Running, timeline.WaitNone)
	d.at(30).name(g, "main.f", timeline.Application)
	graph := d.at(100).end()
	if u, f := boxNamed(t, graph, "(unnamed)").Share, boxNamed(t, graph, "main.f").Share; u != 30 || f != 70 {
		t.Errorf("unnamed %d, named %d; want 30, 70", u, f)
	}
	want := "30% of the time belongs to goroutines that are older than the trace and never blocked: it does not have their names."
	if got := strings.Join(graph.Warnings, "\n"); got != want {
		t.Errorf("warnings: %s\nwant: %s", got, want)
	}
}

// TestTheStartFunctionIsTheSecondLine: a box has the start functions of its goroutines if they
// differ from its name, also in JSON and after Merge. Grouping by start function makes them the
// names.
func TestTheStartFunctionIsTheSecondLine(t *testing.T) {
	read := func(by Grouping) *Graph {
		g, err := ReadFile(t.Context(), "../testdata/real/nethttp-parallel4.trace.zst", Options{Group: by})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	starts := func(g *Graph, group string) []string {
		for _, b := range g.Boxes {
			if b.Group == group {
				return b.Starts
			}
		}
		return []string{"no such box"}
	}
	g := read(Grouping{})
	var buf bytes.Buffer
	if err := WriteJSON(&buf, g); err != nil {
		t.Fatal(err)
	}
	again, err := ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Merge(g, g)
	if err != nil {
		t.Fatal(err)
	}
	for what, g := range map[string]*Graph{"read": g, "from JSON": again, "merged": sum} {
		for group, want := range map[string][]string{
			"net/http_test.benchmarkClientServerParallel.func2": {"testing.(*B).RunParallel.func1"},
			"net/http.(*conn).serve (reading)":                  {"net/http.(*conn).serve"},
			"net/http.(*conn).serve":                            nil,
			"net/http.(*persistConn).readLoop":                  nil,
		} {
			if got := starts(g, group); !slices.Equal(got, want) {
				t.Errorf("%s: %s starts in %q, want %q", what, group, got, want)
			}
		}
	}
	if got := starts(read(ByStart), "testing.(*B).RunParallel.func1"); got != nil {
		t.Errorf("by start: %q", got)
	}
	var many []string
	for _, fn := range []string{"k", "a", "c", "b", "a", "h", "g", "f", "e", "d", "i", "0"} {
		many = withStart(many, fn)
	}
	if want := []string{"0", "a", "b", "c", "d", "e", "f", "g"}; !slices.Equal(many, want) {
		t.Errorf("%q, want %q", many, want)
	}
}

// TestSharesAndIdleSumToTheWallTimeWhereNamesChange: goroutines of connections change their boxes
// all the time; every grouping accounts for the same time.
func TestSharesAndIdleSumToTheWallTimeWhereNamesChange(t *testing.T) {
	var running []time.Duration
	for _, by := range []Grouping{ByFunction, ByStart} {
		g, err := ReadFile(t.Context(), "../testdata/real/nethttp-parallel4.trace.zst", Options{Group: by})
		if err != nil {
			t.Fatal(err)
		}
		sum, all := g.Idle, time.Duration(0)
		for i := range g.Boxes {
			sum += g.Boxes[i].Share
			all += g.Boxes[i].Running
		}
		if sum != g.Wall {
			t.Errorf("by %v: the shares and idle are %v, the wall time is %v", by, sum, g.Wall)
		}
		running = append(running, all)
	}
	if running[0] != running[1] {
		t.Errorf("running times by name sum to %v, by start function to %v", running[0], running[1])
	}
}
