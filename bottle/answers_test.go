package bottle

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The recorded traces are of programs with known properties (testdata/real/README.md), which the
// graphs must show.

const (
	backEnd  = "cmd/compile/internal/gc.compileFunctions.func3.1"
	compress = "github.com/klauspost/pgzip.(*Writer).compressBlock"
	parallel = "encoding/json.BenchmarkCodeUnmarshal.func1"
)

func TestKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		trace string
		what  string
		got   func(g graph) float64
		want  float64
		give  float64 // tolerance
	}{
		// The compiler: a serial front end, then a parallel back end.
		{"real/gocompile-c2", "seconds of wall time", graph.wall, 1.40, .005},
		{"real/gocompile-c2", "s of it are main.main high", height("main.main"), .60, .01},
		{"real/gocompile-c2", "is main.main wide", wide("main.main"), 1.03, .01},
		{"real/gocompile-c2", "goroutines compile", count("cmd/compile/internal/gc.compileFunctions.func3.1"), 1371, 0},
		{"real/gocompile-c2", "are they wide", wide(backEnd), 1.97, .005},
		{"real/gocompile-c2", "boxes of the application are in the neck", necks(Application), 1, 0},
		{"real/gocompile-c2", "s·processors were lost while something ran, of which all but .02 by main.main", graph.neck, .618, .001},

		// One lock held across write(2).
		{"real/stdlog-file", "seconds of wall time", graph.wall, .20, .005},
		{"real/stdlog-file", "s of waiting for a mutex", waits("main.worker", "mutex"), 2.57, .005},
		{"real/stdlog-file", "of 1 is main.worker high", partOf("main.worker"), .95, .01},
		{"real/stdlog-file", "are its 16 goroutines wide", wide("main.worker"), 1.33, .01},
		{"real/stdlog-file", "goroutines do so", count("main.worker"), 16, 0},

		// A convoy: full width without progress.
		{"real/otel-old", "run on average", graph.mean, 1.80, .005},
		{"real/otel-old", "goroutines at it", count("main.consume"), 8, 0},
		{"real/otel-old", "s of waiting for a mutex: 82,312 times about 4 µs", waits("main.consume", "mutex"), 82312 * 3.83e-6, .001},
		{"real/otel-old", "s ready but without a processor: the waiting that does not show as waiting", ready("main.consume"), 1.01, .01},
		{"real/otel-old", "boxes of the application in the neck but main.main", necks(Application), 1, 0},

		// Compression that scales. 1.86 is what ran outside of system calls, 1.93 all that
		// held a processor.
		{"real/pgzip", "run on average", graph.mean, 1.93, .005},
		{"real/pgzip", "goroutines compress a block each", count(compress), 1122, 0},
		{"real/pgzip", "ms does a block take", func(g graph) float64 { return 1e3 * runs(compress)(g) / 1122 }, 1.75, .005},
		{"real/pgzip", "are they wide", wide(compress), 1.93, .005},
		{"real/pgzip", "boxes of the application are in the neck", necks(Application), 0, 0},
		{"real/pgzip", "s waits main.main in select for the compressors: healthy", waits("main.main", "select"), .957, .001},

		// A collector that is always at work.
		{"real/json-gogc5", "seconds of wall time", graph.wall, .57, .005},
		{"real/json-gogc5", "s of assists, less a stop-the-world inside of them", assists, .149, .0015},
		{"real/json-gogc5", "s of waiting for locks", graph.locks, 0, 0},
		{"real/json-gogc5", "s wait assisting goroutines for the collector", waits("GC assist", "gc"), .0493, .0001},
		{"real/json-gogc5", "are the benchmark's goroutines wide", wide(parallel), 1.83, .005},

		// Hand-overs between client, server and network.
		{"real/nethttp-parallel4", "run on average, of the application", graph.application, 1.36, .01},
		{"real/nethttp-parallel4", "short goroutines read in the background", count("net/http.(*connReader).backgroundRead"), 5001, 0},
		{"real/nethttp-parallel4", "ms of waiting for locks: not the problem", func(g graph) float64 { return 1e3 * g.locks() }, .6, .15},
		{"real/nethttp-parallel4", "s of waiting for the network", func(g graph) float64 { return g.waiting("network") }, 1.60, .01},

		// Pure computation by two workers, under every version of Go.
		{"small/compute-go1.22.12", "are the workers wide", wide("proto/work.computeWorker"), 2.00, .005},
		{"small/compute-go1.23.12", "are the workers wide", wide("proto/work.computeWorker"), 2.00, .005},
		{"small/compute-go1.25.5", "are the workers wide", wide("proto/work.computeWorker"), 2.00, .005},
		{"small/compute-go1.26.8", "are the workers wide", wide("proto/work.computeWorker"), 2.00, .005},
		{"small/compute-go1.22.12", "of 1 are they high", partOf("proto/work.computeWorker"), 1, .003},
		{"small/compute-go1.22.12", "s of waiting for locks", graph.locks, 0, 0},
		{"small/compute-go1.26.8", "goroutines are they", count("proto/work.computeWorker"), 2, 0},

		// A sequential phase of a quarter of a second, then two workers at a time. One of
		// them is alone at the end.
		{"small/phases-go1.26.8", "s runs main.main", height("main.main"), .247, .001},
		{"small/phases-go1.26.8", "and alone", wide("main.main"), 1, .001},
		{"small/phases-go1.26.8", "are the workers wide", wide("proto/work.phaseWorker"), 1.67, .01},
		{"small/phases-go1.26.8", "s·processors were lost while something ran", graph.neck, .960, .001},

		// Four workers under one mutex most of the time.
		{"small/mutex-go1.26.8", "are the workers wide", wide("proto/work.mutexWorker"), 1.22, .005},
		{"small/mutex-go1.26.8", "s wait they for the mutex: 2.6 of 4 at any time", waits("proto/work.mutexWorker", "mutex"), 2.58 * .894, .01},
		{"small/mutex-go1.26.8", "processors were lost on average while something ran", func(g graph) float64 { return g.neck() / g.wall() }, .777, .001},

		// System calls: half of the time no goroutine runs.
		{"small/sys-go1.26.8", "of 1 is idle", func(g graph) float64 { return g.Idle.Seconds() / g.wall() }, .59, .01},
		{"small/sys-go1.26.8", "s is the reader blocked in system calls", waits("proto/work.sysReader", "syscall"), 2.77, .01},
		{"small/sys-go1.26.8", "s sleeps the writer", waits("proto/work.sysWriter", "sleep"), 2.20, .01},
	} {
		t.Run(c.trace+": "+c.what, func(t *testing.T) {
			g := load(t, c.trace)
			if got := c.got(g); !(math.Abs(got-c.want) <= c.give) {
				t.Errorf("%v, want %v ± %v", got, c.want, c.give)
			}
		})
	}
}

