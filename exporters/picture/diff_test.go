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

	"github.com/bottleneck-go/bottleneck/bottle"
)

func diffPairs() map[string][2]*bottle.Graph {
	return map[string][2]*bottle.Graph{
		"same":    {lusearch(), lusearch()},
		"changed": {pipeline(), lusearch()},
		"many":    {many(20), many(300)},
		"empty":   {{}, graph(4, 300*ms)},
	}
}

// TestDiffLook writes the samples to the directory PICTURES for visual inspection.
func TestDiffLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for name, pair := range diffPairs() {
		f, err := os.Create(filepath.Join(dir, "diff-"+name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := DiffPNG(f, pair[0], pair[1], Options{}); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func TestDiffForms(t *testing.T) {
	for name, pair := range diffPairs() {
		s, err := layoutDiff(pair[0], pair[1], Options{})
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
		var b bytes.Buffer
		if err := DiffSVG(&b, pair[0], pair[1], Options{Subtitle: "a & b"}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"before, ", "after, "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing", name, want)
			}
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
	if DiffSVG(io.Discard, nil, lusearch(), Options{}) == nil || DiffPNG(io.Discard, lusearch(), nil, Options{}) == nil || DiffPNG(io.Discard, lusearch(), lusearch(), Options{Scale: 99}) == nil {
		t.Error("no error for bad input")
	}
}

// For a run on one processor and one on several, each chart has the limit and the neck of its own
// run.
func TestDiffProcessors(t *testing.T) {
	before := graph(1, 0, box("main.main", bottle.Application, 600*ms, 1), box("GC assist", bottle.GC, 100*ms, 1))
	after := graph(2, 0, box("main.main", bottle.Application, 600*ms, 1), box("GC assist", bottle.GC, 10*ms, 2))
	m := newDiffModel(before, after, Options{})
	for i, e := range m.entries {
		if want := e.label == "main.main"; e.neck != want {
			t.Errorf("entry %d, %s, is in the neck: %v", i, e.label, e.neck)
		}
	}
	s, err := layoutDiff(before, after, Options{})
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
			if strings.HasPrefix(x.title, "main.main\n") {
				necks = append(necks, strings.Contains(x.title, "part of the neck"))
			}
		}
	})
	if len(widths) != 2 || math.Abs(2*widths[0]-widths[1]) > 0.01 {
		t.Errorf("the lines of 1 and of 2 processors are %v apart", widths)
	}
	if !slices.Equal(necks, []bool{false, true}) {
		t.Errorf("main.main is told to be part of the neck: %v", necks)
	}
}
