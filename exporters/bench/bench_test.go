package bench

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// in sets a flag of the test binary for a test.
func in(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, old) })
}

// sink prevents the compiler from removing the work.
var sink atomic.Uint64

func spin(n int) {
	x := uint64(1)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

func setup()    { spin(20_000_000) }
func loop()     { spin(100_000) }
func teardown() { spin(20_000_000) }

// around runs a function as a goroutine, which forms a group of its own.
func around(f func(chan bool)) {
	from := time.Now()
	done := make(chan bool)
	go f(done)
	<-done
	aroundTook = time.Since(from)
}

// aroundTook is the time of the latest set-up or tear-down.
var aroundTook time.Duration

func setupGoroutine(done chan bool)    { setup(); done <- true }
func teardownGoroutine(done chan bool) { teardown(); done <- true }

// The graph covers the measured loop only, without set-up and tear-down.
func TestMeasuredLoopOnly(t *testing.T) {
	for name, f := range map[string]func(b *testing.B){
		"Loop": func(b *testing.B) {
			Start(b, Trace)
			around(setupGoroutine)
			for b.Loop() {
				loop()
			}
			around(teardownGoroutine)
		},
		"N": func(b *testing.B) {
			around(setupGoroutine)
			Start(b, Trace)
			for range b.N {
				loop()
			}
		},
		"ResetTimer": func(b *testing.B) {
			Start(b, Trace)
			around(setupGoroutine)
			b.ResetTimer()
			for range b.N {
				loop()
			}
			b.StopTimer()
			around(teardownGoroutine)
		},
		"StopTimer": func(b *testing.B) {
			Start(b, Trace)
			for i := range b.N {
				if i%50 == 0 {
					b.StopTimer()
					around(setupGoroutine)
					b.StartTimer()
				}
				loop()
			}
		},
		"RunParallel": func(b *testing.B) {
			Start(b, Trace)
			around(setupGoroutine)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					loop()
				}
			})
			b.StopTimer()
			around(teardownGoroutine)
		},
	} {
		in(t, "test.benchtime", "30ms")
		if wrong := measuredWrong(t, f); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// measuredWrong runs a benchmark and describes what is wrong with its graph.
func measuredWrong(t *testing.T, f func(b *testing.B)) string {
	dir := t.TempDir()
	in(t, "bottle.out", dir)
	r := testing.Benchmark(f)
	parallelism, ok := r.Extra["parallelism"]
	if !ok || parallelism <= 0 || parallelism > float64(runtime.GOMAXPROCS(0))+1e-9 {
		return fmt.Sprintf("parallelism: %v", r.Extra)
	}
	if neck := r.Extra["neck-%"]; neck < leastPercent || neck > 100 {
		return fmt.Sprintf("neck-%% is %v", neck)
	}
	g := readGraph(t, dir)
	for _, box := range g.Boxes {
		// After a goroutine has sent its result it still ends, which takes little of the
		// time of its work, even if the system runs another program first.
		if (strings.Contains(box.Group, "setupG") || strings.Contains(box.Group, "teardownG")) && box.Running > aroundTook/2 {
			return fmt.Sprintf("%s is in the graph, %v of %v", box.Group, box.Running, g.Wall)
		}
	}
	if d := (g.Wall - r.T).Abs(); d > r.T/20+time.Second {
		return fmt.Sprintf("the graph covers %v, the timer ran for %v", g.Wall, r.T)
	}
	return ""
}

// readGraph reads the JSON in a directory.
func readGraph(t *testing.T, dir string) *bottle.Graph {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	svgs, _ := filepath.Glob(filepath.Join(dir, "*.svg"))
	if len(names) != 1 || len(svgs) != 1 {
		t.Fatalf("%q, %q", names, svgs)
	}
	f, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := bottle.ReadJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Locks and tasks are reported only if there are some.
func TestWrappers(t *testing.T) {
	in(t, "test.benchtime", "20x")
	dir := t.TempDir()
	in(t, "contention.out", dir)
	in(t, "tasks.out", dir)
	r := testing.Benchmark(func(b *testing.B) {
		Start(b)
		for b.Loop() {
			var mu contention.Mutex
			var wg sync.WaitGroup
			mu.Lock()
			wg.Go(func() { mu.Lock(); sink.Add(1); mu.Unlock() })
			time.Sleep(2 * time.Millisecond)
			mu.Unlock()
			wg.Wait()
		}
	})
	if r.Extra["contentions/op"] <= 0 || r.Extra["contentions/op"] > 1 || r.Extra["blocked-ns/op"] <= 0 {
		t.Errorf("%v", r.Extra)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*.contention.json")); len(names) != 1 {
		t.Errorf("%q", names)
	}
	r = testing.Benchmark(func(b *testing.B) {
		Start(b)
		p := &granularity.Pool{Workers: 1}
		for b.Loop() {
			p.Submit(loop)
		}
		p.Close()
	})
	if v := r.Extra["cycles/task"]; v <= 0 || math.IsInf(v, 0) {
		t.Errorf("%v", r.Extra)
	}
	for _, unit := range []string{"fine-tasks-%", "coarse-tasks-%"} {
		if v, ok := r.Extra[unit]; !ok || v < leastPercent || v > 100 {
			t.Errorf("%s: %v", unit, r.Extra)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*.tasks.json")); len(names) != 1 {
		t.Errorf("%q", names)
	}
	r = testing.Benchmark(func(b *testing.B) {
		Start(b)
		for b.Loop() {
			loop()
		}
	})
	if len(r.Extra) != 0 {
		t.Errorf("%v", r.Extra)
	}
}

// The tasks of a benchmark are judged separately from those of the same class in earlier
// benchmarks.
func TestTasksOfThisBenchmarkAlone(t *testing.T) {
	in(t, "test.benchtime", "1x")
	bench := func(tasks, size int) map[string]float64 {
		return testing.Benchmark(func(b *testing.B) {
			Start(b)
			p := &granularity.Pool{Workers: 1}
			for range tasks {
				p.Submit(func() { spin(size) })
			}
			p.Close()
		}).Extra
	}
	if v := bench(20_000, 1); v["fine-tasks-%"] < 99 {
		t.Fatalf("tiny tasks: %v", v)
	}
	large := bench(300, 20_000)
	if large["fine-tasks-%"] > leastPercent {
		t.Errorf("large tasks, of the class that tiny ones had before: %v", large)
	}
	if small := bench(20_000, 1); small["fine-tasks-%"] < 99 || small["cycles/task"] > large["cycles/task"]/10 {
		t.Errorf("tiny tasks again: %v, after %v", small, large)
	}
}

// A benchmark that fails, is skipped or runs others reports nothing of its own, and does not
// affect the next one.
func TestFailedAndSkippedBenchmarksReportNothing(t *testing.T) {
	in(t, "test.benchtime", "3x")
	for _, f := range []func(b *testing.B){
		func(b *testing.B) { Start(b, Trace); b.FailNow() },
		func(b *testing.B) { Start(b, Trace); b.SkipNow() },
	} {
		if r := testing.Benchmark(f); len(r.Extra) != 0 {
			t.Errorf("%v", r.Extra)
		}
	}
	dir, inner := t.TempDir(), 0
	in(t, "bottle.out", dir)
	r := testing.Benchmark(func(b *testing.B) {
		Start(b, Trace)
		b.Run("sub", func(b *testing.B) {
			b.Cleanup(func() { // after that of Start
				names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
				inner += len(names)
			})
			Start(b, Trace)
			for b.Loop() {
				loop()
			}
		})
	})
	if len(r.Extra) != 0 || inner == 0 {
		t.Errorf("%v, %v", r.Extra, inner)
	}
	// A trace that other code has started stays.
	if err := trace.Start(io.Discard); err != nil {
		t.Skip(err)
	}
	r = testing.Benchmark(func(b *testing.B) {
		Start(b, Trace)
		for b.Loop() {
			loop()
		}
	})
	if len(r.Extra) != 0 || !trace.IsEnabled() {
		t.Errorf("%v, %v", r.Extra, trace.IsEnabled())
	}
	trace.Stop()
	r = testing.Benchmark(func(b *testing.B) {
		Start(b, Trace)
		for b.Loop() {
			loop()
		}
	})
	if r.Extra["parallelism"] <= 0 {
		t.Errorf("%v", r.Extra)
	}
}

// Waits that are rare among many operations are not rounded to 0.
func TestRareWaits(t *testing.T) {
	in(t, "test.benchtime", "1000000000x")
	r := testing.Benchmark(func(b *testing.B) {
		p := profiles{before: granularity.Default().Profile(), waits: &contention.Profile{Waits: []contention.Wait{{Contentions: 3, Waited: 20}}}}
		p.report(&session{b: b})
	})
	for _, unit := range []string{"blocked-ns/op", "contentions/op"} {
		if s := r.String(); !strings.Contains(s, "0.0000001 "+unit) {
			t.Errorf("%s: %s", unit, s)
		}
	}
}

func TestTooLarge(t *testing.T) {
	r := &recording{stopped: true}
	for range 3 {
		if n, err := r.Write(make([]byte, maxTrace/2+1)); n != maxTrace/2+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := r.graph(time.Second); err == nil || !strings.Contains(err.Error(), "more than 64") || r.data.Len() > maxTrace {
		t.Error(err)
	}
	if _, err := (&recording{stopped: true}).graph(time.Second); err == nil {
		t.Error("no error for no trace")
	}
}

func TestFiles(t *testing.T) {
	for name, want := range map[string]string{"BenchmarkX": "BenchmarkX-4", "BenchmarkX/a=1/b c": "BenchmarkX-a=1-b_c-4", "../../x": "-..-x-4"} {
		if got := fileName(name, 4); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// BenchmarkCost shows what remains in the measured loop, alternately. Compare Trace with the bare
// tracer, whose trace is discarded.
//
//	go test -run=- -bench=Cost -benchtime=300ms -count=12 ./exporters/bench >cost.txt
//	go tool benchstat -col /way cost.txt
func BenchmarkCost(b *testing.B) {
	for _, work := range []struct {
		name string
		f    func(n int)
	}{
		{"compute", func(n int) {
			for range n {
				spin(1000)
			}
		}},
		{"hand-over", handOver},
		{"allocate", func(n int) {
			for range n {
				garbage = make([]byte, 1000)
			}
		}},
	} {
		for _, way := range []struct {
			name  string
			start func(b *testing.B)
		}{
			{"bare", func(*testing.B) {}},
			{"Start", func(b *testing.B) { Start(b) }},
			{"tracer", func(b *testing.B) {
				if err := trace.Start(io.Discard); err != nil {
					b.Skip(err)
				}
				b.Cleanup(trace.Stop)
				b.ResetTimer()
			}},
			{"Trace", func(b *testing.B) { Start(b, Trace) }},
		} {
			b.Run("work="+work.name+"/way="+way.name, func(b *testing.B) {
				way.start(b)
				work.f(b.N)
			})
		}
	}
}

// garbage prevents the compiler from removing allocations.
var garbage []byte

// handOver passes a value to another goroutine and back, which causes several events in a trace
// each time.
func handOver(n int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v
		}
	}()
	for i := range n {
		there <- i
		<-back
	}
	close(there)
}

// BenchmarkTen has the ten benchmarks that benchstat reads.
func BenchmarkTen(b *testing.B) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		b.Run("name="+name, func(b *testing.B) {
			Start(b, Trace)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					loop()
				}
			})
		})
	}
}