// graph has the quantities of the facts above, in seconds. A missing quantity is NaN, so that no
// fact holds for it.
type graph struct{ *Graph }

var loaded = map[string]graph{}

func load(t *testing.T, name string) graph {
	if g, ok := loaded[name]; ok {
		return g
	}
	files, err := filepath.Glob(filepath.Join("..", "testdata", filepath.FromSlash(name)+".trace*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", name, files, err)
	}
	g, err := ReadFile(context.Background(), files[0], Options{})
	if err != nil || len(g.Warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, g.Warnings)
	}
	loaded[name] = graph{g}
	return graph{g}
}

func (g graph) wall() float64 { return g.Wall.Seconds() }
func (g graph) mean() float64 { return g.MeanParallelism() }

// neck is the capacity lost while something ran, in s·processors.
func (g graph) neck() float64 {
	var lost time.Duration
	for i := range g.Boxes {
		lost += g.Boxes[i].Lost
	}
	return lost.Seconds()
}

func (g graph) application() float64 {
	var run time.Duration
	for _, b := range g.Boxes {
		if b.Kind == Application {
			run += b.Running
		}
	}
	return run.Seconds() / g.wall()
}

func (g graph) waiting(reason string) float64 {
	var d time.Duration
	for _, b := range g.Boxes {
		d += b.Waiting[reason]
	}
	return d.Seconds()
}

