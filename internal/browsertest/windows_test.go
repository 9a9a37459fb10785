package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// windowedData is a real trace in windows of 10 ms.
func windowedData(t *testing.T) *report.Data {
	t.Helper()
	const trace = "../../testdata/small/mutex-go1.26.8.trace"
	width := 10 * time.Millisecond
	s, err := estimateFile(trace, width)
	if err != nil {
		t.Fatal(err)
	}
	graph := bottle.NewObserver(bottle.Options{Window: width})
	waits := tracewaits.NewObserver(tracewaits.Options{Window: width})
	if _, err := timeline.ReadFile(context.Background(), trace, timeline.Options{}, graph, waits); err != nil {
		t.Fatal(err)
	}
	d := &report.Data{Title: "mutex", Bottle: graph.Graph(), Contention: waits.Profile(), Speedup: []*speedup.Stack{s}, Tasks: testTasks()}
	d.ContentionWindows, d.ContentionWindow = waits.Windows(), width
	d.TaskWindows, d.TaskWindow = splitTasks(d.Tasks, 7), 468*ms
	return d
}

func estimateFile(name string, width time.Duration) (*speedup.Stack, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{Want: bottleneck.WantSpeedup, Speedup: speedup.Options{Window: width}})
	if err != nil {
		return nil, err
	}
	return r.Speedup, r.SpeedupErr
}

// splitTasks distributes the tasks of a profile over n windows, each task whole.
func splitTasks(p *granularity.Profile, n int) (out []*granularity.Profile) {
	rnd := rand.New(rand.NewPCG(9, 9))
	for range n {
		w := &granularity.Profile{Source: p.Source, Hz: p.Hz}
		for _, c := range p.Classes {
			w.Classes = append(w.Classes, granularity.Class{Name: c.Name})
		}
		out = append(out, w)
	}
	for j := range p.Classes {
		c := &p.Classes[j]
		for v, count := range c.Cycles.Buckets() {
			for range count {
				to := &out[rnd.IntN(n)].Classes[j]
				to.Cycles.Add(v)
				to.WallNS.Add(v)
				to.BlockedNS.Add(v / 5)
				to.Tasks++
			}
		}
	}
	return out
}

// touching returns the windows of a length that a time range touches.
func touching[Part any](windows []Part, length, from, to time.Duration) (out []Part) {
	for i, w := range windows {
		if begin := time.Duration(i) * length; begin+length > from && begin < to {
			out = append(out, w)
		}
	}
	return out
}

// A selection of time filters all sections: the page then shows the sum of the windows that it
// touches.
func TestTimeFiltersAllSections(t *testing.T) {
	d := windowedData(t)
	wall := d.Bottle.Wall
	for _, stretch := range [][2]time.Duration{
		{0, 10 * time.Millisecond},                      // a window
		{20 * time.Millisecond, 70 * time.Millisecond},  // several
		{23 * time.Millisecond, 24 * time.Millisecond},  // less than one
		{95 * time.Millisecond, 121 * time.Millisecond}, // over edges
		{0, wall},
	} {
		from, to := stretch[0], min(wall, stretch[1])
		p := openProbed(t, d, fmt.Sprintf("time=%d-%d", from, to), wide)
		want := contention.Merge(touching(d.ContentionWindows, d.ContentionWindow, from, to)...)
		var waited time.Duration
		var waits int64
		for i := range want.Waits {
			waited += want.Waits[i].Waited
			waits += want.Waits[i].Contentions
		}
		p.shows("#contention-lead", format.Duration(waited), fmt.Sprint("blocked in ", count(waits)))
		var sum time.Duration
		if p.rows("waited", &sum); sum != waited {
			t.Errorf("%v: %v waited, want %v", stretch, sum, waited)
		}
		p.sameTasks(d, from, to)
		p.sameGraph(d, from, to)
		p.sameStack(d, from, to)
	}
}

