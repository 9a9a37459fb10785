package perfetto_test

import (
	"bytes"
	"context"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// traces returns all traces of the repository that are small enough.
func traces(t testing.TB) (out []string) {
	t.Helper()
	for _, pattern := range []string{"*.trace", "*.trace.zst"} {
		for _, dir := range []string{"small", "real"} {
			found, err := filepath.Glob(filepath.Join("..", "..", "testdata", dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range found {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				// The large ones are tested without the race detector only.
				if info.Size() < 50<<10 || !testing.Short() && !race.Enabled && info.Size() < 300<<10 {
					out = append(out, name)
				}
			}
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d traces", len(out))
	}
	return out
}

// convert writes a trace for Perfetto, and makes its bottle graph in the same pass.
func convert(t testing.TB, name, title string, tracks, groups int) ([]byte, *bottle.Graph) {
	t.Helper()
	var buf bytes.Buffer
	w := perfetto.NewWriter(&buf, title)
	if tracks > 0 {
		w.SetMax(tracks, groups)
	}
	graph := bottle.NewObserver(bottle.Options{})
	if _, err := timeline.ReadFile(context.Background(), name, timeline.Options{}, w.Observer(), graph); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), graph.Graph()
}

// The output agrees with a bottle graph of the trace: how long goroutines ran, were runnable and
// waited for what, in slices that nest and flows that pair.
func TestAgainstBottleGraphs(t *testing.T) {
	for _, name := range traces(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, graph := convert(t, name, "", 0, 0)
			d := decode(t, data)
			byState := map[string]time.Duration{}
			var onProcs time.Duration
			for _, s := range d.slices(t) {
				length := time.Duration(s.end - s.start)
				tr := d.tracks[s.track]
				switch {
				case tr.pid == 2_000_000_001:
					onProcs += length
				case tr.thread == "":
				case strings.HasPrefix(s.name, "running"):
					byState["running"] += length
				default:
					byState[s.name] += length
				}
			}
			var running, runnable time.Duration
			waiting := map[string]time.Duration{}
			for i := range graph.Boxes {
				running += graph.Boxes[i].Running
				runnable += graph.Boxes[i].Runnable
				for wait, spent := range graph.Boxes[i].Waiting {
					waiting[wait] += spent
				}
			}
			if got := byState["running"] + byState["syscall"] + byState["in C"] + byState["in C, on a thread of its own"]; got != running || running == 0 {
				t.Errorf("goroutines ran for %v, by the bottle graph %v", got, running)
			}
			if byState["runnable"] != runnable {
				t.Errorf("goroutines were runnable for %v, by the bottle graph %v", byState["runnable"], runnable)
			}
			for wait, spent := range waiting {
				got := byState["blocked: "+wait]
				if wait == bottle.InCode {
					got = byState["in C, no processor free"]
				}
				if got != spent {
					t.Errorf("goroutines waited for %s for %v, by the bottle graph %v", wait, got, spent)
				}
			}
			if onProcs+byState["in C, on a thread of its own"] != running {
				t.Errorf("processors were busy for %v, goroutines ran for %v", onProcs, running)
			}
			checkCounters(t, d, graph, running, runnable)
			checkFlows(t, d)
		})
	}
}

// checkCounters integrates the counters of parallelism over time.
func checkCounters(t *testing.T, d *decoded, graph *bottle.Graph, running, runnable time.Duration) {
	t.Helper()
	sums := map[string]time.Duration{}
	last := map[uint64]*event{}
	var idle, end time.Duration
	for _, e := range d.events {
		end = max(end, time.Duration(e.at))
		if e.kind != 4 {
			continue
		}
		if before := last[e.track]; before != nil {
			if e.at <= before.at && (strings.HasPrefix(d.tracks[e.track].name, "run")) {
				t.Fatalf("counter %q goes from %d to %d", d.tracks[e.track].name, before.at, e.at)
			}
			sums[d.tracks[e.track].name] += time.Duration(int64(e.at-before.at) * before.value)
			if before.value == 0 && strings.HasPrefix(d.tracks[e.track].name, "running") {
				idle += time.Duration(e.at - before.at)
			}
		}
		last[e.track] = e
	}
	if got := sums["running goroutines (parallelism)"]; got != running {
		t.Errorf("parallelism over time is %v, by the bottle graph %v", got, running)
	}
	if got := sums["runnable goroutines"]; got != runnable {
		t.Errorf("runnable goroutines over time are %v, by the bottle graph %v", got, runnable)
	}
	if idle != graph.Idle {
		t.Errorf("nothing ran for %v, by the bottle graph %v", idle, graph.Idle)
	}
}

// checkFlows checks that each flow leads from a wake-up to the woken goroutine, at the same time.
func checkFlows(t *testing.T, d *decoded) {
	t.Helper()
	from, to := map[uint64]*event{}, map[uint64]*event{}
	for _, e := range d.events {
		for _, id := range e.flows {
			if from[id] != nil || e.kind != 3 || to[id] != nil {
				t.Errorf("flow %d begins twice, late, or not at an instant", id)
			}
			from[id] = e
		}
		for _, id := range e.ends {
			if to[id] != nil || e.kind != 1 || e.name != "runnable" {
				t.Errorf("flow %d ends twice, or at %q", id, e.name)
			}
			to[id] = e
		}
	}
	for id, a := range from {
		b := to[id]
		if b == nil || b.at != a.at || b.track == a.track {
			t.Errorf("flow %d from %q does not arrive", id, a.name)
			continue
		}
		if g := strings.Fields(d.tracks[b.track].thread)[0]; g != "G"+a.notes["goroutine"] {
			t.Errorf("flow %d leads to %s, not G%s", id, g, a.notes["goroutine"])
		}
	}
	if len(to) != len(from) {
		t.Errorf("%d flows begin, %d end", len(from), len(to))
	}
}

func TestDeterministic(t *testing.T) {
	name := filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace")
	a, _ := convert(t, name, "", 0, 0)
	b, _ := convert(t, name, "", 0, 0)
	if !bytes.Equal(a, b) {
		t.Error("the same trace became different files")
	}
}

// A few tracks suffice for any number of goroutines, and nothing is lost.
func TestMaxTracks(t *testing.T) {
	name := filepath.Join("..", "..", "testdata", "real", "json-gogc5.trace.zst")
	whole, _ := convert(t, name, "", 0, 0)
	few, _ := convert(t, name, "", 3, 2)
	a, b := decode(t, whole), decode(t, few)
	total := func(d *decoded) (sum uint64, threads, processes int) {
		for _, s := range d.slices(t) {
			sum += s.end - s.start
		}
		for _, tr := range d.tracks {
			if tr.thread != "" {
				threads++
			}
			if tr.process != "" {
				processes++
			}
		}
		return sum, threads, processes
	}
	sumA, threadsA, _ := total(a)
	sumB, threadsB, processesB := total(b)
	if sumA != sumB {
		t.Errorf("the slices sum to %d, with few tracks to %d", sumA, sumB)
	}
	if threadsB > threadsA || processesB != 2+2+1 {
		t.Errorf("%d threads became %d, %d processes", threadsA, threadsB, processesB)
	}
}

func TestGroups(t *testing.T) {
	name := filepath.Join("..", "..", "testdata", "small", "mutex-go1.26.8.trace")
	data, _ := convert(t, name, "my\x1bprogram", 0, 0)
	names := map[string]bool{}
	for _, tr := range decode(t, data).tracks {
		names[tr.process] = true
	}
	if !names["proto/work.mutexWorker"] || !names["[tracer] runtime.traceStartReadCPU.func1"] || !names["my\uFFFDprogram"] || !names["processors"] {
		t.Errorf("processes %v", names)
	}
}

// The readable part of a truncated trace is written.
func TestCutOff(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 10, len(whole) / 2, len(whole) - 1} {
		var buf bytes.Buffer
		w := perfetto.NewWriter(&buf, "")
		_, err := timeline.Read(t.Context(), bytes.NewReader(whole[:n]), timeline.Options{}, w.Observer())
		if err == nil {
			t.Errorf("%d bytes: no error", n)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		decode(t, buf.Bytes()).slices(t)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	w := perfetto.NewWriter(&full{left: 10_000}, "")
	if _, err := timeline.ReadFile(t.Context(), filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace"), timeline.Options{}, w.Observer()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%v", err)
		}
	}
}