// benchstat reads ten benchmarks on 1 and 2 processors without a message on standard error.
func TestBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("runs ten benchmarks six times")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "-test.run=^$", "-test.bench=Ten", "-test.cpu=1,2", "-test.count=3", "-test.benchtime=20x").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("Unit parallelism better=higher\n")); n != 1 {
		t.Errorf("%d unit lines\n%s", n, out)
	}
	results := regexp.MustCompile(`(?m)^BenchmarkTen/name=[a-j](-2)?\s+20\t.* ns/op\t.* neck-%\t.* parallelism$`).FindAll(out, -1)
	if len(results) != 60 {
		t.Errorf("%d results, want 60\n%s", len(results), out)
	}
	name := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(name, out, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "benchstat", "-col", "/gomaxprocs", name)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		testenv.Missing(t, "benchstat does not run here: ", err, ", ", stderr.String())
	}
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "go: ") { // of the go command, which has to get benchstat first
			t.Errorf("benchstat: %s", line)
		}
	}
	table := stdout.String()
	for _, bad := range []string{"must be >0", "benchmark set differs"} {
		if strings.Contains(table, bad) {
			t.Errorf("benchstat prints %q:\n%s", bad, table)
		}
	}
	for _, want := range []string{"parallelism", "neck-%", "geomean"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

// Benchmarks with time in C code report it as a metric.
func TestTimeInCIsAMetric(t *testing.T) {
	for file, want := range map[string]bool{"cgo": true, "compute": false} {
		g, err := bottle.ReadFile(t.Context(), "../../testdata/small/"+file+"-go1.26.8.trace", bottle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		units := map[string]float64{}
		for _, m := range graphMetrics(g) {
			units[m.unit] = m.value
		}
		all, _ := g.InC()
		if got, ok := units["in-c-%"]; ok != want || got != 100*float64(all)/float64(g.Wall) || units["parallelism"] != g.MeanParallelism() {
			t.Errorf("%s: %v", file, units)
		}
	}
}