func count(n int64) string { return format.Count(int(n)) }

func (p *page) sameTasks(d *report.Data, from, to time.Duration) {
	p.t.Helper()
	want := granularity.Merge(touching(d.TaskWindows, d.TaskWindow, from, to)...)
	var rows []map[string]any
	p.rows("tasks", &rows)
	i := 0
	for j := range want.Classes {
		c := &want.Classes[j]
		if c.Tasks == 0 {
			continue
		}
		i++
		k := slices.IndexFunc(rows, func(r map[string]any) bool { return r["class"] == c.Name })
		if k < 0 {
			p.t.Errorf("no class %s", c.Name)
			continue
		}
		for key, v := range map[string]float64{"tasks": float64(c.Tasks), "p25": c.Cycles.Quantile(.25), "p50": c.Cycles.Quantile(.5), "p99": c.Cycles.Quantile(.99), "mean": c.Cycles.Mean(), "sum": c.Cycles.Sum()} {
			if got := rows[k][key].(float64); got != v {
				p.t.Errorf("%v to %v, %s: %s is %v, want %v", from, to, c.Name, key, got, v)
			}
		}
	}
	if i != len(rows) {
		p.t.Errorf("%d classes, want %d", len(rows), i)
	}
}

func (p *page) sameGraph(d *report.Data, from, to time.Duration) {
	p.t.Helper()
	share, running := map[string]time.Duration{}, map[string]time.Duration{}
	for _, w := range d.Bottle.Windows {
		if w.Start+w.Wall > from && w.Start < to {
			for i := range w.Boxes {
				share[w.Boxes[i].Group] += w.Boxes[i].Share
				running[w.Boxes[i].Group] += w.Boxes[i].Running
			}
		}
	}
	var rows []struct {
		Group          string
		Share, Running time.Duration
		P              float64
	}
	p.rows("graph", &rows)
	if len(rows) != len(share) {
		p.t.Errorf("%d boxes, want %d", len(rows), len(share))
	}
	for _, r := range rows {
		if r.Share != share[r.Group] || r.Running != running[r.Group] || r.Share > 0 && math.Abs(r.P-float64(r.Running)/float64(r.Share)) > 1e-6 {
			p.t.Errorf("%v to %v: %+v, want %v and %v", from, to, r, share[r.Group], running[r.Group])
		}
	}
}

func (p *page) sameStack(d *report.Data, from, to time.Duration) {
	p.t.Helper()
	s := d.Speedup[0]
	var sum, wall float64
	for i, w := range s.Windows() {
		a := s.Multi.Windows[i]
		if a.Start+a.Wall > from && a.Start < to {
			sum += w.Speedup * float64(a.Wall)
			wall += float64(a.Wall)
		}
	}
	var rows []struct{ N, Value float64 }
	p.rows("parts", &rows)
	all := 0.0
	for _, r := range rows {
		all += r.Value
	}
	if math.Abs(rows[0].Value-sum/wall) > 1e-9 || math.Abs(all-rows[0].N) > 1e-6 {
		p.t.Errorf("%v to %v: a speed-up of %v, want %v; all parts are %v of %v", from, to, rows[0].Value, sum/wall, all, rows[0].N)
	}
	if from == 0 && to >= d.Bottle.Wall && math.Abs(sum/wall-s.Speedup) > 1e-6 {
		p.t.Errorf("windows have a speed-up of %v, the whole %v", sum/wall, s.Speedup)
	}
}

