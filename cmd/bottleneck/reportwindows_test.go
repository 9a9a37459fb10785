package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// tracedRegions records some regions of several goroutines that wait for a lock.
func tracedRegions(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err) // somebody else traces
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 20 {
				trace.WithRegion(context.Background(), "step", func() {
					mu.Lock()
					time.Sleep(200 * time.Microsecond)
					mu.Unlock()
				})
			}
		})
	}
	all.Wait()
	trace.Stop()
	name := filepath.Join(t.TempDir(), "regions.trace")
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// windowedPage is what a page knows by time.
type windowedPage struct {
	Contention struct {
		Waits struct {
			Waited, N []int64
		}
		Windows struct {
			From, To []int64
			Waits    struct {
				Waited, N []int64
				Window    []int
			}
		}
	}
	Tasks struct {
		Windows struct{ From, To []int64 }
		Classes []struct {
			Tasks   int64
			Windows []struct{ Tasks int64 }
		}
	}
	Speedup []struct {
		Speedup float64
		Windows []struct {
			From, To int64
			Speedup  float64
		}
	}
	Bottle   struct{ Windows []struct{ Start, Wall int64 } }
	Warnings []string
}

func readWindowedPage(t *testing.T, args ...string) (p windowedPage) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.html")
	bottleneck(append([]string{"report", "-o", out}, args...)...).want(t, exitOK, "", "")
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(dataElement.FindSubmatch(page)[1], &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func total(values []int64) (sum int64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// What the page knows of windows sums to what it knows of the whole, and the windows are those of
// the slider.
func TestReportWindows(t *testing.T) {
	p := readWindowedPage(t, "-window", "2ms", tracedRegions(t))
	c, w := p.Contention.Waits, p.Contention.Windows
	if total(c.Waited) == 0 || total(c.Waited) != total(w.Waits.Waited) || total(c.N) != total(w.Waits.N) || len(w.Waits.Window) != len(w.Waits.N) {
		t.Errorf("%d ns waited in %d waits, in windows %d in %d", total(c.Waited), total(c.N), total(w.Waits.Waited), total(w.Waits.N))
	}
	for i, b := range p.Bottle.Windows {
		if i < len(w.From) && (w.From[i] != b.Start || w.To[i] != b.Start+b.Wall) {
			t.Errorf("window %d of contention is from %d to %d, that of the graph from %d on for %d", i, w.From[i], w.To[i], b.Start, b.Wall)
		}
	}
	if n := len(p.Bottle.Windows); n < 3 || len(w.From) != n || len(p.Tasks.Windows.From) != n {
		t.Errorf("%d windows of the graph, %d of contention, %d of tasks", n, len(w.From), len(p.Tasks.Windows.From))
	}
	if !slices.Equal(w.From, p.Tasks.Windows.From) || !slices.Equal(w.To, p.Tasks.Windows.To) {
		t.Errorf("tasks have the windows %v, contention %v", p.Tasks.Windows, w.From)
	}
	if len(p.Tasks.Classes) != 1 || p.Tasks.Classes[0].Tasks != 60 {
		t.Fatalf("tasks: %+v", p.Tasks)
	}
	n := int64(0)
	for _, x := range p.Tasks.Classes[0].Windows {
		n += x.Tasks
	}
	if n != 60 {
		t.Errorf("%d tasks in windows, want 60", n)
	}
	if len(p.Speedup) == 1 {
		sum, wall := 0., int64(0)
		for _, x := range p.Speedup[0].Windows {
			sum += x.Speedup * float64(x.To-x.From)
			wall += x.To - x.From
		}
		if d := sum/float64(wall) - p.Speedup[0].Speedup; d > 1e-6 || d < -1e-6 {
			t.Errorf("a speed-up of %v in windows, %v as a whole", sum/float64(wall), p.Speedup[0].Speedup)
		}
	}
}

// -from and -to take the windows that they touch.
func TestReportPartOfWindows(t *testing.T) {
	whole := readWindowedPage(t, "-window", "10ms", mutexTrace)
	part := readWindowedPage(t, "-window", "10ms", "-from", "15ms", "-to", "38ms", mutexTrace)
	want := int64(0)
	for i, at := range whole.Contention.Windows.Waits.Window {
		if at >= 1 && at < 4 {
			want += whole.Contention.Windows.Waits.Waited[i]
		}
	}
	if got := total(part.Contention.Waits.Waited); got != want || want == 0 {
		t.Errorf("%d ns waited, want %d", got, want)
	}
	if s := strings.Join(part.Warnings, " "); !regexp.MustCompile("Waits: those from 10ms to 40ms").MatchString(s) {
		t.Errorf("warnings: %q", s)
	}
	// What was saved is of the whole.
	tasks := tasksFile(t)
	if p := readWindowedPage(t, "-from", "15ms", mutexTrace, tasks); len(p.Tasks.Windows.From) != 0 || len(p.Tasks.Classes) != 2 {
		t.Errorf("saved tasks: %+v", p.Tasks)
	}
}

// However many windows there are, they stay few enough, and every task is in one.
func TestTaskWindowsAreBounded(t *testing.T) {
	w := newTaskWindows(time.Microsecond)
	f, err := os.Open(tracedRegions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := timeline.Read(t.Context(), f, timeline.Options{}, w); err != nil {
		t.Fatal(err)
	}
	if n := len(w.list); n > maxTaskWindows || n < maxTaskWindows/4 {
		t.Errorf("%d windows", n)
	}
	at, tasks := time.Duration(0), uint64(0)
	for _, x := range w.list {
		if x.From != at {
			t.Fatalf("a window from %v, the one before to %v", x.From, at)
		}
		at = x.To
		for i := range x.Part.Classes {
			tasks += x.Part.Classes[i].Tasks
		}
	}
	if tasks != 60 {
		t.Errorf("%d tasks", tasks)
	}
	if all := granularity.Merge(partsOf(w.list)...); all.Classes[0].Tasks != 60 {
		t.Errorf("%d tasks merged", all.Classes[0].Tasks)
	}
}