func (g graph) locks() (s float64) {
	for _, w := range timeline.Waits() {
		if w.Lock() {
			s += g.waiting(w.String())
		}
	}
	return s
}

// of makes a fact about a box.
func of(name string, f func(b *Box) float64) func(graph) float64 {
	return func(g graph) float64 {
		for i := range g.Boxes {
			if g.Boxes[i].Group == name {
				return f(&g.Boxes[i])
			}
		}
		return math.NaN()
	}
}

func height(name string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return b.Share.Seconds() })
}

func partOf(name string) func(graph) float64 {
	return func(g graph) float64 { return height(name)(g) / g.wall() }
}

func wide(name string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return b.Parallelism })
}

func count(name string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return float64(b.Goroutines) })
}

func runs(name string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return b.Running.Seconds() })
}

func ready(name string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return b.Runnable.Seconds() })
}

func waits(name, reason string) func(graph) float64 {
	return of(name, func(b *Box) float64 { return b.Waiting[reason].Seconds() })
}

func assists(g graph) float64 {
	return of("GC assist", func(b *Box) float64 { return (b.Running + b.Runnable + b.Blocked()).Seconds() })(g)
}

// necks counts the boxes of a kind that are in the neck.
func necks(k timeline.Kind) func(graph) float64 {
	return func(g graph) (n float64) {
		boxes, _ := g.Neck()
		for _, b := range boxes {
			if b.Kind == k {
				n++
			}
		}
		return n
	}
}

// The boxes of the collector, the runtime and the tracer do not belong to the application.
func TestBoxesOfTheRuntimeAreNotTheApplications(t *testing.T) {
	want := map[string]timeline.Kind{
		"GC (dedicated)": GC, "GC (fractional)": GC, "GC (idle)": GC, "GC assist": GC, "runtime.gcBgMarkWorker": GC,
		"stop-the-world (GC mark termination)": GC, "stop-the-world (GC sweep termination)": GC,
		"runtime.bgsweep": GC, "runtime.bgscavenge": GC, "runtime.forcegchelper": GC,
		"stop-the-world (read mem stats)": Runtime, "runtime.runFinalizers": Runtime, "runtime.runCleanups": Runtime,
		"stop-the-world (start trace)": Tracer, "runtime.traceStartReadCPU.func1": Tracer,
		"runtime.(*traceAdvancerState).start.func1": Tracer, "runtime/trace.(*traceMultiplexer).startLocked.func1": Tracer,
		"main.main": Application, "main.worker": Application, backEnd: Application, compress: Application,
	}
	seen := map[string]bool{}
	for _, name := range []string{"gocompile-c2", "json-gogc5", "nethttp-parallel4", "otel-old", "pgzip", "stdlog-file"} {
		for _, b := range load(t, "real/"+name).Boxes {
			kind, ok := want[b.Group]
			if !ok && strings.HasPrefix(b.Group, "runtime") && b.Kind == Application {
				t.Errorf("%s: %s counts as the application's", name, b.Group)
			}
			if ok && kind != b.Kind {
				t.Errorf("%s: %s is %s, want %s", name, b.Group, b.Kind, kind)
			}
			seen[b.Group] = true
		}
	}
	for name := range want {
		if !seen[name] && name != "GC (dedicated)" { // with two processors the workers are fractional
			t.Errorf("no trace has a box %s", name)
		}
	}
}