// The page states to what a selection was widened, and which sections cannot follow it.
func TestWidenedSelectionIsStated(t *testing.T) {
	d := windowedData(t)
	p := openFile(t, d, "time=23000000-24000000", wide)
	for _, at := range []string{"#contention-lead", "#bottle-lead", "#speedup-lead"} {
		p.shows(at, "In 20 – 30 ms", "widened")
	}
	p.shows("#tasks-lead", "In 0 – 468 ms", "widened", "of the whole recording")
	p.shows("#window-text", "window 3 of 90")
	d.ContentionWindows, d.TaskWindows, d.Speedup[0].Multi.Windows, d.Bottle.Windows = nil, nil, nil, nil
	p = openFile(t, d, "time=23000000-24000000", wide)
	for _, at := range []string{"#contention-lead", "#tasks-lead", "#speedup-lead", "#bottle-lead"} {
		p.shows(at, "Of the whole recording")
	}
}

// The neck of the visible graph is bold: worker is one of the whole recording, but not of each
// window.
func TestNeckOfWindow(t *testing.T) {
	d := windowedData(t)
	seen := map[bool]bool{}
	for i := range min(5, len(d.Bottle.Windows)) {
		p := openFile(t, d, fmt.Sprintf("window=%d", i), wide)
		for _, b := range d.Bottle.Windows[i].Boxes {
			if b.Group != "proto/work.mutexWorker" || b.Share == 0 {
				continue
			}
			boxes, _ := d.Bottle.Windows[i].Neck()
			neck := slices.ContainsFunc(boxes, func(b *bottle.Box) bool { return b.Group == "proto/work.mutexWorker" })
			seen[neck] = true
			if got := p.count("#bottle-rows tbody th b") > 0; got != neck {
				t.Errorf("window %d: a parallelism of %.2f, bold %v", i+1, b.Parallelism, got)
			}
			if got := p.count(`svg.bottle .label.b, svg.bottle .outside.b`) > 0; got != neck {
				t.Errorf("window %d: a parallelism of %.2f, bold in the picture %v", i+1, b.Parallelism, got)
			}
		}
	}
	if !seen[true] || !seen[false] {
		t.Errorf("%v", seen)
	}
}

// The page adds histograms as Go does.
func TestHistogramsAsGo(t *testing.T) {
	type want struct {
		Parts []json.RawMessage
		Q     [][2]float64
		Curve [][2]float64
	}
	var wants []want
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		var all granularity.Histogram
		var w want
		d := &report.Data{Tasks: &granularity.Profile{Classes: []granularity.Class{{Name: "class"}}}}
		for j := range 1 + i%5 {
			c := granularity.Class{Name: "class", Tasks: 1}
			for range rnd.IntN(40) {
				c.Cycles.Add(uint64(math.Exp(rnd.Float64()*float64(2+i))) >> min(2, j))
			}
			all.Merge(&c.Cycles)
			part := &granularity.Profile{Hz: 1e9, Classes: []granularity.Class{c}}
			d.TaskWindows = append(d.TaskWindows, part)
		}
		var tasks struct {
			Windows struct {
				Parts [][]struct{ Cycles json.RawMessage }
			}
		}
		if err := json.Unmarshal(dataOf(t, d, "tasks"), &tasks); err != nil {
			t.Fatal(err)
		}
		for _, classes := range tasks.Windows.Parts {
			w.Parts = append(w.Parts, classes[0].Cycles)
		}
		for _, q := range []float64{0, .01, .25, .5, .75, .99, 1} {
			w.Q = append(w.Q, [2]float64{q, all.Quantile(q)})
		}
		for value, fraction := range all.CDF() {
			w.Curve = append(w.Curve, [2]float64{value, fraction})
		}
		wants = append(wants, w)
	}
	inBrowser(t, []string{"histogram.js"}, wants, `
const trouble = () => V.map((w, i) => {
	const h = addHistograms(w.Parts);
	for (const [q, v] of w.Q) if (quantileOf(h, q) !== v) return i + ": quantile " + q + " is " + quantileOf(h, q) + ", not " + v;
	return JSON.stringify(curveOf(h)) === JSON.stringify(w.Curve || []) ? "" : i + ": curve " + JSON.stringify(curveOf(h)) + ", not " + JSON.stringify(w.Curve);
}).filter(Boolean);`)
}
