package picture

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// run is a graph with its caption.
type run struct {
	name  string
	graph *bottle.Graph
}

func drawRow(runs []run, opt Options) (*Drawing, error) {
	names, graphs := split(runs)
	return DrawRow(names, graphs, opt)
}

func split(runs []run) (names []string, graphs []*bottle.Graph) {
	for _, r := range runs {
		names, graphs = append(names, r.name), append(graphs, r.graph)
	}
	return names, graphs
}

func rows() map[string][]run {
	pair := func(a, b *bottle.Graph) []run { return []run{{"before", a}, {"after", b}} }
	return map[string][]run{
		"same":     pair(lusearch(), lusearch()),
		"changed":  pair(pipeline(), lusearch()),
		"many":     pair(many(20), many(300)),
		"empty":    pair(&bottle.Graph{GroupBy: "function"}, graph(4, 300*ms)),
		"one":      {{"alone", lusearch()}},
		"three":    threeRuns(),
		"many 300": {{"1 processor", many(300)}, {"2 processors", many(300)}, {"a & b <of many letters and more than fit>", many(3)}},
		"sixteen":  slices.Repeat([]run{{"run.trace", lusearch()}}, MaxRuns),
	}
}

// threeRuns are runs of the same program with known heights.
func threeRuns() []run {
	make := func(procs int, idle, a, b time.Duration) *bottle.Graph {
		return graph(procs, idle, box("main.parallel", bottle.Application, a, float64(procs)), box("main.serial", bottle.Application, b, 1))
	}
	return []run{{"1 processor", make(1, 0, 800*ms, 200*ms)}, {"2 processors", make(2, 0, 400*ms, 200*ms)}, {"4 processors", make(4, 50*ms, 200*ms, 200*ms)}}
}

// TestRowLook writes the samples into the directory PICTURES for a person to look at.
func TestRowLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for name, runs := range rows() {
		f, err := os.Create(filepath.Join(dir, "row-"+name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := RowPNG(f, runs, Options{}); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func TestRowForms(t *testing.T) {
	for name, runs := range rows() {
		s, err := drawRow(runs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		walk(s.shapes, func(sh shape) {
			if x, ok := sh.(text); ok {
				if x0, y0, x1, y1 := x.bounds(); x0 < 0 || y0 < 0 || x1 > s.width+1 || y1 > s.height {
					t.Errorf("%s: %+v leaves the picture of %v × %v", name, x, s.width, s.height)
				}
			}
		})
		d, err := drawRow(runs, Options{Subtitle: "a & b"})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := d.SVG(&b); err != nil {
			t.Fatal(err)
		}
		if want := escape(runs[0].name); !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q is missing", name, want)
		}
		dec := xml.NewDecoder(&b)
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
		}
	}
	for _, bad := range [][]run{nil, {{"a", nil}}, {{"a", lusearch()}, {"b", nil}}, slices.Repeat([]run{{"a", lusearch()}}, MaxRuns+1)} {
		if _, err := drawRow(bad, Options{}); err == nil {
			t.Errorf("no error for %d graphs", len(bad))
		}
	}
	offered := lusearch()
	offered.Offered = true
	if _, err := drawRow([]run{{"a", lusearch()}, {"b", offered}}, Options{}); err == nil {
		t.Error("no error for graphs that cannot be compared")
	}
}

// TestRowHasOneScale: a box is as high as its share and as wide as its parallelism on scales that
// all runs have in common, in one color for each group.
func TestRowHasOneScale(t *testing.T) {
	s, err := drawRow(threeRuns(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	boxes := map[string][]rect{}
	var captions []string
	walk(s.shapes, func(sh shape) {
		switch x := sh.(type) {
		case *group:
			if name, _, _ := strings.Cut(x.title, "\n"); strings.HasPrefix(name, "main.") && !isLegend(x) {
				boxes[name] = append(boxes[name], x.shapes[0].(rect))
			}
		case text:
			if strings.Contains(x.s, "processor") && x.anchor == middle {
				captions = append(captions, x.s)
			}
		}
	})
	shares := map[string][]float64{"main.parallel": {800, 400, 200}, "main.serial": {200, 200, 200}}
	widths := map[string][]float64{"main.parallel": {1, 2, 4}, "main.serial": {1, 1, 1}}
	unit := boxes["main.parallel"][0]
	for name, want := range shares {
		if len(boxes[name]) != 3 {
			t.Fatalf("%s: %d boxes", name, len(boxes[name]))
		}
		for i, r := range boxes[name] {
			if got := r.h / unit.h * 800; math.Abs(got-want[i]) > 0.01 {
				t.Errorf("%s in run %d is %v ms high, want %v", name, i, got, want[i])
			}
			if got := r.w / unit.w; math.Abs(got-widths[name][i]) > 0.01 {
				t.Errorf("%s in run %d is %v wide, want %v", name, i, got, widths[name][i])
			}
			if r.fill != boxes[name][0].fill {
				t.Errorf("%s in run %d has another color", name, i)
			}
			if base := boxes["main.parallel"][i]; base.y+base.h != unit.y+unit.h {
				t.Errorf("run %d does not begin at the axis", i)
			}
		}
	}
	if boxes["main.parallel"][0].fill == boxes["main.serial"][0].fill {
		t.Error("both groups have the same color")
	}
	if want := []string{"1 processor", "2 processors", "4 processors"}; !slices.Equal(captions, want) {
		t.Errorf("captions %q, want %q", captions, want)
	}
}

// isLegend reports whether a group is a row of the legend, not a box.
func isLegend(g *group) bool {
	r, ok := g.shapes[0].(rect)
	return ok && r.w == swatchSide && r.h == swatchSide
}

// Of a run on one processor and one on several, each chart has the limit and the neck of its own
// run.
func TestRowProcessors(t *testing.T) {
	before := graph(1, 0, box("main.main", bottle.Application, 600*ms, 1), box("GC assist", bottle.GC, 100*ms, 1))
	after := graph(2, 0, box("main.main", bottle.Application, 600*ms, 1), box("GC assist", bottle.GC, 10*ms, 2))
	m, err := newRowModel([]string{"before", "after"}, []*bottle.Graph{before, after}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range m.entries {
		if want := e.label == "main.main"; e.neck != want {
			t.Errorf("entry %d, %s, is in the neck: %v", i, e.label, e.neck)
		}
	}
	s, err := drawRow([]run{{"before", before}, {"after", after}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var widths []float64 // between the lines of GOMAXPROCS
	var necks []bool
	walk(s.shapes, func(sh shape) {
		switch x := sh.(type) {
		case lines:
			if x.dash > 0 {
				widths = append(widths, x.segments[0].x1-x.segments[1].x1)
			}
		case *group:
			if strings.HasPrefix(x.title, "main.main\n") && !isLegend(x) {
				necks = append(necks, strings.Contains(x.title, "part of the neck"))
			}
		}
	})
	if len(widths) != 2 || math.Abs(2*widths[0]-widths[1]) > 0.01 {
		t.Errorf("the lines of 1 and of 2 processors are %v apart", widths)
	}
	if !slices.Equal(necks, []bool{false, true}) {
		t.Errorf("main.main is shown as part of the neck: %v", necks)
	}
}
